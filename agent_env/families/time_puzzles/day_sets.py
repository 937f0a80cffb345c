"""The days that satisfy a fact: C(t) of the paper's section 2.1, as bit sets; and its other
readings, which do not change the answer of a robust puzzle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta

from agent_env.extensions.facts.tables.tables import EventRow, FactTables
from agent_env.families.time_puzzles import facts as ft
from agent_env.temporal.days import DayRange, DaySet
from agent_env.temporal.patterns import (
    SUMMER_OLYMPICS,
    WOMENS_WORLD_CUPS,
    WORLD_CUPS,
    calendars_over,
    patterns_over,
)
from agent_env.temporal.systems.base import last_day
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names
from agent_env.temporal.systems.chinese import Chinese
from agent_env.temporal.systems.japanese import ERAS

DAY = timedelta(days=1)
RECURRING = {"summer_olympics": SUMMER_OLYMPICS, "world_cup": WORLD_CUPS}


class DaySets:
    """The day set of any fact over one range of whole years; each is computed once.

    Days outside a calendar's validated range are in `unknown`, not in `of`: the fact may hold on
    `of(fact) | unknown(fact)`.
    """

    def __init__(self, days: DayRange, tables: FactTables) -> None:
        self.days = days
        self.patterns = patterns_over(days)
        self.calendars = calendars_over(days)
        self.people = {row.person: row for row in tables.people}
        self.events: dict[str, EventRow] = {row.event: row for row in tables.events}
        self.terms: dict[str, list[tuple[date, date | None]]] = defaultdict(list)
        for term in tables.presidents:
            self.terms[term.person].append((term.start, term.end))
        self._cache: dict[ft.Fact, DaySet] = {}

    def of(self, fact: ft.Fact) -> DaySet:
        """The days of the range on which the fact holds; KeyError for an unknown name."""
        days = self._cache.get(fact)
        if days is None:
            days = self._cache[fact] = self._build(fact)
        return days

    def unknown(self, fact: ft.Fact) -> DaySet:
        """The days of the range on which it is unknown whether the fact holds."""
        match fact:
            case ft.LunarMonth(month=month) if not 1 <= month <= 12:
                return 0
            case ft.ChineseZodiac() | ft.LunarMonth():
                return self._outside(Chinese.first, Chinese.last)
            case ft.CalendarMonth(calendar=name):
                system = open_calendar(name)
                return self._outside(system.first, system.last)
            case ft.SolarTerm():
                terms = open_day_names("solar-terms")
                return self._outside(terms.first, terms.last) | self.days.those(terms.unsettled)
            case ft.JapaneseEra(era="Meiji"):
                return self._outside(ERAS[0].first, self.days.last)
        return self.open_end(fact)

    def open_end(self, fact: ft.Fact) -> DaySet:
        """The days of a term or an event that its table knows no end of, from the last day that
        the table knows; whether the fact holds on them is unknown."""
        match fact:
            case ft.UsPresident(person=person):
                starts = [start for start, end in self.terms.get(person, ()) if end is None]
                return self.days.spans((start, self.days.last) for start in starts)
            case ft.KbEvent(event=event, aspect="multi_year"):
                row = self.events.get(event)
                if row is None or row.start is None or row.end is not None:
                    return 0
                known_years = (*row.years, row.start.year, row.now.year if row.now else 0)
                return self.days.span(date(max(known_years), 12, 31) + DAY, self.days.last)
        return 0

    def _outside(self, first: date, last: date) -> DaySet:
        return self.days.everything & ~self.days.span(first, last)

    def _build(self, fact: ft.Fact) -> DaySet:
        match fact:
            case ft.ExplicitYear(year=year):
                return self.days.year(year)
            case ft.Decade(decade=first):
                return self.days.span(date(first, 1, 1), date(first + 9, 12, 31))
            case ft.YearRange(start=first, end=last):
                return self.days.span(date(first, 1, 1), date(last, 12, 31))
            case ft.LeapYear():
                return self.patterns.leap_years
            case ft.RecurringEvent(name=name):
                return self.patterns.years(RECURRING[name])
            case ft.PersonAlive(person=person):
                life = self.people[person]
                return self.days.span(life.start + DAY, life.end - DAY)
            case ft.UsPresident(person=person):
                return self._in_office(person)
            case ft.JapaneseEra(era=era):
                return self._era(era)
            case ft.ChineseZodiac(animal=animal):
                return self.calendars.zodiac[ft.ANIMALS.index(animal)]
            case ft.KbEvent():
                return self._event(fact)
        return self._month_level(fact)

    def _month_level(self, fact: ft.Fact) -> DaySet:
        match fact:
            case ft.Month(month=month):
                return self.patterns.months((month,))
            case ft.Season(season=season):
                return self.patterns.months(ft.SEASONS[season])
            case ft.WesternZodiac(sign=sign):
                return self.patterns.month_days(*ft.SIGNS[sign])
            case ft.LunarMonth(month=month):
                return self.calendars.lunar_months.get(month, 0)
            case ft.CalendarMonth(calendar=name, month=month):
                return self.calendars.months(name)[month]
        return self._day_level(fact)

    def _day_level(self, fact: ft.Fact) -> DaySet:
        patterns = self.patterns
        match fact:
            case ft.OnWeekday(weekday=weekday):
                return patterns.weekdays((ft.WEEKDAYS.index(weekday),))
            case ft.MultiWeekday(value=weekdays):
                return patterns.weekdays(ft.WEEKDAYS.index(weekday) for weekday in weekdays)
            case ft.DayOfMonthSpecific(day=number):
                return patterns.days_of_month((number,))
            case ft.FirstDayOfMonth():
                return patterns.days_of_month((1,))
            case ft.LastDayOfMonth():
                return patterns.days_from_month_end((1,))
            case ft.DayOfMonthRange(operator=operator, value=value):
                numbers = range(1, value) if operator == "<" else range(value + 1, 32)
                return patterns.days_of_month(numbers)
            case ft.DayOfYear(day=number):
                return patterns.days_of_year((number,))
            case ft.WeekdayInMonth(direction=direction, n=n):
                numbers = range(7 * n - 6, min(7 * n, 31) + 1)
                forward = direction == "first"
                count = patterns.days_of_month if forward else patterns.days_from_month_end
                return self._on(fact.weekday) & count(numbers)
            case ft.WeekdayInYear(direction=direction, n=n):
                numbers = range(7 * n - 6, min(7 * n, 366) + 1)
                forward = direction == "first"
                count = patterns.days_of_year if forward else patterns.days_from_year_end
                return self._on(fact.weekday) & count(numbers)
            case ft.ChurchDay(name=name):
                return self.calendars.named("easter")[name]
            case ft.SolarTerm(name=name):
                return self.calendars.named("solar-terms")[name]
        raise TypeError(f"no day set for {fact.type}")

    def _on(self, weekday: str) -> DaySet:
        return self.patterns.weekdays((ft.WEEKDAYS.index(weekday),))

    def _in_office(self, person: str) -> DaySet:
        """Days strictly inside a term; terms without an end do not count."""
        return self.days.spans(
            (start + DAY, end - DAY) for start, end in self.terms[person] if end is not None
        )

    def _era(self, name: str) -> DaySet:
        names = [era.name for era in ERAS]
        at = names.index(name)
        last = ERAS[at + 1].first - DAY if at + 1 < len(ERAS) else self.days.last
        return self.days.span(ERAS[at].first, last)

    def _event(self, fact: ft.KbEvent) -> DaySet:
        if fact.aspect == "multi_year":
            return self.patterns.years(fact.years or years_held(self.events[fact.event]))
        assert fact.value is not None
        if fact.level == "year":
            return self.days.year(fact.value)
        if fact.level == "month":
            return self.patterns.months((fact.value,))
        return self.patterns.days_of_month((fact.value,))


def years_held(row: EventRow) -> tuple[int, ...]:
    """Every year of the event: as listed, or from its first to its last day."""
    if row.years or row.start is None or row.end is None:
        return row.years
    return tuple(range(row.start.year, row.end.year + 1))


class Readings:
    """Day sets of alternative readings."""

    def __init__(self, sets: DaySets) -> None:
        self._sets = sets
        self._cache: dict[ft.Fact, tuple[tuple[str, DaySet], ...]] = {}

    def others(self, fact: ft.Fact) -> tuple[tuple[str, DaySet], ...]:
        """Name and day set of each alternative reading."""
        readings = self._cache.get(fact)
        if readings is None:
            readings = self._cache[fact] = (*self._others(fact), *self._open_end(fact))
        return readings

    def _others(self, fact: ft.Fact) -> Iterator[tuple[str, DaySet]]:
        days, patterns = self._sets.days, self._sets.patterns
        match fact:
            case ft.LunarMonth(month=month):
                yield "leap_month", self._without_leap(month)
            case ft.ChineseZodiac(animal=animal):
                yield "zodiac_year_start", self._by_lichun(animal)
            case ft.PersonAlive(person=person):
                life = self._sets.people[person]
                yield "boundary_days", days.span(life.start, life.end)
            case ft.UsPresident(person=person):
                terms = self._sets.terms[person]
                yield "boundary_days", days.spans((s, e) for s, e in terms if e is not None)
            case ft.RecurringEvent(name="summer_olympics"):
                years = RECURRING["summer_olympics"]
                yield "olympics_2020", patterns.years({*years, 2020} - {2021})
                yield "olympics_2020_too", patterns.years({*years, 2020})
                yield "planned", patterns.years({*years, *range(2028, days.last.year + 1, 4)})
            case ft.RecurringEvent(name="world_cup"):
                years = RECURRING["world_cup"]
                yield "womens_cup", patterns.years({*years, *WOMENS_WORLD_CUPS})
                yield "planned", patterns.years({*years, *range(2030, days.last.year + 1, 4)})
            case ft.Decade(decade=first):
                yield "decade_from_1", days.span(date(first + 1, 1, 1), date(first + 10, 12, 31))
                if first % 100 == 0:
                    yield "century", days.span(date(first, 1, 1), date(first + 99, 12, 31))

    def _open_end(self, fact: ft.Fact) -> Iterator[tuple[str, DaySet]]:
        if open_days := self._sets.open_end(fact):
            yield "open_end", self._sets.of(fact) | open_days

    def _without_leap(self, month: int) -> DaySet:
        return self._sets.days.spans(
            (span.first, last_day(span))
            for span in self._sets.calendars.chinese_months
            if span.opens.month == month and not span.opens.leap_month
        )

    def _by_lichun(self, animal: str) -> DaySet:
        return self._sets.days.spans(Chinese().animal_years(animal, by_lichun=True))
