"""What every calendar system can do, and what is common to those that count in months."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Protocol

from agent_env.errors import AgentEnvError


class CalendarError(AgentEnvError, ValueError):
    """A question a calendar cannot answer; the text says which and why."""


class OutOfRange(CalendarError):
    """A day outside the span for which the calendar was validated."""


class NoSuchDate(CalendarError):
    """A date, month, era or name that this calendar does not have."""


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """One day as a calendar writes it; in use only together with its calendar's name."""

    year: int
    """Year of the calendar's own count; within the era where there is one."""
    month: int
    """From 1, in the order of the calendar's `months`."""
    day: int
    """From 1."""
    leap_month: bool = False
    """True in an intercalary month that bears its predecessor's number (Chinese only)."""
    era: str | None = None
    """Name of the era that counts the year (Japanese only)."""


@dataclass(frozen=True, slots=True)
class MonthSpan:
    """Consecutive days of one calendar month: all of it, or what lies in a span asked for."""

    first: date
    """Gregorian date of the first of these days."""
    opens: CalendarDate
    """The calendar's date of `first`; its day exceeds 1 where the month is cut at the front."""
    days: int
    """How many days from `first` on are meant."""
    size: int
    """Length of the whole month in days, cut or not."""


class CalendarSystem(Protocol):
    """A calendar, both ways, on every day from `first` to `last` (Gregorian, both inclusive)."""

    @property
    def name(self) -> str: ...
    @property
    def first(self) -> date: ...
    @property
    def last(self) -> date: ...
    @property
    def months(self) -> tuple[str, ...]:
        """Month names in order, transliterated into English."""

    def from_gregorian(self, day: date) -> CalendarDate: ...
    def to_gregorian(self, when: CalendarDate) -> date: ...
    def month_name(self, when: CalendarDate) -> str: ...
    def months_between(self, first: date, last: date) -> Iterator[MonthSpan]: ...


