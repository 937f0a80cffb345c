"""Allen's thirteen relations between half-open intervals, exactly one for any two of them.

Source: J. F. Allen, Maintaining knowledge about temporal intervals (1983). An interval runs from
its start up to, and not including, its end, so that `meets` is `a.end == b.start` and nothing else.
Bounds are numbers of days; at a coarser granularity both bounds are cut to their month or year, and
the same thirteen relations divide what remains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, get_args

Relation = Literal[
    "before",
    "meets",
    "overlaps",
    "finished-by",
    "contains",
    "starts",
    "equals",
    "started-by",
    "during",
    "finishes",
    "overlapped-by",
    "met-by",
    "after",
]
RELATIONS: tuple[Relation, ...] = get_args(Relation)
Granularity = Literal["year", "month", "day"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)

FOREVER = date.max.toordinal() + 1
"""The end of what lasts still: later than every day."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """All days from `start` up to, and not including, `end`; ValueError where that is none."""

    start: int
    """As date.toordinal()."""
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError("an interval ends after its start")

    @classmethod
    def of(cls, start: date, end: date | None) -> Interval:
        """From two days; one without an end lasts for ever."""
        return cls(start.toordinal(), FOREVER if end is None else end.toordinal())

    def at(self, granularity: Granularity) -> Interval | None:
        """Both bounds cut to their unit; None where nothing remains."""
        start, end = cut_day(self.start, granularity), cut_day(self.end, granularity)
        return Interval(start, end) if start < end else None

    def meet(self, other: Interval) -> Interval | None:
        """The days that both have; None where there is none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return Interval(start, end) if start < end else None


def relation(a: Interval, b: Interval) -> Relation:
    """What a is to b."""
    if a.end < b.start:
        return "before"
    if a.end == b.start:
        return "meets"
    if b.end < a.start:
        return "after"
    if b.end == a.start:
        return "met-by"
    starts, ends = _sign(a.start - b.start), _sign(a.end - b.end)
    return _SHARING[starts, ends]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


_SHARING: Mapping[tuple[int, int], Relation] = {
    (-1, -1): "overlaps",
    (-1, 0): "finished-by",
    (-1, 1): "contains",
    (0, -1): "starts",
    (0, 0): "equals",
    (0, 1): "started-by",
    (1, -1): "during",
    (1, 0): "finishes",
    (1, 1): "overlapped-by",
}
"""For two intervals that share a day: how the starts compare, and how the ends."""


def cut_day(day: int, granularity: Granularity) -> int:
    """The first day of the unit in which the day lies; FOREVER stays."""
    if granularity == "day" or day >= FOREVER:
        return day
    return cut(date.fromordinal(day), granularity).toordinal()


def cut(day: date, granularity: Granularity) -> date:
    """The first day of the day's month or year, or the day itself."""
    if granularity == "day":
        return day
    return day.replace(day=1) if granularity == "month" else day.replace(month=1, day=1)
