"""TRAVELER as a family: its options, its samples from a seed."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from agent_env.families.traveler.curves import (
    Aggregate,
    Beyond,
    Curves,
    Method,
    Parametric,
    curves_digest,
    read_curves,
)
from agent_env.families.traveler.events import (
    MAX_EVENTS,
    Drawing,
    EventSet,
    check_drawing,
    iso_time,
    open_zone,
    read_events,
    read_time,
)
from agent_env.families.traveler.generator import VERSION, Question, SetSpec, questions
from agent_env.families.traveler.sample import CATEGORIES, NAME, Category, TravelerSample
from agent_env.families.traveler.task import make_task
from agent_env.families.traveler.vocabulary import Vocabulary, read_vocabulary
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Family, SampleSet
from agent_env.sdk.records import MaterialTable, Record

SIZES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""The slides' numbers of events; 100 questions of each and of each category are the whole set."""


class Options(Record):
    """How a question set is made."""

    sizes: tuple[int, ...] = Field(SIZES, min_length=1)
    """Events per set."""
    categories: tuple[Category, ...] = Field(CATEGORIES, min_length=1)
    """How times are expressed in the questions."""
    sets: int = Field(10, ge=1)
    """Event sets of each size, shared by its categories."""
    expressions: Literal["all", "slides"] = "all"
    """Whether implicit questions go beyond the slides' Table 3."""
    first: date = date(2023, 1, 1)
    """First day on which something happens."""
    last: date = date(2023, 9, 29)
    """Last day of these."""
    now: str = "2023-09-29T22:30"
    """The speech time; without an offset on the zone's clock."""
    zone: str = "UTC"
    """IANA name of the zone in which days begin."""
    recent: float = Field(0.5, ge=0, le=1)
    """Share of events drawn evenly over the logarithm of their distance; 0 draws all evenly over
    the days."""
    repeats: float = Field(0.25, ge=0, le=1)
    """Share of events that repeat what an earlier one did, and where."""
    vocabulary: Path | None = None
    """A JSON file of your own vocabulary."""
    events: Path | None = None
    """A table of your own events: event,subject,location,time; sizes and draws are then idle."""
    curves: Path | None = None
    """A JSON file of measured curves, or a folder with one for each event; None takes the
    parametric ones."""
    aggregate: Aggregate = "median"
    """How votes of a measured point become one value."""
    interpolation: Method = "pchip"
    """Between measured points."""
    beyond: Beyond = "clamp"
    """Past the last measured point: its value, the parametric curve, or an error."""

    @field_validator("sizes")
    @classmethod
    def _possible(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        for size in sizes:
            if not 1 <= size <= MAX_EVENTS:
                raise ValueError(f"{size} is no size; an event set has 1 to {MAX_EVENTS} events")
        return tuple(dict.fromkeys(sizes))


def make_samples(count: int, seed: int, options: Options) -> SampleSet:
    """`count` questions in turn from every size and category, with their event tables."""
    spec = _set_spec(seed, options)
    samples = list[TravelerSample]()
    tables = dict[str, MaterialTable]()
    numbers = Counter[tuple[int, str]]()
    digests: dict[int, str] = {}  # by the set's identity, as a digest takes its time
    source = _curves_source(options, spec.curves)
    for size, question in islice(questions(spec), count):
        cell = (size, question.category)
        numbers[cell] += 1
        events = question.event_set
        if id(events) not in digests:
            digests[id(events)] = events.table.digest
            tables[digests[id(events)]] = events.table
        name = f"tr-{seed}-{size:05d}-{question.category}-{numbers[cell]:03d}"
        digest = digests[id(events)]
        samples.append(_sample(name, size, question, digest, spec.vocabulary, source))
    return SampleSet(tuple(samples), tuple(tables.values()))


def _sample(
    name: str, size: int, question: Question, digest: str, vocabulary: Vocabulary, source: str
) -> TravelerSample:
    period, events = question.period, question.event_set
    return TravelerSample(
        id=name,
        task=NAME,
        gold=question.gold,
        materials=(digest,),
        category=question.category,
        template=question.template,
        size=size,
        expression=question.kind,
        matches=question.matches,
        event=question.event,
        subject=question.subject,
        location=question.location,
        question=question.text,
        now=iso_time(events.now, open_zone(events.zone)),
        zone=events.zone,
        since=str(period.first) if period else None,
        until=str(period.last) if period else None,
        subjects=vocabulary.subjects,
        chances=dict(question.chances or {}),
        curves=None if question.chances is None else source,
        generator=VERSION,
    )


def _set_spec(seed: int, options: Options) -> SetSpec:
    vocabulary = read_vocabulary(options.vocabulary)
    zone = open_zone(options.zone)
    try:
        now = read_time(options.now, zone)
    except ValueError as exc:
        raise ConfigError(f"option now: {exc}") from exc
    drawing = Drawing(
        options.first, options.last, now, options.zone, options.recent, options.repeats
    )
    events: EventSet | None = None
    if options.events is not None:
        events = read_events(options.events, vocabulary, now, options.zone)
    else:
        check_drawing(drawing)
    return SetSpec(
        sizes=options.sizes,
        categories=options.categories,
        seed=seed,
        sets=options.sets,
        vocabulary=vocabulary,
        curves=_curves(options, vocabulary),
        drawing=drawing,
        beyond_slides=options.expressions == "all",
        user_events=events,
    )


def _curves(options: Options, vocabulary: Vocabulary) -> Curves:
    parametric = Parametric({event.name: event.offset for event in vocabulary.events})
    if options.curves is None:
        return parametric
    return read_curves(
        options.curves, options.aggregate, options.interpolation, options.beyond, parametric
    )


def _curves_source(options: Options, curves: Curves) -> str:
    """The origin of the chances, stored with each question."""
    if options.curves is None:
        return curves.name
    digest = curves_digest(options.curves)
    method = f"{options.aggregate}, {options.interpolation}, {options.beyond}"
    return f"{curves.name} {digest} ({method})"


FAMILY = Family(
    NAME,
    lambda prompt, options, materials: make_task(prompt, materials),
    make_samples,
    Options,
    reference="agent_env.families.traveler.reference:next_step",
    reproduction="agent_env.families.traveler.reproduction:PAPER",
)
