"""Question sets: the same number for each size and category, balanced over templates, matches and
expressions; the same seed and options give the same bytes, and fewer questions are the first ones.

A question is drawn until it has the wished number of matches; two of three questions without a
match ask for something that did happen, at another time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from typing import Literal

from pydantic import Field, field_validator

from agent_env.families.traveler.curves import (
    ADVERBIALS,
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
    Event,
    EventSet,
    Vocabulary,
    check_drawing,
    draw_set,
    iso_time,
    open_zone,
    read_events,
    read_time,
    read_vocabulary,
)
from agent_env.families.traveler.periods import BEYOND, EXPLICIT, SPEECH_TIME, Period, Periods
from agent_env.families.traveler.sample import (
    CATEGORIES,
    NAME,
    Category,
    Matches,
    Template,
    TravelerSample,
)
from agent_env.families.traveler.truth import Answer, Chances, best_answer, crisp_answer
from agent_env.families.traveler.wording import question_text
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import MaterialTable, Record

SIZES = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""The slides' numbers of events; 100 questions of each and of each category are the whole set."""


class Options(Record):
    """How a question set is made."""

    sizes: tuple[int, ...] = Field(SIZES, min_length=1)
    """Events per set."""
    categories: tuple[Category, ...] = Field(CATEGORIES, min_length=1)
    """How times are expressed in the questions."""
    cells: tuple[str, ...] = ()
    """Templates with numbers of matches, such as who-many,how-often-one; empty for all."""
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
                raise ValueError(f"{size} is not a size; an event set has 1 to {MAX_EVENTS} events")
        return tuple(dict.fromkeys(sizes))


@dataclass(frozen=True)
class QuestionMaker:
    event_set: EventSet
    vocabulary: Vocabulary
    curves: Curves
    source: str
    """The origin of the chances, stored with each question."""
    periods: Periods

    @cached_property
    def digest(self) -> str:
        """Of the events' table."""
        return self.event_set.table.digest

    def groups(self, template: Template, matches: Matches) -> Sequence[tuple[Event, ...]]:
        """The events among which a question with so many matches exists."""
        return self.crowded[template == "who"] if matches == "many" else self.all_groups

    @cached_property
    def all_groups(self) -> list[tuple[Event, ...]]:
        """The events by type, location and subject."""
        groups: dict[tuple[str, str, str], list[Event]] = defaultdict(list)
        for event in self.event_set.events:
            groups[event.kind, event.location, event.subject].append(event)
        return [tuple(group) for group in groups.values()]

    @cached_property
    def crowded(self) -> dict[bool, list[tuple[Event, ...]]]:
        """Groups of several events of one subject, and places of several subjects."""
        places = self.event_set.by_place.values()
        return {
            False: [group for group in self.all_groups if len(group) > 1],
            True: [group for group in places if len({event.subject for event in group}) > 1],
        }

    def draw(
        self, category: Category, template: Template, matches: Matches, kind: str, rng: Random
    ) -> TravelerSample | None:
        """One try; None where this draw has another number of matches."""
        anywhere = matches == "none" and (rng.random() < 1 / 3 or template == "when")
        groups = self.groups(template, matches)
        if not groups:
            return None
        anchor = rng.choice(rng.choice(groups))
        event, location, subject = anchor.kind, anchor.location, anchor.subject
        if anywhere:
            event = rng.choice(self.vocabulary.events).name
            location = rng.choice(self.vocabulary.locations).name
            subject = rng.choice(self.vocabulary.subjects)
        period = None
        if category != "vague" and template != "when":
            periods = self.periods.all(kind) if matches == "none" else None
            period = rng.choice(periods) if periods else self.periods.covering(kind, anchor.day)
            if period is None:
                return None
        topic = (event, location, None if template == "who" else subject, period)
        question = self.make(category, template, kind, *topic)
        return question if question.matches == matches else None

    def make(
        self,
        category: Category,
        template: Template,
        kind: str,
        event: str,
        location: str,
        subject: str | None,
        period: Period | None,
    ) -> TravelerSample:
        """The question without its id; ConfigError for what the vocabulary lacks."""
        if (subject is None) != (template == "who"):
            raise ConfigError(
                f"a question '{template}' {'has no' if subject else 'needs a'} subject"
            )
        if subject is not None:
            self.vocabulary.subject(subject)
        expression = period.text if period else kind
        text = question_text(self.vocabulary, template, event, location, subject, expression)
        events = self.event_set.of(event, location, subject)
        if category == "vague":
            chances = self._chances(events, kind, subject)
            gold = best_answer(template, chances)
            matches = _vague_matches(template, gold, chances)
        else:
            chances = None
            if period is not None:
                first, last = period.first.toordinal(), period.last.toordinal()
                events = tuple(e for e in events if first <= e.day <= last)
            days = [(e.subject, date.fromordinal(e.day).isoformat()) for e in events]
            gold = crisp_answer(template, days)
            matches = _matches(len(gold) if template == "who" else len(events))
        return TravelerSample(
            id="draft",
            task=NAME,
            gold=gold,
            materials=(self.digest,),
            category=category,
            template=template,
            size=len(self.event_set.events),
            expression=kind,
            matches=matches,
            event=event,
            subject=subject,
            location=location,
            question=text,
            now=iso_time(self.event_set.now, open_zone(self.event_set.zone)),
            zone=self.event_set.zone,
            since=str(period.first) if period else None,
            until=str(period.last) if period else None,
            subjects=self.vocabulary.subjects,
            chances=chances or {},
            curves=None if chances is None else self.source,
            generator=VERSION,
        )

    def _chances(
        self, events: Sequence[Event], adverbial: str, subject: str | None
    ) -> dict[str, tuple[float, ...]]:
        """By subject, to the second; an event at the speech time counts as a minute ago."""
        names = self.vocabulary.subjects if subject is None else (subject,)
        by_subject: dict[str, list[float]] = {name: [] for name in names}
        for event in events:
            minutes = max(1.0, (self.event_set.now - event.at) / 60)
            by_subject[event.subject].append(self.curves.p(event.kind, adverbial, minutes))
        return {name: tuple(chances) for name, chances in by_subject.items()}


