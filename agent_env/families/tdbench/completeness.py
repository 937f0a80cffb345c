"""Whether a table lists all that a question without its rows is about.

A table of real terms begins somewhere and has gaps. Nobody knows from it who was there then, so a
closed book asks only what no unlisted row could answer. Where no two rows of a group hold at once,
unlisted rows lie in the days that none of its rows covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent_env.families.tdbench.reading import BOUNDS
from agent_env.temporal.allen import Interval


def uncovered(rows: Iterable[Interval], last: int) -> Iterator[Interval]:
    """The stretches of days up to `last` that no row covers, in order."""
    at = 0
    for row in sorted(rows):
        if row.start > at:
            yield Interval(at, row.start)
        at = max(at, row.end)
    if at <= last:
        yield Interval(at, last + 1)


def is_complete(rows: Iterable[Interval], last: int, relation: str, b: Interval) -> bool:
    """Whether no unlisted row can stand in this relation to b."""
    for stretch in uncovered(rows, last):  # can an interval inside it?
        low = {"start": stretch.start, "end": stretch.start + 1}
        high = {"start": stretch.end - 1, "end": stretch.end}
        for side, test, place in BOUNDS[relation]:
            day = (b.start, b.end)[place]
            if test in "=>":
                low[side] = max(low[side], day + (test == ">"))
            if test in "=<":
                high[side] = min(high[side], day - (test == "<"))
        if all(low[side] <= high[side] for side in low) and low["start"] < high["end"]:
            return False
    return True


def covers(rows: Iterable[Interval], last: int, period: Interval) -> bool:
    """Whether some row holds on every day of the period."""
    return not any(each.meet(period) for each in uncovered(rows, last))
