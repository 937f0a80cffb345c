"""Solves a puzzle within its own years, over shared day sets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import rests_of, solve
from agent_env.temporal.days import CLOSURE_DAYS, PUZZLE_DAYS, DayRange, DaySet


@dataclass(frozen=True, slots=True)
class SolvedPuzzle:
    """Facts with their day sets and the answer, within the puzzle's years."""

    facts: tuple[Fact, ...]
    sets: tuple[DaySet, ...]
    window: DaySet
    """The days of the puzzle's years."""
    rests: tuple[DaySet, ...]
    """For each fact, the days that all others allow."""
    answer: DaySet


def solve_facts(facts: Sequence[Fact], window: DaySet, sets: DaySets) -> SolvedPuzzle:
    """The facts solved within `window`. Raises KeyError for an unknown name."""
    return solve_sets(facts, [sets.of(fact) for fact in facts], window)


def solve_sets(facts: Sequence[Fact], days: Sequence[DaySet], window: DaySet) -> SolvedPuzzle:
    """The same with the days of each fact given."""
    rests = tuple(rests_of(days, window))
    return SolvedPuzzle(tuple(facts), tuple(days), window, rests, solve(days, window))


def year_bounds(puzzle: TimePuzzle) -> tuple[int, int]:
    """First and last year of the puzzle's range."""
    first, _, last = puzzle.years.partition("-")
    return int(first), int(last)


def window_of(bounds: tuple[int, int], days: DayRange) -> DaySet:
    """The days of a range of years that are in `days`."""
    return days.span(date(bounds[0], 1, 1), date(bounds[1], 12, 31))


def few_days(dates: Iterable[date], days: DayRange) -> DaySet:
    """The set of some days without those out of range; fast for few days."""
    return sum(1 << days.index(day) for day in set(dates) if day in days)


def common_days(puzzles: Iterable[TimePuzzle]) -> DayRange:
    """A range of 1800 to 2050 and the years of every puzzle, within 1583 to 2400, the range over
    which closure is checked."""
    first, last = PUZZLE_DAYS.first.year, PUZZLE_DAYS.last.year
    for puzzle in puzzles:
        low, high = year_bounds(puzzle)
        first, last = min(first, low), max(last, high)
    first, last = max(first, CLOSURE_DAYS.first.year), min(last, CLOSURE_DAYS.last.year)
    return DayRange(date(first, 1, 1), date(last, 12, 31))
