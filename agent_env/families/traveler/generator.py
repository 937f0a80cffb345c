"""Question sets: the same number for each size and category, balanced over templates, matches and
expressions; the same seed and options give the same bytes, and fewer questions are the first ones.

A question is drawn until it has the wished number of matches; two of three questions without a
match ask for something that did happen, at another time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from random import Random

from agent_env.families.traveler.curves import ADVERBIALS, Curves
from agent_env.families.traveler.events import Drawing, Event, EventSet, draw_set
from agent_env.families.traveler.periods import BEYOND, EXPLICIT, SPEECH_TIME, Period, Periods
from agent_env.families.traveler.sample import Category, Matches, Template
from agent_env.families.traveler.truth import Answer, Chances, best_answer
from agent_env.families.traveler.vocabulary import Vocabulary
from agent_env.families.traveler.wording import question_text
from agent_env.sdk.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Question:
    """A question about an event set, and its answer."""

    event_set: EventSet
    category: Category
    template: Template
    kind: str
    matches: Matches
    event: str
    location: str
    subject: str | None
    text: str
    gold: Answer
    period: Period | None = None
    chances: Mapping[str, tuple[float, ...]] | None = None


@dataclass(frozen=True)
class QuestionMaker:
    """Draws questions about one event set."""

    event_set: EventSet
    vocabulary: Vocabulary
    curves: Curves
    periods: Periods

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
    ) -> Question | None:
        """One try; None where this draw has another number of matches."""
        topic = self._draw_topic(category, template, matches, kind, rng)
        if topic is None:
            return None
        question = self.make(category, template, kind, *topic)
        return question if question.matches == matches else None

    def _draw_topic(
        self, category: Category, template: Template, matches: Matches, kind: str, rng: Random
    ) -> tuple[str, str, str | None, Period | None] | None:
        """Event type, location, subject and period."""
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
        return event, location, None if template == "who" else subject, period

    def make(
        self,
        category: Category,
        template: Template,
        kind: str,
        event: str,
        location: str,
        subject: str | None,
        period: Period | None,
    ) -> Question:
        """The question in words, with its answer; ConfigError for what the vocabulary lacks."""
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
            gold = crisp_answer(template, events)
            matches = _matches(len(gold) if template == "who" else len(events))
        return Question(
            self.event_set, category, template, kind, matches, event, location, subject, text,
            gold, period, chances,
        )  # fmt: skip

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


def crisp_answer(template: Template, events: Sequence[Event]) -> Answer:
    """The answer in normal form, from the events that fit."""
    if template == "who":
        return tuple(sorted({event.subject for event in events}))
    if template == "did":
        return ("yes",) if events else ("no",)
    if template == "how-often":
        return (str(len(events)),)
    return (date.fromordinal(max(event.day for event in events)).isoformat(),) if events else ()


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
VERSION = 1
"""Raised whenever the same seed would give other questions."""
TRIES = 60
"""Draws for the wished expression and number of matches, then as many for any expression."""


@dataclass(frozen=True, slots=True)
class SetSpec:
    """The specification of a question set."""

    sizes: tuple[int, ...]
    categories: tuple[Category, ...]
    seed: int
    sets: int
    """Event sets of each size, shared by its categories."""
    vocabulary: Vocabulary
    curves: Curves
    drawing: Drawing
    beyond_slides: bool
    user_events: EventSet | None = None
    """The user's own events, in place of drawn ones."""


@dataclass(slots=True)
class QuestionStream:
    """The questions of one size and category, one after another."""

    spec: SetSpec
    makers: Sequence[QuestionMaker]
    category: Category
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

    def next(self) -> Question:
        """The next question; ConfigError where the sets hold no further one."""
        templates: tuple[Template, ...] = ("who", "did", "how-often")
        if self.category == "implicit":
            templates = (*templates, "when")
        template = templates[self.turn % len(templates)]
        wished = MATCHES[template][self._count(template) % len(MATCHES[template])]
        self.turn += 1
        for matches in dict.fromkeys((wished, *MATCHES[template])):
            kinds = self._kinds()
            kind = kinds[self._count(f"{template} {matches}") % len(kinds)]
            if (question := self._draw(template, matches, kind)) is not None:
                return question
        raise ConfigError(
            f"no further '{template}' question of the category {self.category} is to be had from "
            f"{len(self.makers)} sets of {len(self.makers[0].event_set.events)} events; ask fewer"
        )

    def _count(self, what: str) -> int:
        before = self.turns.get(what, self.start)
        self.turns[what] = before + 1
        return before

    def _kinds(self) -> tuple[str, ...]:
        if self.category == "vague":
            return ADVERBIALS
        if self.category == "explicit":
            return EXPLICIT
        return SPEECH_TIME + (BEYOND if self.spec.beyond_slides else ())

    def _draw(self, template: Template, matches: Matches, kind: str) -> Question | None:
        for attempt in range(2 * TRIES):
            at = (self.turn + attempt) % len(self.makers)
            expression = kind if attempt < TRIES else self.rng.choice(self._kinds())
            expression = "none" if template == "when" else expression
            maker = self.makers[at]
            question = maker.draw(self.category, template, matches, expression, self.rng)
            if question is not None and (at, question.text) not in self.texts:
                self.texts.add((at, question.text))
                return question
        return None


def questions(spec: SetSpec) -> Iterator[tuple[int, Question]]:
    """Size and question, in turn from every size and category, without end."""
    streams = []
    for makers in _makers(spec):
        size = len(makers[0].event_set.events)
        for category in spec.categories:
            rng = Random(f"{spec.seed}/{size}/{category}")
            start, offset = rng.randrange(12), rng.randrange(12)
            streams.append((size, QuestionStream(spec, makers, category, rng, start, offset)))
    while True:
        for size, stream in streams:
            yield size, stream.next()


def _makers(spec: SetSpec) -> Iterator[list[QuestionMaker]]:
    """Makers for the event sets of each size."""
    if spec.user_events is not None:
        first = min(event.day for event in spec.user_events.events)
        periods = Periods(date.fromordinal(first), spec.user_events.today)
        yield [QuestionMaker(spec.user_events, spec.vocabulary, spec.curves, periods)]
        return
    shared: Periods | None = None
    for size in spec.sizes:
        makers = []
        for number in range(spec.sets):
            rng = Random(f"{spec.seed}/{size}/set {number}")
            events = draw_set(spec.vocabulary, size, spec.drawing, rng)
            shared = shared or Periods(spec.drawing.first, events.today)
            makers.append(QuestionMaker(events, spec.vocabulary, spec.curves, shared))
        yield makers
