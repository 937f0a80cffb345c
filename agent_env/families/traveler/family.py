"""TRAVELER as a family: its options, its samples from a seed."""

from __future__ import annotations

import hashlib
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from agent_env.errors import ConfigError
from agent_env.families.traveler.curves import Aggregate, Beyond, Curves, Parametric, read_curves
from agent_env.families.traveler.events import MOST, Drawing, EventSet, check_drawing, read_events
from agent_env.families.traveler.generator import VERSION, Wanted, questions
from agent_env.families.traveler.interpolation import Method
from agent_env.families.traveler.questions import Question
from agent_env.families.traveler.sample import CATEGORIES, NAME, Category, TravelerSample
from agent_env.families.traveler.task import make_task
from agent_env.families.traveler.vocabulary import Vocabulary, read_vocabulary
from agent_env.families.traveler.zones import open_zone, read_time, written
from agent_env.records.schema import MaterialTable, Record
from agent_env.tasks.family import Family, Made

SIZES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""The slides' numbers of events; 100 questions of each and of each category are the whole set."""


class Options(Record):
    """What a question set is made by."""

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
    """A CSV of your own events: event,subject,location,time; sizes and draws are then idle."""
    curves: Path | None = None
    """A JSON file of measured curves; None takes the parametric ones."""
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
            if not 1 <= size <= MOST:
                raise ValueError(f"{size} is no size; an event set has 1 to {MOST} events")
        return tuple(dict.fromkeys(sizes))


def make_samples(count: int, seed: int, options: Options) -> Made:
    """So many questions in turn from every size and category, with the tables they ask about."""
    wanted = _wanted(seed, options)
    made = islice(questions(wanted), count)
    samples = list[TravelerSample]()
    tables = dict[str, MaterialTable]()
    turns = dict[tuple[int, str], int]()
    digests: dict[int, str] = {}  # by the set's identity, as a digest takes its time
    source = _source(options, wanted.curves)
    for size, question in made:
        cell = (size, question.category)
        turns[cell] = turns.get(cell, 0) + 1
        digest = digests.get(id(question.given))
        if digest is None:
            digest = digests[id(question.given)] = question.given.table.digest
            tables[digest] = question.given.table
        name = f"tr-{seed}-{size:05d}-{question.category}-{turns[cell]:03d}"
        samples.append(_sample(name, size, question, digest, wanted.vocabulary, source))
    return Made(tuple(samples), tuple(tables.values()))


def _sample(
    name: str, size: int, asked: Question, digest: str, vocabulary: Vocabulary, source: str
) -> TravelerSample:
    period, vague = asked.period, asked.chances is not None
    return TravelerSample(
        id=name,
        task=NAME,
        gold=asked.gold,
        materials=(digest,),
        category=asked.category,
        template=asked.template,
        size=size,
        expression=asked.kind,
        matches=asked.matches,
        event=asked.event,
        subject=asked.subject,
        location=asked.location,
        question=asked.text,
        now=written(asked.given.now, open_zone(asked.given.zone)),
        zone=asked.given.zone,
        since=str(period.first) if period else None,
        until=str(period.last) if period else None,
        subjects=vocabulary.subjects,
        chances=dict(asked.chances or {}),
        curves=source if vague else None,
        generator=VERSION,
    )


def _wanted(seed: int, options: Options) -> Wanted:
    vocabulary = read_vocabulary(options.vocabulary)
    zone = open_zone(options.zone)
    try:
        now = read_time(options.now, zone)
    except ValueError as exc:
        raise ConfigError(f"option now: {exc}") from exc
    how = Drawing(options.first, options.last, now, options.zone, options.recent, options.repeats)
    given: EventSet | None = None
    if options.events is not None:
        given = read_events(options.events, vocabulary, now, options.zone)
    else:
        check_drawing(how)
    return Wanted(
        sizes=options.sizes,
        categories=options.categories,
        seed=seed,
        sets=options.sets,
        vocabulary=vocabulary,
        curves=_curves(options, vocabulary),
        how=how,
        beyond_slides=options.expressions == "all",
        given=given,
    )


def _curves(options: Options, vocabulary: Vocabulary) -> Curves:
    parametric = Parametric({event.name: event.offset for event in vocabulary.events})
    if options.curves is None:
        return parametric
    return read_curves(
        options.curves, options.aggregate, options.interpolation, options.beyond, parametric
    )


def _source(options: Options, curves: Curves) -> str:
    """Where the chances come from, so that a question tells it by itself."""
    if options.curves is None:
        return curves.name
    digest = hashlib.sha256(options.curves.read_bytes()).hexdigest()[:12]
    how = f"{options.aggregate}, {options.interpolation}, {options.beyond}"
    return f"{curves.name} {digest} ({how})"


FAMILY = Family(
    NAME,
    lambda prompt, options, materials: make_task(prompt, materials),
    make_samples,
    Options,
    reference="agent_env.families.traveler.reference:next_step",
)