def _matches(number: int) -> Matches:
    return "none" if number == 0 else "one" if number == 1 else "many"


def _vague_matches(template: Template, gold: Answer, chances: Chances) -> Matches:
    """By the best answer; a yes that rests on several unlikely events counts as one."""
    if template == "who":
        return _matches(len(gold))
    if template == "how-often":
        return _matches(int(gold[0]))
    likely = sum(p > 0.5 for row in chances.values() for p in row)
    return "none" if gold == ("no",) else _matches(max(1, likely))


MATCHES: dict[Template, tuple[Matches, ...]] = {
    "who": ("none", "one", "many"),
    "did": ("one", "none", "many", "none"),
    "how-often": ("many", "none", "one"),
    "when": ("one", "many", "none"),
}
"""Wished in turn: half of the Did questions and a third of the others have no match."""
VERSION = 2
"""Raised whenever the same seed would give other questions."""
TRIES = 60
"""Draws for the wished expression and number of matches, then as many for any expression."""


@dataclass(slots=True)
class QuestionStream:
    makers: Sequence[QuestionMaker]
    category: Category
    cells: Sequence[str]
    """Those that are wished; empty for all."""
    beyond_slides: bool
    rng: Random
    turn: int
    """Index of the next template; streams begin at different ones, so that small sets are mixed
    too."""
    start: int
    """Where matches and expressions begin."""
    texts: set[tuple[int, str]] = field(default_factory=set)
    """Event set and text of the questions so far."""
    turns: dict[str, int] = field(default_factory=dict)
    """Questions so far of each template, and of each number of matches."""

    def next(self) -> tuple[EventSet, TravelerSample]:
        """The next question; ConfigError where the sets hold no further one."""
        templates = [template for template in MATCHES if self._cells(template)]
        if not templates:
            raise ConfigError(
                f"no {self.category} question is in the cells {', '.join(self.cells)}"
            )
        template = templates[self.turn % len(templates)]
        cells = self._cells(template)
        wished = cells[self._count(template) % len(cells)]
        self.turn += 1
        for matches in dict.fromkeys((wished, *cells)):
            kinds = self._kinds()
            kind = kinds[self._count(f"{template} {matches}") % len(kinds)]
            if (drawn := self._draw(template, matches, kind)) is not None:
                return drawn
        raise ConfigError(
            f"no further '{template}' question of the category {self.category} is to be had from "
            f"{len(self.makers)} sets of {len(self.makers[0].event_set.events)} events; ask fewer"
        )

    def _cells(self, template: Template) -> list[Matches]:
        """The numbers of matches that are wished in turn."""
        if template == "when" and self.category != "implicit":
            return []
        wished = self.cells
        return [m for m in MATCHES[template] if not wished or f"{template}-{m}" in wished]

    def _count(self, what: str) -> int:
        before = self.turns.get(what, self.start)
        self.turns[what] = before + 1
        return before

    def _kinds(self) -> tuple[str, ...]:
        if self.category == "vague":
            return ADVERBIALS
        if self.category == "explicit":
            return EXPLICIT
        return SPEECH_TIME + (BEYOND if self.beyond_slides else ())

    def _draw(
        self, template: Template, matches: Matches, kind: str
    ) -> tuple[EventSet, TravelerSample] | None:
        for attempt in range(2 * TRIES):
            at = (self.turn + attempt) % len(self.makers)
            expression = kind if attempt < TRIES else self.rng.choice(self._kinds())
            expression = "none" if template == "when" else expression
            maker = self.makers[at]
            question = maker.draw(self.category, template, matches, expression, self.rng)
            if question is not None and (at, question.question) not in self.texts:
                self.texts.add((at, question.question))
                return maker.event_set, question
        return None


