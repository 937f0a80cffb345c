"""Solves puzzles by intersecting day sets (Time Puzzles, Algorithm 3), each in its own years."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.temporal.days import CLOSURE_DAYS, PUZZLE_DAYS, DayRange, DaySet


def information_gain(days: DaySet, all_days: int) -> float:
    """IG(t) = log2|D| − log2|C(t)| in bits (equation 2); infinite for an empty set."""
    size = days.bit_count()
    return math.inf if size == 0 else math.log2(all_days) - math.log2(size)


def solve(sets: Sequence[DaySet], everything: DaySet) -> DaySet:
    """The days in all sets."""
    solution = everything
    for days in sets:
        solution &= days
        if not solution:
            break
    return solution


def rests_of(sets: Sequence[DaySet], everything: DaySet) -> list[DaySet]:
    """For each set, the intersection of all the others."""
    before = [everything]
    for days in sets[:-1]:
        before.append(before[-1] & days)
    rests, after = [], everything
    for index in reversed(range(len(sets))):
        rests.append(before[index] & after)
        after &= sets[index]
    return rests[::-1]


def years_in(days: DaySet, all_days: DayRange) -> Iterator[int]:
    flags = f"{days:b}"[::-1]
    for year, first, last in _year_bounds(all_days):
        if flags.find("1", first, last) != -1:
            yield year


@lru_cache(maxsize=8)
def _year_bounds(days: DayRange) -> tuple[tuple[int, int, int], ...]:
    """Each year with the index of its first day and that behind its last."""
    firsts = [max(0, days.index(date(year, 1, 1))) for year in days.years]
    return tuple(zip(days.years, firsts, [*firsts[1:], len(days)], strict=True))


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
    rests = tuple(rests_of(days, window))
    return SolvedPuzzle(tuple(facts), tuple(days), window, rests, solve(days, window))


def year_bounds(puzzle: TimePuzzle) -> tuple[int, int]:
    """First and last year of the puzzle's range."""
    first, _, last = puzzle.years.partition("-")
    return int(first), int(last)


def window_of(bounds: tuple[int, int], days: DayRange) -> DaySet:
    """The days of a range of years that are in `days`."""
    return days.span(date(bounds[0], 1, 1), date(bounds[1], 12, 31))


def common_days(puzzles: Iterable[TimePuzzle]) -> DayRange:
    """A range of 1800 to 2050 and the years of every puzzle, within 1583 to 2400, the range over
    which closure is checked."""
    first, last = PUZZLE_DAYS.first.year, PUZZLE_DAYS.last.year
    for puzzle in puzzles:
        low, high = year_bounds(puzzle)
        first, last = min(first, low), max(last, high)
    first, last = max(first, CLOSURE_DAYS.first.year), min(last, CLOSURE_DAYS.last.year)
    return DayRange.of_years(first, last)
