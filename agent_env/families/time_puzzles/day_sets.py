"""The days that satisfy a fact: C(t) of the paper's section 2.1, as bit sets; and its other
readings, which do not change the answer of a robust puzzle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

from agent_env.families.time_puzzles import facts as ft
from agent_env.features.facts.tables.tables import EventRow, FactTables, LifeRow
from agent_env.sdk.records import Record
from agent_env.temporal.days import DayRange, DaySet
from agent_env.temporal.patterns import WOMENS_WORLD_CUPS, calendars_over, patterns_over
from agent_env.temporal.systems.base import last_day
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names
from agent_env.temporal.systems.chinese import Chinese
from agent_env.temporal.systems.japanese import ERAS

DAY = timedelta(days=1)


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
            build: Callable[[DaySets, Any], DaySet] | None = _DAYS.get(type(fact))
            if build is None:
                raise TypeError(f"no day set for {fact.type}")
            days = self._cache[fact] = build(self, fact)
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

    def years(self, first: int, last: int) -> DaySet:
        return self.days.span(date(first, 1, 1), date(last, 12, 31))

    def nth_weekdays(self, fact: ft.WeekdayInMonth | ft.WeekdayInYear) -> DaySet:
        """The weekday of that number, counted from either end of its month or year."""
        is_forward, patterns = fact.direction == "first", self.patterns
        if isinstance(fact, ft.WeekdayInMonth):
            most, count = 31, patterns.days_of_month if is_forward else patterns.days_from_month_end
        else:
            most, count = 366, patterns.days_of_year if is_forward else patterns.days_from_year_end
        numbers = range(7 * fact.n - 6, min(7 * fact.n, most) + 1)
        return self.on(fact.weekday) & count(numbers)

    def on(self, *weekdays: str) -> DaySet:
        return self.patterns.weekdays(map(ft.WEEKDAYS.index, weekdays))

    def alive(self, life: LifeRow) -> DaySet:
        """Days strictly between birth and death."""
        return self.days.span(life.start + DAY, life.end - DAY)

    def in_office(self, person: str) -> DaySet:
        """Days strictly inside a term; terms without an end do not count."""
        return self.days.spans(
            (start + DAY, end - DAY) for start, end in self.terms[person] if end is not None
        )

    def counted_from(self, fact: ft.Relative) -> DaySet:
        """The days of a span that is counted from a day; of a term those strictly inside it, and
        before the day."""
        today, back = date.fromisoformat(fact.today), fact.back
        match fact.unit:
            case "year":
                return self.years(today.year - back, today.year - back)
            case "month":
                year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
                after = date(year + (month == 11), (month + 1) % 12 + 1, 1)
                return self.days.span(date(year, month + 1, 1), after - DAY)
            case "week":
                monday = today - timedelta(today.weekday() + 7 * back)
                return self.days.span(monday, monday + 6 * DAY)
            case "weeks":
                return self.days.span(today - timedelta(7 * back), today - DAY)
        terms = sorted((start, end) for own in self.terms.values() for start, end in own)
        before = [term for term in terms if term[0] <= today]
        if len(before) <= back:
            raise KeyError(f"no US president so many before that of {today}")
        start, end = before[-1 - back]
        return self.days.span(start + DAY, min(end or today, today) - DAY)

    def in_era(self, name: str) -> DaySet:
        """From its first day to that before the next era."""
        names = [era.name for era in ERAS]
        at = names.index(name)
        last = ERAS[at + 1].first - DAY if at + 1 < len(ERAS) else self.days.last
        return self.days.span(ERAS[at].first, last)

    def of_event(self, fact: ft.KbEvent) -> DaySet:
        """Days that share the fact's year, month or day of the month with the event."""
        if fact.aspect == "multi_year":
            return self.patterns.years(fact.years or years_held(self.events[fact.event]))
        assert fact.value is not None
        if fact.level == "year":
            return self.years(fact.value, fact.value)
        if fact.level == "month":
            return self.patterns.months((fact.value,))
        return self.patterns.days_of_month((fact.value,))


