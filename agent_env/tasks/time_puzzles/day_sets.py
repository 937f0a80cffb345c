"""Which days satisfy a fact: C(t) of the paper's section 2.1, as bit sets."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import cached_property

from agent_env.tasks.time_puzzles.facts import (
    ANIMALS,
    SEASONS,
    SIGNS,
    WEEKDAYS,
    ChineseZodiac,
    DayOfMonthRange,
    DayOfMonthSpecific,
    DayOfYear,
    Decade,
    ExplicitYear,
    Fact,
    FirstDayOfMonth,
    KbEvent,
    LastDayOfMonth,
    LeapYear,
    LunarMonth,
    Month,
    MultiWeekday,
    OnWeekday,
    PersonAlive,
    RecurringEvent,
    Season,
    UsPresident,
    WeekdayInMonth,
    WeekdayInYear,
    WesternZodiac,
    YearRange,
)
from agent_env.temporal.days import DayRange, DaySet
from agent_env.temporal.facts.recurring import SUMMER_OLYMPICS, WORLD_CUPS
from agent_env.temporal.facts.tables import FactTables
from agent_env.temporal.systems.base import last_day
from agent_env.temporal.systems.chinese import Chinese

DAY = timedelta(days=1)
RECURRING = {"summer_olympics": SUMMER_OLYMPICS, "world_cup": WORLD_CUPS}


class DaySets:
    """The day set of any fact over one range; each is computed once."""

    def __init__(self, days: DayRange, tables: FactTables) -> None:
        self.days = days
        self._people = {row.person: row for row in tables.people}
        self._terms: dict[str, list[tuple[date, date | None]]] = {}
        for term in tables.presidents:
            self._terms.setdefault(term.person, []).append((term.start, term.end))
        self._events = {row.event: row for row in tables.events}
        self._cache: dict[Fact, DaySet] = {}

    def of(self, fact: Fact) -> DaySet:
        """The days of the range on which the fact holds; KeyError for an unknown name."""
        found = self._cache.get(fact)
        if found is None:
            found = self._cache[fact] = self._build(fact)
        return found

    def _build(self, fact: Fact) -> DaySet:
        match fact:
            case ExplicitYear(year=year):
                return self._years((year,))
            case Decade(decade=first):
                return self._years(range(first, first + 10))
            case YearRange(start=first, end=last):
                return self._years(range(first, last + 1))
            case LeapYear():
                return self._years(filter(calendar.isleap, self.days.years))
            case RecurringEvent(name=name):
                return self._years(RECURRING[name])
            case PersonAlive(person=person):
                life = self._people[person]
                return self.days.span(life.start + DAY, life.end - DAY)
            case UsPresident(person=person):
                return self._in_office(person)
            case ChineseZodiac(animal=animal):
                return self._zodiac[ANIMALS.index(animal)]
            case LunarMonth(month=month):
                return self._lunar_months[month]
            case Month(month=month):
                return self._months((month,))
            case Season(season=season):
                return self._months(SEASONS[season])
            case WesternZodiac(sign=sign):
                return self.days.those(d for d in self._all if _has_sign(d, sign))
            case KbEvent():
                return self._event(fact)
            case _:
                return self._day_level(fact)

    def _day_level(self, fact: Fact) -> DaySet:
        match fact:
            case OnWeekday(weekday=weekday):
                return self._weekdays((weekday,))
            case MultiWeekday(value=weekdays):
                return self._weekdays(weekdays)
            case DayOfMonthSpecific(day=number):
                return self._days_of_month[number]
            case FirstDayOfMonth():
                return self._days_of_month[1]
            case LastDayOfMonth():
                return self.days.those(d for d in self._all if (d + DAY).day == 1)
            case DayOfMonthRange(operator=operator, value=value):
                numbers = range(1, value) if operator == "<" else range(value + 1, 32)
                return _union(self._days_of_month[n] for n in numbers)
            case WeekdayInMonth(direction=direction, weekday=weekday, n=n):
                if direction == "first":
                    numbers = range(7 * n - 6, min(7 * n, 31) + 1)
                    return self.of(OnWeekday(weekday=weekday)) & _union(
                        self._days_of_month[k] for k in numbers
                    )
                return self.days.those(_nth_last_in_month(self.days.years, weekday, n))
            case DayOfYear(day=number):
                return self.days.those(_day_of_year(self.days.years, number))
            case WeekdayInYear(direction=direction, weekday=weekday, n=n):
                return self.days.those(_nth_in_year(self.days.years, direction, weekday, n))
        raise TypeError(f"no day set for {fact.type}")

    @cached_property
    def _all(self) -> list[date]:
        return [self.days.day(i) for i in range(len(self.days))]

    def _years(self, years: Iterable[int]) -> DaySet:
        return _union(self.days.year(year) for year in years)

    def _months(self, months: Iterable[int]) -> DaySet:
        return _union(self._by_month[month] for month in months)

    def _weekdays(self, weekdays: Iterable[str]) -> DaySet:
        return _union(self._by_weekday[WEEKDAYS.index(weekday)] for weekday in weekdays)

    @cached_property
    def _by_month(self) -> dict[int, DaySet]:
        spans: dict[int, DaySet] = dict.fromkeys(range(1, 13), 0)
        for year in self.days.years:
            for month in spans:
                last = calendar.monthrange(year, month)[1]
                spans[month] |= self.days.span(date(year, month, 1), date(year, month, last))
        return spans

    @cached_property
    def _by_weekday(self) -> list[DaySet]:
        size = len(self.days)
        week = ((1 << 7 * (size // 7 + 2)) - 1) // 127  # every seventh bit
        first = self.days.first.weekday()
        return [(week << ((w - first) % 7)) & self.days.everything for w in range(7)]

    @cached_property
    def _days_of_month(self) -> list[DaySet]:
        flags = [bytearray(b"0") * len(self.days) for _ in range(32)]
        for index, day in enumerate(self._all):
            flags[day.day][-1 - index] = 49
        return [int(row, 2) for row in flags]

    @cached_property
    def _lunar_months_in_order(self) -> list[tuple[date, date, int, int]]:
        """First day, last day, year and month of every Chinese month; a leap month has the
        number of the month before it."""
        return [
            (span.first, last_day(span), span.opens.year, span.opens.month)
            for span in Chinese().months_between(self.days.first, self.days.last)
        ]

    @cached_property
    def _lunar_months(self) -> dict[int, DaySet]:
        spans: dict[int, list[tuple[date, date]]] = {month: [] for month in range(1, 13)}
        for first, last, _, month in self._lunar_months_in_order:
            spans[month].append((first, last))
        return {month: self.days.spans(found) for month, found in spans.items()}

    @cached_property
    def _zodiac(self) -> dict[int, DaySet]:
        spans: dict[int, list[tuple[date, date]]] = {animal: [] for animal in range(12)}
        for first, last, year, _ in self._lunar_months_in_order:
            spans[(year - 4) % 12].append((first, last))
        return {animal: self.days.spans(found) for animal, found in spans.items()}

    def _in_office(self, person: str) -> DaySet:
        """Between the first and the last day of each term; an open term has no known last day."""
        return self.days.spans(
            (start + DAY, end - DAY) for start, end in self._terms[person] if end is not None
        )

    def _event(self, fact: KbEvent) -> DaySet:
        if fact.aspect == "multi_year":
            return self._years(self._events[fact.event].years)
        assert fact.value is not None
        if fact.level == "year":
            return self._years((fact.value,))
        if fact.level == "month":
            return self._months((fact.value,))
        return self._days_of_month[fact.value]


def _union(sets: Iterable[DaySet]) -> DaySet:
    result = 0
    for days in sets:
        result |= days
    return result


def _has_sign(day: date, sign: str) -> bool:
    first, last = SIGNS[sign]
    at = (day.month, day.day)
    return first <= at <= last if first <= last else at >= first or at <= last


def _nth_last_in_month(years: range, weekday: str, n: int) -> Iterator[date]:
    for year in years:
        for month in range(1, 13):
            last = date(year, month, calendar.monthrange(year, month)[1])
            back = (last.weekday() - WEEKDAYS.index(weekday)) % 7 + 7 * (n - 1)
            if back < last.day:
                yield last - timedelta(days=back)


def _day_of_year(years: range, number: int) -> Iterator[date]:
    for year in years:
        day = date(year, 1, 1) + timedelta(days=number - 1)
        if day.year == year:
            yield day


def _nth_in_year(years: range, direction: str, weekday: str, n: int) -> Iterator[date]:
    for year in years:
        if direction == "first":
            edge = date(year, 1, 1)
            day = edge + timedelta(
                days=(WEEKDAYS.index(weekday) - edge.weekday()) % 7 + 7 * (n - 1)
            )
        else:
            edge = date(year, 12, 31)
            day = edge - timedelta(
                days=(edge.weekday() - WEEKDAYS.index(weekday)) % 7 + 7 * (n - 1)
            )
        if day.year == year:
            yield day
