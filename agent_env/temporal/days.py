"""Ranges of days, and sets of days as bit sets.

A day set is an `int`: bit i stands for the i-th day of a `DayRange`. Intersection is `&`, size is
`int.bit_count()`; 250 years take 11 kB and an intersection about a microsecond.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from random import Random

DaySet = int


def iso_day(text: str) -> date | None:
    """The day written YYYY-MM-DD; None for anything else, other forms of ISO 8601 included."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if str(day) == text else None


@dataclass(frozen=True, slots=True)
class DayRange:
    first: date
    last: date

    @classmethod
    def of_years(cls, first: int, last: int) -> DayRange:
        return cls(date(first, 1, 1), date(last, 12, 31))

    def __len__(self) -> int:
        return self.last.toordinal() - self.first.toordinal() + 1

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def years(self) -> range:
        return range(self.first.year, self.last.year + 1)

    @property
    def everything(self) -> DaySet:
        return (1 << len(self)) - 1

    def index(self, day: date) -> int:
        return day.toordinal() - self.first.toordinal()

    def day(self, index: int) -> date:
        return self.first + timedelta(days=index)

    def span(self, first: date, last: date) -> DaySet:
        """The days from `first` to `last` that lie in the range; none where last < first."""
        low = max(first, self.first)
        high = min(last, self.last)
        if high < low:
            return 0
        return ((1 << (self.index(high) - self.index(low) + 1)) - 1) << self.index(low)

    def spans(self, spans: Iterable[tuple[date, date]]) -> DaySet:
        """The union of spans."""
        flags = bytearray(len(self) + 1)
        for first, last in spans:
            low, high = max(first, self.first), min(last, self.last)
            if low <= high:
                start, end = self.index(low), self.index(high) + 1
                flags[start:end] = b"\x01" * (end - start)
        return _packed(flags)

    def year(self, year: int) -> DaySet:
        return self.span(date(year, 1, 1), date(year, 12, 31))

    def those(self, days: Iterable[date]) -> DaySet:
        """The set of the given days, as far as they lie in the range."""
        flags = bytearray(len(self) + 1)
        for day in days:
            if self.first <= day <= self.last:
                flags[self.index(day)] = 1
        return _packed(flags)

    def dates(self, days: DaySet) -> Iterator[date]:
        """The days of a set in order."""
        low = max((days & -days).bit_length() - 1, 0)
        text = f"{days >> low:b}"
        top = low + len(text) - 1
        at = text.rfind("1")
        while at != -1:
            yield self.day(top - at)
            at = text.rfind("1", 0, at)

    @staticmethod
    def size_to(days: DaySet, most: int) -> int:
        """How many days a set has; of one with more than `most`, some number above it. A slice of a
        large set is mostly enough to tell that it has many."""
        top = days.bit_length()
        part = (days >> (top - (top >> 3))).bit_count()
        return part if part > most else days.bit_count()

    def draw(self, days: DaySet, rng: Random) -> date:
        """A random day of a set that is not empty, with equal probabilities."""
        low = (days & -days).bit_length() - 1
        within = days >> low
        span = within.bit_length()
        bits = within.to_bytes(span // 8 + 1, "little")
        places = map(int, map(float(span).__mul__, iter(rng.random, None)))
        for place in islice(places, 400):  # fails only for a very sparse set
            if (byte := bits[place >> 3]) and byte >> (place & 7) & 1:
                return self.day(low + place)
        return self.day(low + _place_of(rng.choice(range(within.bit_count())), within))

    def runs(self, days: DaySet) -> list[tuple[date, date]]:
        """The runs of consecutive days of a set, in order."""
        text = f"0{days:b}"
        top = len(text) - 1
        spans = []
        last = text.rfind("1")
        while last != -1:
            before = text.rfind("0", 0, last)
            spans.append((self.day(top - last), self.day(top - before - 1)))
            last = text.rfind("1", 0, before)
        return spans


def _place_of(number: int, days: DaySet) -> int:
    """The place of a set's day by its number, from 0."""
    place = 0
    while (half := days.bit_length() // 2) > 0:
        lower = days & ((1 << half) - 1)
        if number < (size := lower.bit_count()):
            days = lower
        else:
            days, number, place = days >> half, number - size, place + half
    return place


def _packed(flags: bytearray) -> DaySet:
    """The set whose bit i is flag i."""
    flags.reverse()  # the first digit of a number is its highest
    return int(flags.translate(_DIGITS), 2)


_DIGITS = bytes([48, 49]) + bytes(254)

PUZZLE_DAYS = DayRange.of_years(1800, 2050)
"""The days among which Time Puzzles look for their answers."""

CLOSURE_DAYS = DayRange.of_years(1583, 2400)
"""The days among which a closed puzzle has the same answers, though no range is stated."""


_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date at the precision at which it is known."""

    year: int
    month: int | None = None
    day: int | None = None

    @classmethod
    def parse(cls, text: str) -> PartialDate:
        """From `2019`, `2019-09` or `2019-09-09`; ValueError says what is wrong."""
        match = _ISO.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD")
        year, month, day = (int(part) if part else None for part in match.groups())
        assert year is not None
        try:
            date(year, month or 1, day or 1)
        except ValueError as exc:
            raise ValueError(f"'{text}' is not a date: {exc}") from None
        return cls(year, month, day)

    @property
    def exists(self) -> bool:
        """Whether it is in the calendar."""
        try:
            return self.first is not None
        except ValueError:
            return False

    @property
    def first(self) -> date:
        """The earliest day it can mean."""
        return date(self.year, self.month or 1, self.day or 1)

    @property
    def last(self) -> date:
        """The latest day it can mean."""
        month = self.month or 12
        return date(self.year, month, self.day or calendar.monthrange(self.year, month)[1])

    def __str__(self) -> str:
        parts = [f"{self.year:04d}"]
        parts += [f"{part:02d}" for part in (self.month, self.day) if part is not None]
        return "-".join(parts)