_DAYS: dict[type[Record], Callable[[DaySets, Any], DaySet]] = {
    ft.ExplicitYear: lambda sets, fact: sets.years(fact.year, fact.year),
    ft.Decade: lambda sets, fact: sets.years(fact.decade, fact.decade + 9),
    ft.YearRange: lambda sets, fact: sets.years(fact.start, fact.end),
    ft.LeapYear: lambda sets, fact: sets.patterns.leap_years,
    ft.RecurringEvent: lambda sets, fact: sets.patterns.years(ft.RECURRING[fact.name]),
    ft.PersonAlive: lambda sets, fact: sets.alive(sets.people[fact.person]),
    ft.UsPresident: lambda sets, fact: sets.in_office(fact.person),
    ft.Relative: lambda sets, fact: sets.counted_from(fact),
    ft.JapaneseEra: lambda sets, fact: sets.in_era(fact.era),
    ft.ChineseZodiac: lambda sets, fact: sets.calendars.zodiac[ft.ANIMALS.index(fact.animal)],
    ft.KbEvent: lambda sets, fact: sets.of_event(fact),
    ft.Month: lambda sets, fact: sets.patterns.months((fact.month,)),
    ft.Season: lambda sets, fact: sets.patterns.months(ft.SEASONS[fact.season]),
    ft.WesternZodiac: lambda sets, fact: sets.patterns.month_days(*ft.SIGNS[fact.sign]),
    ft.LunarMonth: lambda sets, fact: sets.calendars.lunar_months.get(fact.month, 0),
    ft.CalendarMonth: lambda sets, fact: sets.calendars.months(fact.calendar)[fact.month],
    ft.OnWeekday: lambda sets, fact: sets.on(fact.weekday),
    ft.MultiWeekday: lambda sets, fact: sets.on(*fact.value),
    ft.WeekdayInMonth: lambda sets, fact: sets.nth_weekdays(fact),
    ft.WeekdayInYear: lambda sets, fact: sets.nth_weekdays(fact),
    ft.DayOfMonthSpecific: lambda sets, fact: sets.patterns.days_of_month((fact.day,)),
    ft.FirstDayOfMonth: lambda sets, fact: sets.patterns.days_of_month((1,)),
    ft.LastDayOfMonth: lambda sets, fact: sets.patterns.days_from_month_end((1,)),
    ft.DayOfMonthRange: lambda sets, fact: sets.patterns.days_of_month(fact.numbers),
    ft.DayOfYear: lambda sets, fact: sets.patterns.days_of_year((fact.day,)),
    ft.ChurchDay: lambda sets, fact: sets.calendars.named("easter")[fact.name],
    ft.SolarTerm: lambda sets, fact: sets.calendars.named("solar-terms")[fact.name],
}


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
        readings = self._cache.get(fact)
        if readings is None:
            readings = self._cache[fact] = tuple(self._others(fact))
        return readings

    def _others(self, fact: ft.Fact) -> Iterator[tuple[str, DaySet]]:
        days, patterns = self._sets.days, self._sets.patterns
        match fact:
            case ft.LunarMonth(month=month):
                yield "leap_month", self._without_leap(month)
            case ft.ChineseZodiac(animal=animal):
                yield (
                    "zodiac_year_start",
                    days.spans(Chinese().animal_years(animal, by_lichun=True)),
                )
            case ft.PersonAlive(person=person):
                life = self._sets.people[person]
                yield "boundary_days", days.span(life.start, life.end)
            case ft.UsPresident(person=person):
                terms = self._sets.terms[person]
                yield "boundary_days", days.spans((s, e) for s, e in terms if e is not None)
            case ft.RecurringEvent(name="summer_olympics"):
                years = ft.RECURRING["summer_olympics"]
                yield "olympics_2020", patterns.years({*years, 2020} - {2021})
                yield "olympics_2020_too", patterns.years({*years, 2020})
                yield "planned", patterns.years({*years, *range(2028, days.last.year + 1, 4)})
            case ft.RecurringEvent(name="world_cup"):
                years = ft.RECURRING["world_cup"]
                yield "womens_cup", patterns.years({*years, *WOMENS_WORLD_CUPS})
                yield "planned", patterns.years({*years, *range(2030, days.last.year + 1, 4)})
            case ft.Decade(decade=first):
                yield "decade_from_1", self._sets.years(first + 1, first + 10)
                if first % 100 == 0:
                    yield "century", self._sets.years(first, first + 99)
        if open_days := self._sets.open_end(fact):
            yield "open_end", self._sets.of(fact) | open_days

    def _without_leap(self, month: int) -> DaySet:
        return self._sets.days.spans(
            (span.first, last_day(span))
            for span in self._sets.calendars.chinese_months
            if span.opens.month == month and not span.opens.leap_month
        )
