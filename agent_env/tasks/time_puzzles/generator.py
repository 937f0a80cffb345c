"""Makes puzzles (Time Puzzles, Algorithms 1 to 3): anchored on an event, around a hidden seed
date, with exactly the wanted number of solutions, and checked."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.errors import ConfigError
from agent_env.tasks.time_puzzles.candidates import Candidates
from agent_env.tasks.time_puzzles.day_sets import DaySets
from agent_env.tasks.time_puzzles.facts import (
    Fact,
    KbEvent,
    Level,
    PersonAlive,
    UsPresident,
    category_of,
    level_of,
)
from agent_env.tasks.time_puzzles.sample import Checks, TimePuzzle
from agent_env.tasks.time_puzzles.wording import TooManySpans, Wording
from agent_env.temporal.days import PUZZLE_DAYS, DayRange, DaySet
from agent_env.temporal.facts.articles import article_url, event_title, presidency_title
from agent_env.temporal.facts.tables import FactTables

MIN_EVENT_VALUES = 10
"""A guesser of the event's value may be right once in so many draws at most."""
MAX_TRIES = 20_000


@dataclass(frozen=True, slots=True)
class Shape:
    """How many facts and how many solutions a puzzle has."""

    facts: int
    solutions: int


def schedule(count: int, facts: Sequence[int], solutions: Sequence[int]) -> Iterator[Shape]:
    """`count` shapes, every combination as often as any other, solutions varying fastest."""
    for index in range(count):
        # step through the facts along with the solutions, so that a short run sees all of both
        row, column = divmod(index, len(solutions))
        n = facts[(column + row) % len(facts)]
        yield Shape(n, solutions[column])