def make_samples(count: int, seed: int, options: Options) -> SampleSet:
    """`count` questions in turn from every size and category, with their event tables."""
    samples = list[TravelerSample]()
    tables = dict[str, MaterialTable]()
    numbers = Counter[tuple[int, str]]()
    for events, sample in islice(_questions(seed, options), count):
        cell = sample.size, sample.category
        numbers[cell] += 1
        name = f"tr-{seed}-{sample.size:05d}-{sample.category}-{numbers[cell]:03d}"
        samples.append(sample.model_copy(update={"id": name}))
        tables.setdefault(sample.materials[0], events.table)
    return SampleSet(tuple(samples), tuple(tables.values()))


def _questions(seed: int, options: Options) -> Iterator[tuple[EventSet, TravelerSample]]:
    """In turn from every size and category, without end."""
    streams = []
    for makers in _makers(seed, options):
        size = len(makers[0].event_set.events)
        for category in options.categories:
            rng = Random(f"{seed}/{size}/{category}")
            start, offset = rng.randrange(12), rng.randrange(12)
            beyond = options.expressions == "all"
            cells = options.cells
            streams.append(QuestionStream(makers, category, cells, beyond, rng, start, offset))
    while True:
        for stream in streams:
            yield stream.next()


def _makers(seed: int, options: Options) -> Iterator[list[QuestionMaker]]:
    """Makers for the event sets of each size."""
    vocabulary, zone = read_vocabulary(options.vocabulary), open_zone(options.zone)
    try:
        now = read_time(options.now, zone)
    except ValueError as exc:
        raise ConfigError(f"option now: {exc}") from exc
    parametric = Parametric({event.name: event.offset for event in vocabulary.events})
    curves: Curves = parametric
    source = curves.name
    if options.events is not None:
        user_events = read_events(options.events, vocabulary, now, options.zone)
    else:
        drawing = Drawing(
            options.first, options.last, now, options.zone, options.recent, options.repeats
        )
        check_drawing(drawing)
    if options.curves is not None:
        curves = read_curves(
            options.curves, options.aggregate, options.interpolation, options.beyond, parametric
        )
        method = f"{options.aggregate}, {options.interpolation}, {options.beyond}"
        source = f"{curves.name} {curves_digest(options.curves)} ({method})"
    if options.events is not None:
        first = min(event.day for event in user_events.events)
        periods = Periods(date.fromordinal(first), user_events.today)
        yield [QuestionMaker(user_events, vocabulary, curves, source, periods)]
        return
    shared: Periods | None = None
    for size in options.sizes:
        makers = []
        for number in range(options.sets):
            events = draw_set(vocabulary, size, drawing, Random(f"{seed}/{size}/set {number}"))
            shared = shared or Periods(drawing.first, events.today)
            makers.append(QuestionMaker(events, vocabulary, curves, source, shared))
        yield makers
