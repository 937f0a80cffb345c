"""Solves puzzles by intersecting day sets (Time Puzzles, Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agent_env.temporal.days import DaySet


def information_gain(days: DaySet, all_days: int) -> float:
    """IG(t) = log2|D| − log2|C(t)| in bits (equation 2); infinite for a fact that never holds."""
    size = days.bit_count()
    return math.inf if size == 0 else math.log2(all_days) - math.log2(size)


def solve(sets: Sequence[DaySet], everything: DaySet) -> DaySet:
    """The days in all sets; those that say most come first, so that the rest is small early."""
    solution = everything
    for days in sorted(sets, key=int.bit_count):  # fewest days, most information
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
