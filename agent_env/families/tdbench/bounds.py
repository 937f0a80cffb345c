"""Draws an interval b to which some rows stand in a relation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from random import Random

from agent_env.families.tdbench.groups import GroupRow
from agent_env.families.tdbench.wording import Offset
from agent_env.temporal.allen import FOREVER, Granularity, Interval, Relation, cut_day

FIRST = date(1, 1, 1).toordinal() + 400


def draw(
    rng: Random, relation: Relation, rows: Sequence[GroupRow], granularity: Granularity, last: int
) -> Interval | None:
    """An interval that ends on `last` or before; None where this draw finds none.

    Gaps are drawn at all sizes, from a day (month, year) to the length of the rows and beyond.
    """
    starts = [row.interval.start for row in rows]
    ends = [row.interval.end for row in rows]
    low, high = (min(starts), max(starts)), (min(ends), max(ends))
    until = min(high[0], last + 1)  # a row without an end is recorded until now

    def inside(after: int, before: int) -> int | None:
        return _between(rng, after, before, granularity)

    def later(day: int) -> int | None:
        return inside(day, min(last + 1, day + _gap(rng, rows, last)))

    def earlier(day: int) -> int | None:
        return inside(max(FIRST, day - _gap(rng, rows, last)), day)

    one_start = low[0] if low[0] == low[1] else None
    one_end = high[0] if high[0] == high[1] != FOREVER else None
    start: int | None
    end: int | None
    if relation in ("before", "meets"):
        start = later(high[1]) if relation == "before" else one_end
        end = None if start is None else later(start)
    elif relation in ("after", "met-by"):
        end = earlier(low[0]) if relation == "after" else one_start
        start = None if end is None else earlier(end)
    else:
        if relation in ("overlaps", "finished-by", "contains"):
            start = inside(low[1], until)
        elif relation in ("starts", "equals", "started-by"):
            start = one_start
        else:
            start = earlier(low[0])
        if relation in ("overlaps", "starts", "during"):
            end = None if high[1] == FOREVER else later(high[1])
        elif relation in ("finished-by", "equals", "finishes"):
            end = one_end
        else:
            end = None if start is None else inside(max(start, low[1]), until)
    if start is None or end is None or start >= end or end > last:
        return None
    return Interval(start, end)


def _gap(rng: Random, rows: Sequence[GroupRow], last: int) -> int:
    """A number of days; small ones are as frequent as large ones."""
    lengths = [min(row.interval.end, last) - row.interval.start for row in rows]
    most = max(2, *(2 * length for length in lengths))
    return 2 + int(most ** rng.uniform(0.15, 1.0))


def _between(rng: Random, after: int, before: int, granularity: Granularity) -> int | None:
    """A day strictly between two, at the beginning of its month or year where these count."""
    if before - after < 2 or after >= FOREVER:
        return None
    day = cut_day(rng.randrange(after + 1, before), granularity)
    if day <= after and granularity != "day":
        day = cut_day(day + (31 if granularity == "month" else 366), granularity)
    return day if after < day < before else None


def offset_between(b: Interval, granularity: Granularity) -> Offset:
    """The distance between b's bounds in the largest of years, months and days that leads exactly
    from either to the other; a count of months that is clamped on its way does not."""
    start, end = date.fromordinal(b.start), date.fromordinal(b.end)
    months = (end.year - start.year) * 12 + end.month - start.month
    for count, unit in ((months // 12, "year"), (months, "month")):
        if count and (unit == "month" or months % 12 == 0):
            offset = Offset(count, unit)  # type: ignore[arg-type]
            there, back = offset.from_day(start, 1), offset.from_day(end, -1)
            if there == end and back == start:
                return offset
    if granularity != "day":
        raise AssertionError(f"{start} and {end} are whole months apart")
    return Offset(b.end - b.start, "day")


def whole_months(
    rng: Random, b: Interval, keep_start: bool, granularity: Granularity, last: int
) -> Interval:
    """b with its other bound moved by whole months from the first, where that is possible."""
    if granularity == "year":
        return b
    months = rng.choice((1, 2, 3, 4, 6, 8, 9, 12, 18, 24, 36, 60))
    fixed = date.fromordinal(b.start if keep_start else b.end)
    moved = Offset(months, "month").from_day(fixed, 1 if keep_start else -1)
    back = Offset(months, "month").from_day(moved, -1 if keep_start else 1)
    if back != fixed or not FIRST < moved.toordinal() <= last:
        return b
    return (
        Interval(b.start, moved.toordinal()) if keep_start else Interval(moved.toordinal(), b.end)
    )
