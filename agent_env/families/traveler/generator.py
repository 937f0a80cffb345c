"""Question sets: for each size and category so many, balanced over templates, matches and
expressions; the same seed and options give the same bytes, and fewer questions are the first ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import count as counting
from random import Random

from agent_env.errors import ConfigError
from agent_env.families.traveler.curves import ADVERBIALS, Curves
from agent_env.families.traveler.events import Drawing, EventSet, draw_set
from agent_env.families.traveler.periods import BEYOND, EXPLICIT, SPEECH_TIME, Periods
from agent_env.families.traveler.questions import Asked, Question
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
"""Of the questions: raised whenever the same seed would give others."""
TRIES = 60
"""Draws for the wished expression and number of matches, then as many for any expression."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a question set."""

    sizes: tuple[int, ...]
    categories: tuple[Category, ...]
    seed: int
    sets: int
    """Event sets of each size, shared by its categories."""
    vocabulary: Vocabulary
    curves: Curves
    how: Drawing
    beyond_slides: bool
    given: EventSet | None = None
    """The user's own events, in place of drawn ones."""


@dataclass(slots=True)
class Cell:
    """One size and category: its questions come one after another."""

    wanted: Wanted
    sets: Sequence[Asked]
    category: Category
    rng: Random
    turn: int
    """Which template is next; cells begin at different ones, so that small sets are mixed too."""
    start: int
    """Where matches and expressions begin."""
    asked: set[tuple[str, str]] = field(default_factory=set)
    """Set and text of the questions so far."""
    turns: dict[str, int] = field(default_factory=dict)
    """How often each template was asked, and each number of matches."""

    def next(self) -> Question:
        """The next question; ConfigError where the sets hold no further one."""
        templates: tuple[Template, ...] = ("who", "did", "how-often")
        if self.category == "implicit":
            templates = (*templates, "when")
        template = templates[self.turn % len(templates)]
        wished = MATCHES[template][self._count(template) % len(MATCHES[template])]
        self.turn += 1
        for matches in dict.fromkeys((wished, *MATCHES[template])):
            kind = self._kind(template, matches)
            if (found := self._find(template, matches, kind)) is not None:
                return found
        raise ConfigError(
            f"no further '{template}' question of the category {self.category} is to be had from "
            f"{len(self.sets)} sets of {len(self.sets[0].given.events)} events; ask fewer"
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
        return SPEECH_TIME + (BEYOND if self.wanted.beyond_slides else ())

    def _kind(self, template: Template, matches: Matches) -> str:
        kinds = self._kinds()
        return kinds[self._count(f"{template} {matches}") % len(kinds)]

    def _find(self, template: Template, matches: Matches, kind: str) -> Question | None:
        for attempt in range(2 * TRIES):
            at = (self.turn + attempt) % len(self.sets)
            expression = kind if attempt < TRIES else self.rng.choice(self._kinds())
            expression = "none" if template == "when" else expression
            found = self.sets[at].ask(self.category, template, matches, expression, self.rng)
            if found is not None and (str(at), found.text) not in self.asked:
                self.asked.add((str(at), found.text))
                return found
        return None


def questions(wanted: Wanted) -> Iterator[tuple[int, Question]]:
    """Size and question, in turn from every size and category, without end."""
    cells = [
        (len(sets[0].given.events), cell) for sets in _sets(wanted) for cell in _cells(wanted, sets)
    ]
    for _ in counting():
        for size, cell in cells:
            yield size, cell.next()


def _cells(wanted: Wanted, sets: Sequence[Asked]) -> Iterator[Cell]:
    size = len(sets[0].given.events)
    for category in wanted.categories:
        rng = Random(f"{wanted.seed}/{size}/{category}")
        yield Cell(wanted, sets, category, rng, rng.randrange(12), rng.randrange(12))


def _sets(wanted: Wanted) -> Iterator[list[Asked]]:
    """The event sets of each size."""
    if wanted.given is not None:
        first = min(event.day for event in wanted.given.events)
        periods = Periods(date.fromordinal(first), wanted.given.today)
        yield [Asked(wanted.given, wanted.vocabulary, wanted.curves, periods)]
        return
    shared: Periods | None = None
    for size in wanted.sizes:
        drawn = []
        for number in range(wanted.sets):
            rng = Random(f"{wanted.seed}/{size}/set {number}")
            given = draw_set(wanted.vocabulary, size, wanted.how, rng)
            shared = shared or Periods(wanted.how.first, given.today)
            drawn.append(Asked(given, wanted.vocabulary, wanted.curves, shared))
        yield drawn
