"""Question sets: the same number for each size and category, balanced over templates, matches and
expressions; the same seed and options give the same bytes, and fewer questions are the first ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.traveler.curves import ADVERBIALS, Curves
from agent_env.families.traveler.events import Drawing, EventSet, draw_set
from agent_env.families.traveler.periods import BEYOND, EXPLICIT, SPEECH_TIME, Periods
from agent_env.families.traveler.questions import Question, QuestionMaker
from agent_env.families.traveler.sample import Category, Matches, Template
from agent_env.families.traveler.vocabulary import Vocabulary

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
