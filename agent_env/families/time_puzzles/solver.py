"""Solves puzzles by intersecting day sets (Time Puzzles, Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache

from agent_env.temporal.days import DayRange, DaySet


def information_gain(days: DaySet, all_days: int) -> float:
    """IG(t) = log2|D| − log2|C(t)| in bits (equation 2); infinite for an empty set."""
    size = days.bit_count()
    return math.inf if size == 0 else math.log2(all_days) - math.log2(size)


def solve(sets: Sequence[DaySet], everything: DaySet) -> DaySet:
    """The days in all sets; the smallest sets come first, for speed."""
    solution = everything
    for days in sorted(sets, key=int.bit_count):
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
    """The years with a day in the set, in order."""
    flags = f"{days:b}"[::-1]
    for year, first, last in _year_bounds(all_days):
        if flags.find("1", first, last) != -1:
            yield year


@lru_cache(maxsize=8)
def _year_bounds(days: DayRange) -> tuple[tuple[int, int, int], ...]:
    """Each year with the index of its first day and that behind its last."""
    firsts = [max(0, days.index(date(year, 1, 1))) for year in days.years]
    return tuple(zip(days.years, firsts, [*firsts[1:], len(days)], strict=True))
