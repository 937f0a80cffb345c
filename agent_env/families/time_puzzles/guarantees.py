"""What holds of a checked puzzle, whether it was drawn or its event was moved to other dates."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from agent_env.families.time_puzzles.checks import Checker
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact, KbEvent
from agent_env.families.time_puzzles.sample import Checks
from agent_env.families.time_puzzles.solver import rests_of, solve
from agent_env.families.time_puzzles.spelled_out import SpelledOut, TooManySpans
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import FactTables

MIN_EVENT_VALUES = 10
"""Least number of values of the event, so that guessing it rarely succeeds."""


class Guarantees:
    """Checks facts with their answer; `rests` are those of `solver.rests_of`."""

    def __init__(self, sets: DaySets, tables: FactTables) -> None:
        self._everything = sets.days.everything
        self._spelled_out = SpelledOut(sets)
        self._checker = Checker(sets, tables)
        self.needs_open_end = self._checker.needs_open_end

    def checks(
        self, facts: Sequence[Fact], rests: Sequence[DaySet], answer: DaySet
    ) -> Checks | None:
        """The checks, cheap ones first; None if any fails."""
        checker = self._checker
        at, event = next((i, fact) for i, fact in enumerate(facts) if isinstance(fact, KbEvent))
        if checker.unnecessary(rests, answer) or checker.other_answers(facts, rests, answer):
            return None
        bits = checker.event_bits(rests[at], answer)
        if bits is not None and bits < 1:
            return None
        values = checker.event_values(event, rests[at])
        if values < MIN_EVENT_VALUES or not checker.is_closed(facts, answer):
            return None
        return Checks(
            closed=True,
            necessary=True,
            event_bits=None if bits is None else round(bits, 3),
            event_values=values,
            robust=True,
            faithful=True,
            explicit_necessary=True,
        )

    def listed(
        self,
        facts: Sequence[Fact],
        rests: Sequence[DaySet],
        answer: DaySet,
        rng: Random,
        is_checked: bool,
    ) -> list[DaySet] | None:
        """For each fact the days that its explicit wording allows; None where it takes too many
        spans or, checked, has another answer or a fact that it could do without."""
        try:
            listed = self._spelled_out.listed(facts, rests, answer, rng)
        except TooManySpans:
            return None
        if is_checked:
            own = rests_of(listed, self._everything)
            if solve(listed, self._everything) != answer or self._checker.unnecessary(own, answer):
                return None
        return listed