class Generator:
    """Draws puzzles from one set of fact tables."""

    def __init__(self, tables: FactTables, days: DayRange = PUZZLE_DAYS) -> None:
        self._sets = DaySets(days, tables)
        self._days = days
        self._wording = Wording(tables, self._sets)
        self._candidates = Candidates(tables, self._sets)

    def puzzles(self, count: int, seed: int, shapes: Iterator[Shape]) -> Iterator[TimePuzzle]:
        """`count` puzzles; each depends on the seed and its own number alone."""
        for number, shape in zip(range(1, count + 1), shapes, strict=False):
            yield self.puzzle(shape, Random(f"{seed}/{number}"), f"tp-{seed}-{number:05d}")

    def puzzle(self, shape: Shape, rng: Random, name: str) -> TimePuzzle:
        """One puzzle of the shape; ConfigError where none is found."""
        for _ in range(MAX_TRIES):
            drawn = self._draw(shape, rng)
            if drawn is not None:
                facts, seed_date = drawn
                puzzle = self._accept(facts, seed_date, shape, rng, name)
                if puzzle is not None:
                    return puzzle
        raise ConfigError(
            f"no puzzle with {shape.facts} facts and {shape.solutions} solutions was found in "
            f"{MAX_TRIES} tries; ask for more facts or other numbers of solutions"
        )

    def _draw(self, shape: Shape, rng: Random) -> tuple[list[Fact], date] | None:
        """Facts that all hold on a seed date and have the wanted number of solutions; the last
        fact is looked for, not drawn blindly."""
        event = self._candidates.event(rng)
        solutions = self._sets.of(event)
        seed_date = self._random_day(solutions, rng)
        facts: list[Fact] = [event]
        for _ in range(shape.facts - 2):
            drawn = self._another(facts, seed_date, rng)
            if drawn is None:
                return None
            facts.append(drawn)
            solutions &= self._sets.of(drawn)
        last = self._fitting(facts, solutions, seed_date, shape.solutions, rng)
        return None if last is None else ([*facts, last], seed_date)

    def _random_day(self, days: DaySet, rng: Random) -> date:
        while True:  # by chance where the set is dense, else by listing it
            if days.bit_count() * 50 < len(self._days):
                return rng.choice(list(self._days.dates(days)))
            index = rng.randrange(len(self._days))
            if days >> index & 1:
                return self._days.day(index)

    def _another(self, facts: list[Fact], seed_date: date, rng: Random) -> Fact | None:
        """A fact of an unused category, on the level that is least used so far."""
        used = {category_of(fact) for fact in facts}
        for level in _levels(facts, rng):
            open_ = [c for c in self._candidates.categories[level] if c not in used]
            rng.shuffle(open_)
            for category in open_:
                if (fact := self._candidates.one(category, seed_date, rng)) is not None:
                    return fact
        return None

    def _fitting(
        self, facts: list[Fact], solutions: DaySet, seed_date: date, wanted: int, rng: Random
    ) -> Fact | None:
        """A last fact, of an unused category, that leaves just the wanted number of days."""
        used = {category_of(fact) for fact in facts}
        for level in _levels(facts, rng)[:2]:
            open_ = [c for c in self._candidates.categories[level] if c not in used]
            rng.shuffle(open_)
            for category in open_:
                for fact in self._candidates.several(category, seed_date, rng):
                    if (solutions & self._sets.of(fact)).bit_count() == wanted:
                        return fact
        return None

    def _accept(
        self, facts: list[Fact], seed_date: date, shape: Shape, rng: Random, name: str
    ) -> TimePuzzle | None:
        """The puzzle, if every check holds."""
        rests = rests_of([self._sets.of(fact) for fact in facts], self._days.everything)
        answer = rests[0] & self._sets.of(facts[0])
        checks = self._check(facts, rests, answer)
        if checks is None:
            return None
        order = list(range(len(facts)))
        rng.shuffle(order)
        try:
            explicit = tuple(self._wording.explicit(facts[i], rests[i]) for i in order)
        except TooManySpans:
            return None
        event = facts[0]
        assert isinstance(event, KbEvent)
        return TimePuzzle(
            id=name,
            gold=tuple(day.isoformat() for day in self._days.dates(answer)),
            evidence=evidence_of(facts[i] for i in order),
            constraints=tuple(self._wording.implicit(facts[i]) for i in order),
            explicit_constraints=explicit,
            facts=tuple(facts[i] for i in order),
            solution_count=shape.solutions,
            fact_count=shape.facts,
            event=event.event,
            event_level=event.level,
            seed_date=seed_date.isoformat(),
            checks=checks,
        )

    def _check(self, facts: list[Fact], rests: list[DaySet], answer: DaySet) -> Checks | None:
        """None where a fact could be left out or the event be guessed."""
        if any(rest == answer for rest in rests):
            return None
        event = facts[0]
        assert isinstance(event, KbEvent)
        values = self._values(event, rests[0])
        bits = math.log2(rests[0].bit_count() / answer.bit_count())
        if bits < 1 or values < MIN_EVENT_VALUES:
            return None
        return Checks(necessary=True, event_bits=round(bits, 3), event_values=values)

    def _values(self, event: KbEvent, rest: DaySet) -> int:
        """How many values of what the event shares with the date the other facts allow."""
        if event.aspect == "multi_year" or event.level == "year":
            return len({day.year for day in self._days.dates(rest)})
        if event.level == "month":
            return len({day.month for day in self._days.dates(rest)})
        return len({day.day for day in self._days.dates(rest)})


def rests_of(sets: list[DaySet], everything: DaySet) -> list[DaySet]:
    """For each set, the intersection of all the others."""
    before = [everything]
    for days in sets[:-1]:
        before.append(before[-1] & days)
    rests, after = [], everything
    for index in reversed(range(len(sets))):
        rests.append(before[index] & after)
        after &= sets[index]
    return rests[::-1]


def evidence_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The articles that prove what must be looked up."""
    return tuple(article_url(title) for fact in facts if (title := _title(fact)) is not None)


def _title(fact: Fact) -> str | None:
    match fact:
        case KbEvent(event=event):
            return event_title(event)
        case PersonAlive(person=person):
            return person
        case UsPresident(person=person):
            return presidency_title(person)
    return None


def _levels(facts: list[Fact], rng: Random) -> list[Level]:
    """The three levels, the least used first, ties in random order."""
    levels: list[Level] = ["year", "month", "day"]
    rng.shuffle(levels)
    used = Counter(level_of(fact) for fact in facts)
    return sorted(levels, key=lambda level: used[level])