class DayNames(Protocol):
    """Named days that recur once in every Gregorian year, such as feasts or solar terms."""

    @property
    def name(self) -> str: ...
    @property
    def first(self) -> date: ...
    @property
    def last(self) -> date: ...
    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of a Gregorian year."""

    @property
    def unsettled(self) -> tuple[date, ...]:
        """Days within the range on which sources differ: unknown, and left out of bulk answers."""

    def in_year(self, name: str, year: int) -> date: ...
    def on(self, day: date) -> tuple[str, ...]: ...
    def days_between(self, first: date, last: date) -> Iterator[tuple[date, str]]: ...


class MonthCalendar(ABC):
    """A calendar built from the layout of its years; subclasses lay out one year at a time.

    Layouts are kept per instance, so that days are counted off and not computed one by one:
    a span of 250 years costs its 3,100 months. Raises OutOfRange outside `first`..`last` and
    NoSuchDate for dates that do not exist; an answer is never a guess.
    """

    name: ClassVar[str]
    first: ClassVar[date]
    last: ClassVar[date]
    months: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._layouts: dict[int, tuple[MonthSpan, ...]] = {}

    def from_gregorian(self, day: date) -> CalendarDate:
        """The calendar's date of a Gregorian day."""
        require_range(self, day)
        span = self._span_of(day)
        opens = span.opens
        number = opens.day + (day - span.first).days
        return CalendarDate(opens.year, opens.month, number, opens.leap_month, opens.era)

    def to_gregorian(self, when: CalendarDate) -> date:
        """The Gregorian day of a date of this calendar."""
        span = self._month(when)
        offset = when.day - span.opens.day
        if not 0 <= offset < span.days:
            last = span.opens.day + span.days - 1
            raise NoSuchDate(
                f"{self.name}: {self._written(when)} has no day {when.day}; "
                f"its days are {span.opens.day} to {last}"
            )
        day = date.fromordinal(span.first.toordinal() + offset)
        require_range(self, day)
        return day

    def month_name(self, when: CalendarDate) -> str:
        """The name of a date's month; calendars whose names vary by year override this."""
        if not 1 <= when.month <= len(self.months):
            raise NoSuchDate(
                f"{self.name}: there is no month {when.month}; months run from 1 to "
                f"{len(self.months)}"
            )
        return self.months[when.month - 1]

    def months_between(self, first: date, last: date) -> Iterator[MonthSpan]:
        """Every month with a day in `first`..`last`, in order, cut to that span.

        Raises OutOfRange at once where the span leaves the validated range.
        """
        require_range(self, first)
        require_range(self, last)
        return self._months_between(first, last)

    def _months_between(self, first: date, last: date) -> Iterator[MonthSpan]:
        for year in range(self._layout_year_of(first), self._layout_year_of(last) + 1):
            for span in self._layout(year):
                clipped = clip(span, first, last)
                if clipped is not None:
                    yield clipped

    def _span_of(self, day: date) -> MonthSpan:
        for span in reversed(self._layout(self._layout_year_of(day))):
            if span.first <= day:
                return span
        raise AssertionError(f"{self.name}: no month holds {day}")

    def _layout_year_of(self, day: date) -> int:
        year = self._year_near(day)
        while day < self._layout(year)[0].first:
            year -= 1
        while day > last_day(self._layout(year)[-1]):
            year += 1
        return year

    def _month(self, when: CalendarDate) -> MonthSpan:
        self.month_name(when)
        year = self._layout_year(when)
        if not self._layout_year_of(self.first) <= year <= self._layout_year_of(self.last):
            raise OutOfRange(
                f"{self.name}: year {when.year} is out of range; the calendar is validated for "
                f"{self.first} to {self.last}"
            )
        for span in self._layout(year):
            if (span.opens.month, span.opens.leap_month, span.opens.era) == (
                when.month,
                when.leap_month,
                when.era,
            ):
                return span
        raise NoSuchDate(f"{self.name}: there is no {self._written(when)}")

    def _layout(self, year: int) -> tuple[MonthSpan, ...]:
        layout = self._layouts.get(year)
        if layout is None:
            layout = self._layouts[year] = self._lay_out(year)
        return layout

    def _written(self, when: CalendarDate) -> str:
        leap = "leap " if when.leap_month else ""
        era = f"{when.era} " if when.era else ""
        return f"{leap}month {when.month} ({self.months[when.month - 1]}) in {era}year {when.year}"

    def _layout_year(self, when: CalendarDate) -> int:
        """The key under which the year of `when` is laid out; the year itself without eras."""
        return when.year

    @abstractmethod
    def _year_near(self, day: date) -> int:
        """The calendar year of a Gregorian day, right to within a year."""

    @abstractmethod
    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        """The months of a year in order, without gaps."""


def require_range(system: CalendarSystem | DayNames, day: date) -> None:
    """Raise OutOfRange unless `day` lies in the validated range."""
    if not system.first <= day <= system.last:
        raise OutOfRange(
            f"{system.name}: {day} is out of range; the calendar is validated for "
            f"{system.first} to {system.last}"
        )


def consecutive(year: int, first: date, sizes: tuple[int, ...]) -> tuple[MonthSpan, ...]:
    """Months 1, 2, ... of `year`, one after the other from `first`, of these lengths in days."""
    spans = []
    ordinal = first.toordinal()
    for month, size in enumerate(sizes, start=1):
        opens = CalendarDate(year, month, 1)
        spans.append(MonthSpan(date.fromordinal(ordinal), opens, size, size))
        ordinal += size
    return tuple(spans)


def last_day(span: MonthSpan) -> date:
    """The Gregorian date of the last of a span's days."""
    return date.fromordinal(span.first.toordinal() + span.days - 1)


def clip(span: MonthSpan, first: date, last: date) -> MonthSpan | None:
    """The part of a month that lies in `first`..`last`, or None where there is none."""
    start, end = max(span.first, first), min(last_day(span), last)
    if start > end:
        return None
    if start == span.first and end == last_day(span):
        return span
    opens = span.opens
    number = opens.day + (start - span.first).days
    cut = CalendarDate(opens.year, opens.month, number, opens.leap_month, opens.era)
    return MonthSpan(start, cut, (end - start).days + 1, span.size)
