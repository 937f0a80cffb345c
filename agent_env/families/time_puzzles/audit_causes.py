"""Causes of wrong gold sets: the mistake that results in exactly the stored set.

Each cause is a hypothesis; the first that explains the stored gold is reported, together with the
event's wrong date if that contributes. docs/audit.md explains them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from agent_env.families.time_puzzles.audit_events import ResolvedFacts
from agent_env.families.time_puzzles.audit_solved import (
    SolvedPuzzle,
    few_days,
    solve_sets,
    window_of,
    year_bounds,
)
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import ChineseZodiac, KbEvent, LunarMonth
from agent_env.families.time_puzzles.readings import Readings
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve
from agent_env.temporal.days import DaySet

LUNAR = (LunarMonth, ChineseZodiac)
LIBRARIES_RIGHT_FROM = date(1900, 1, 31)
"""Widespread lunar libraries are silently wrong before 1888-02-12 or before this day."""


class Causes:
    """Finds the causes of wrong gold sets, over shared day sets."""

    def __init__(
        self, sets: DaySets, readings: Readings, ranges: Sequence[tuple[int, int]]
    ) -> None:
        self._sets = sets
        self._readings = readings
        self._windows = [window_of(bounds, sets.days) for bounds in ranges]
        self._early = sets.days.span(sets.days.first, LIBRARIES_RIGHT_FROM)

    def of(
        self,
        puzzle: TimePuzzle,
        solution: SolvedPuzzle,
        strict: DaySet,
        resolved: ResolvedFacts,
    ) -> tuple[str, ...]:
        """The causes, empty for a right gold; `solution` is that of `resolved.facts` by the file's
        own rules, `strict` the answer without them."""
        dates, readable = _dates(puzzle.gold)
        first, last = year_bounds(puzzle)
        inside = few_days((day for day in dates if first <= day.year <= last), self._sets.days)
        causes = []
        if inside.bit_count() < len(dates):
            causes.append("year_range")
        if not readable:
            causes.append("other")
        elif not inside == solution.answer == strict:
            convention = self._by_convention(inside, solution, strict)
            causes += [convention] if convention else self._explained(inside, solution, resolved)
        if puzzle.solution_count != len(puzzle.gold):
            causes.append("solution_count")
        return tuple(dict.fromkeys(causes))

    def _by_convention(self, gold: DaySet, base: SolvedPuzzle, strict: DaySet) -> str | None:
        """The convention by which the gold is right, other than our own; None for no such one."""
        if gold == base.answer:
            return "file_rule"
        if gold == strict:
            return "strict"
        open_days = 0
        for fact, rest in zip(base.facts, base.rests, strict=True):
            open_days |= rest & self._sets.open_end(fact)
        return "open_end" if gold & ~(open_days & ~base.answer) == base.answer else None

    def _explained(
        self, gold: DaySet, solution: SolvedPuzzle, resolved: ResolvedFacts
    ) -> list[str]:
        """The causes of `gold`: the file's date of the event, another mistake, or both."""
        mistakes = [*self._hypotheses(gold, solution)]
        if self._is_one_of_several_years(gold, solution):
            # unlikely for a file that states all years of the event
            mistakes.insert(len(mistakes) if resolved.years_stated else 0, "event_in_several_years")
        cause = resolved.event_cause
        if cause is None:
            return [*mistakes, "other"][:1]
        pairs = zip(resolved.stated, solution.facts, solution.sets, strict=True)
        days = [own if fact == ours else self._sets.of(fact) for fact, ours, own in pairs]
        by_file = solve_sets(resolved.stated, days, solution.window)
        if gold == by_file.answer:
            return [cause]
        return mistakes[:1] or [cause, *self._hypotheses(gold, by_file), "other"][:2]

    def _hypotheses(self, gold: DaySet, solution: SolvedPuzzle) -> Iterator[str]:
        differing = gold ^ solution.answer
        if self._is_lunar(gold, solution) and not differing & ~self._early:
            yield "lunar_calendar"
        yield from self._by_reading(gold, solution)
        if self._is_lunar(gold, solution) and gold & ~solution.answer:
            yield "lunar_calendar"
        if any(gold == solve(solution.sets, window) for window in self._windows):
            yield "year_range"

    def _by_reading(self, gold: DaySet, solution: SolvedPuzzle) -> Iterator[str]:
        for fact, rest in zip(solution.facts, solution.rests, strict=True):
            for name, days in self._readings.others(fact):
                if rest & days == gold:
                    yield name

    def _is_one_of_several_years(self, gold: DaySet, solution: SolvedPuzzle) -> bool:
        """Whether the gold is the answer for a single year of the event."""
        for fact, rest in zip(solution.facts, solution.rests, strict=True):
            if isinstance(fact, KbEvent) and fact.aspect == "multi_year" and gold:
                year = self._sets.days.day(gold.bit_length() - 1).year
                return rest & self._sets.days.year(year) == gold
        return False

    def _is_lunar(self, gold: DaySet, solution: SolvedPuzzle) -> bool:
        """Whether the gold satisfies all facts except perhaps the lunar ones."""
        others = [
            days
            for fact, days in zip(solution.facts, solution.sets, strict=True)
            if not isinstance(fact, LUNAR)
        ]
        if len(others) == len(solution.sets):
            return False
        return not gold & ~solve(others, solution.window)


def _dates(gold: Sequence[str]) -> tuple[set[date], bool]:
    """The gold days, and whether all of them are dates."""
    dates = set()
    for text in gold:
        try:
            dates.add(date.fromisoformat(text))
        except ValueError:
            return dates, False
    return dates, True
