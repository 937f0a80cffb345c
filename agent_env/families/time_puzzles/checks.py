"""Checks of a puzzle: closed, necessary, not guessable, robust, faithful."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.readings import Readings
from agent_env.families.time_puzzles.solver import solve, years_in
from agent_env.temporal.days import CLOSURE_DAYS, DaySet
from agent_env.temporal.facts.tables import FactTables


class Checker:
    """Checks puzzles over the day sets of one range; `rests` are those of `solver.rests_of`."""

    def __init__(self, sets: DaySets, tables: FactTables) -> None:
        self._sets = sets
        self._days = sets.days
        self._wide = DaySets(CLOSURE_DAYS, tables)
        self._readings = Readings(sets)
        self._possible: dict[ft.Fact, DaySet] = {}

    def is_closed(self, facts: Sequence[ft.Fact], answer: DaySet) -> bool:
        """Whether the answer is the same over 1583 to 2400, without a range of years; a calendar
        fact may hold on any day outside its validated range."""
        everywhere = solve([self._may_hold(fact) for fact in facts], CLOSURE_DAYS.everything)
        return everywhere == answer << CLOSURE_DAYS.index(self._days.first)

    def _may_hold(self, fact: ft.Fact) -> DaySet:
        days = self._possible.get(fact)
        if days is None:
            days = self._possible[fact] = self._wide.of(fact) | self._wide.unknown(fact)
        return days

    def needs_open_end(self, facts: Sequence[ft.Fact], answer: DaySet) -> bool:
        """Whether the answer may be another one after the date of a table with open ends."""
        possible = [self._sets.of(fact) | self._sets.open_end(fact) for fact in facts]
        return solve(possible, self._days.everything) != answer

    def unnecessary(self, rests: Sequence[DaySet], answer: DaySet) -> tuple[int, ...]:
        """Indices of facts without which the answer is the same."""
        return tuple(index for index, rest in enumerate(rests) if rest == answer)

    def other_answers(
        self, facts: Sequence[ft.Fact], rests: Sequence[DaySet], answer: DaySet
    ) -> tuple[str, ...]:
        """The readings of single facts that change the answer."""
        names = []
        for fact, rest in zip(facts, rests, strict=True):
            for name, days in self._readings.others(fact):
                if rest & days != answer:
                    names.append(name)
        return tuple(dict.fromkeys(names))

    def event_bits(self, rest: DaySet, answer: DaySet) -> float | None:
        """Conditional information gain of the event in bits: log2 of the answer's growth without
        it; None without an answer."""
        if not answer:
            return None
        return math.log2(rest.bit_count()) - math.log2(answer.bit_count())

    def event_values(self, event: ft.KbEvent, rest: DaySet) -> int:
        """Number of values of the event's level that the other facts allow."""
        patterns = self._sets.patterns
        if event.level == "month":
            return sum(bool(rest & patterns.months((month,))) for month in range(1, 13))
        if event.level == "day":
            return sum(bool(rest & patterns.days_of_month((day,))) for day in range(1, 32))
        return sum(1 for _ in years_in(rest, self._days))
