"""Day sets of all that recurs: in the Gregorian calendar, other calendars' months and named days;
and the years of recurring events, as they were really held.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property, lru_cache

from agent_env.temporal.days import DayRange, DaySet
from agent_env.temporal.systems.base import MonthSpan, last_day
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names


@lru_cache(maxsize=4)
def patterns_over(days: DayRange) -> Patterns:
    """The patterns of a range, built once per process."""
    return Patterns(days)


class Patterns:
    """Day sets by weekday, month, day of the month and day of the year, over whole years.

    Each family is built once, when it is first asked for.
    """

    def __init__(self, days: DayRange) -> None:
        if (days.first.month, days.first.day, days.last.month, days.last.day) != (1, 1, 12, 31):
            raise ValueError(f"{days.first} to {days.last} is not a range of whole years")
        self.days = days

    def years(self, years: Iterable[int]) -> DaySet:
        """The days of these years, as far as they lie in the range."""
        return union(self.days.year(year) for year in years)

    def months(self, months: Iterable[int]) -> DaySet:
        """The days of these months, 1 to 12, of every year."""
        return union(self._month[month] for month in months)

    def weekdays(self, weekdays: Iterable[int]) -> DaySet:
        """The days that are one of these weekdays, Monday being 0."""
        return union(self._weekday[weekday] for weekday in weekdays)

    def days_of_month(self, numbers: Iterable[int]) -> DaySet:
        """The days with one of these numbers, counted from the month's first day, 1."""
        return union(self._number[number] for number in numbers)

    def days_from_month_end(self, numbers: Iterable[int]) -> DaySet:
        """The same, counted from the month's last day, 1."""
        return union(self._number_back[number] for number in numbers)

    def days_of_year(self, numbers: Iterable[int]) -> DaySet:
        """The days with one of these numbers, 1 January being 1; 366 exists in leap years."""
        return union(self._day_of_year(number) for number in numbers)

    def days_from_year_end(self, numbers: Iterable[int]) -> DaySet:
        """The same, counted back from 31 December, 1."""
        return union(self._day_from_end(number) for number in numbers)

    def month_days(self, first: tuple[int, int], last: tuple[int, int]) -> DaySet:
        """Every year's days from one (month, day) to another, over the turn of the year too."""
        spans = []
        for year in range(self.days.first.year - 1, self.days.last.year + 1):
            spans.append((date(year, *first), date(year + (last < first), *last)))
        return self.days.spans(spans)

    @cached_property
    def leap_years(self) -> DaySet:
        """The days of leap years."""
        return self.years(filter(calendar.isleap, self.days.years))

    def _day_of_year(self, number: int) -> DaySet:
        first = self._new_years & self.leap_years if number == 366 else self._new_years
        return first << (number - 1)

    def _day_from_end(self, number: int) -> DaySet:
        last = self._new_years_eves & self.leap_years if number == 366 else self._new_years_eves
        return last >> (number - 1)

    @cached_property
    def _new_years(self) -> DaySet:
        return self.days.those(date(year, 1, 1) for year in self.days.years)

    @cached_property
    def _new_years_eves(self) -> DaySet:
        return self.days.those(date(year, 12, 31) for year in self.days.years)

    @cached_property
    def _month(self) -> dict[int, DaySet]:
        spans_by_month: dict[int, list[tuple[date, date]]] = {month: [] for month in range(1, 13)}
        for first, size in self._month_spans():
            spans_by_month[first.month].append((first, first.replace(day=size)))
        return {month: self.days.spans(spans) for month, spans in spans_by_month.items()}

    @cached_property
    def _number(self) -> dict[int, DaySet]:
        firsts: dict[int, list[date]] = {size: [] for size in range(28, 32)}
        for first, size in self._month_spans():
            firsts[size].append(first)
        by_size = {size: self.days.those(days) for size, days in firsts.items()}
        return {
            number: union(days for size, days in by_size.items() if number <= size) << (number - 1)
            for number in range(1, 32)
        }

    @cached_property
    def _number_back(self) -> dict[int, DaySet]:
        lasts: dict[int, list[date]] = {size: [] for size in range(28, 32)}
        for first, size in self._month_spans():
            lasts[size].append(first.replace(day=size))
        by_size = {size: self.days.those(days) for size, days in lasts.items()}
        return {
            number: union(days for size, days in by_size.items() if number <= size) >> (number - 1)
            for number in range(1, 32)
        }

    @cached_property
    def _weekday(self) -> list[DaySet]:
        size = len(self.days)
        every_seventh = ((1 << 7 * (size // 7 + 2)) - 1) // 127
        first = self.days.first.weekday()
        return [(every_seventh << ((w - first) % 7)) & self.days.everything for w in range(7)]

    def _month_spans(self) -> Iterator[tuple[date, int]]:
        for year in self.days.years:
            for month in range(1, 13):
                yield date(year, month, 1), calendar.monthrange(year, month)[1]


def union(sets: Iterable[DaySet]) -> DaySet:
    result = 0
    for days in sets:
        result |= days
    return result


@lru_cache(maxsize=4)
def calendars_over(days: DayRange) -> CalendarSets:
    """The months and named days of a range, built once per process."""
    return CalendarSets(days)


class CalendarSets:
    """The days of other calendars' months and of named days, over one range of whole years."""

    def __init__(self, days: DayRange) -> None:
        self.days = days
        self._months: dict[str, dict[int, DaySet]] = {}
        self._named: dict[str, dict[str, DaySet]] = {}

    @cached_property
    def chinese_months(self) -> tuple[MonthSpan, ...]:
        """Every Chinese month in the range and the calendar's validated range."""
        return self._month_spans("chinese")

    @cached_property
    def lunar_months(self) -> dict[int, DaySet]:
        """By number; a leap month has the number of the month before it."""
        return self._by_month(self.chinese_months, 12)

    @cached_property
    def zodiac(self) -> dict[int, DaySet]:
        """The days of the years of each animal, Rat being 0."""
        spans: dict[int, list[tuple[date, date]]] = {animal: [] for animal in range(12)}
        for span in self.chinese_months:
            spans[(span.opens.year - 4) % 12].append((span.first, last_day(span)))
        return {animal: self.days.spans(bounds) for animal, bounds in spans.items()}

    def months(self, calendar: str) -> dict[int, DaySet]:
        """By number."""
        months = self._months.get(calendar)
        if months is None:
            months = self._months[calendar] = self._by_month(self._month_spans(calendar), 13)
        return months

    def named(self, system: str) -> dict[str, DaySet]:
        """By the day's name."""
        named_days = self._named.get(system)
        if named_days is None:
            names = open_day_names(system)
            days: dict[str, list[date]] = {name: [] for name in names.names}
            first, last = max(self.days.first, names.first), min(self.days.last, names.last)
            for day, name in names.days_between(first, last):
                days[name].append(day)
            named_days = self._named[system] = {
                name: self.days.those(d) for name, d in days.items()
            }
        return named_days

    def _month_spans(self, calendar: str) -> tuple[MonthSpan, ...]:
        system = open_calendar(calendar)
        first, last = max(self.days.first, system.first), min(self.days.last, system.last)
        return tuple(system.months_between(first, last)) if first <= last else ()

    def _by_month(self, months: tuple[MonthSpan, ...], count: int) -> dict[int, DaySet]:
        spans: dict[int, list[tuple[date, date]]] = {n: [] for n in range(1, count + 1)}
        for span in months:
            spans[span.opens.month].append((span.first, last_day(span)))
        return {month: self.days.spans(bounds) for month, bounds in spans.items()}


SUMMER_OLYMPICS = (
    1896, 1900, 1904, 1908, 1912, 1920, 1924, 1928, 1932, 1936, 1948, 1952, 1956, 1960, 1964,
    1968, 1972, 1976, 1980, 1984, 1988, 1992, 1996, 2000, 2004, 2008, 2012, 2016, 2021, 2024,
)  # fmt: skip
"""Years in which the modern Summer Olympic Games took place; the Games named 2020 took place in
2021. Source: "Summer Olympic Games", an encyclopedia article."""

WORLD_CUPS = (
    1930, 1934, 1938, 1950, 1954, 1958, 1962, 1966, 1970, 1974, 1978, 1982, 1986, 1990, 1994,
    1998, 2002, 2006, 2010, 2014, 2018, 2022, 2026,
)  # fmt: skip
"""Years of the men's football World Cup finals. Source: "FIFA World Cup"."""

WOMENS_WORLD_CUPS = (1991, 1995, 1999, 2003, 2007, 2011, 2015, 2019, 2023)
"""Years of the women's football World Cup finals. Source: "FIFA Women's World Cup"."""
