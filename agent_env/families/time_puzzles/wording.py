"""Facts in words: implicit as a puzzle states them, explicit with their dates spelled out."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.families.time_puzzles.day_sets import RECURRING, DaySets, years_held
from agent_env.families.time_puzzles.facts import (
    MONTHS,
    SIGNS,
    CalendarMonth,
    ChineseZodiac,
    ChurchDay,
    DayOfMonthRange,
    DayOfMonthSpecific,
    DayOfYear,
    Decade,
    ExplicitYear,
    Fact,
    FirstDayOfMonth,
    JapaneseEra,
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
    SolarTerm,
    UsPresident,
    WeekdayInMonth,
    WeekdayInYear,
    WesternZodiac,
    YearRange,
)
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import FactTables
from agent_env.temporal.systems.catalogue import open_calendar

MAX_SPANS = 12
"""Spans of dates that one explicit constraint may list."""

MAX_YEARS = 13 * MAX_SPANS
"""More years than this cannot be spelled out: a fact holds in one year of twelve at least."""

CALENDAR_NAMES = {
    "hebrew": "Hebrew calendar",
    "islamic": "Islamic calendar (Umm al-Qura)",
    "persian": "Persian calendar (Solar Hijri)",
    "ethiopic": "Ethiopian calendar",
    "coptic": "Coptic calendar",
    "indian-civil": "Indian national calendar",
}

GAMES = {
    "summer_olympics": "the Summer Olympic Games",
    "world_cup": "the final tournament of the men's football World Cup",
}


class TooManySpans(ValueError):
    """A fact cannot be spelled out within MAX_SPANS."""


class Wording:
    """Puts the facts of one set of tables into words."""

    def __init__(self, tables: FactTables, sets: DaySets) -> None:
        self._events = {row.event: row for row in tables.events}
        self._people = {row.person: row for row in tables.people}
        self._terms = tables.presidents
        self._sets = sets

    def implicit(self, fact: Fact) -> str:
        """The constraint as a puzzle states it."""
        match fact:
            case ChineseZodiac(animal=animal):
                return (
                    f"In the Chinese calendar, the date falls in a year of the {animal} "
                    "(the year beginning at Chinese New Year)."
                )
            case LunarMonth(month=month):
                return (
                    f"In the Chinese calendar, the date falls in lunar month {month} "
                    "(a leap month of that number included)."
                )
            case CalendarMonth(calendar=name, month=month):
                title = CALENDAR_NAMES[name]
                month_name = open_calendar(name).months[month - 1]
                return f"In the {title}, the date falls in the month of {month_name}."
            case JapaneseEra(era=era):
                return (
                    f"In Japan, the date falls in the {era} era (a day on which the era changed "
                    "belongs to the new one)."
                )
            case ChurchDay(name=name):
                return f"The date is {name} of the western churches."
            case SolarTerm(name=name):
                return (
                    f"On that date, by China Standard Time, the solar term {name} of the Chinese "
                    "calendar begins."
                )
            case PersonAlive(person=person):
                return f"{person} was alive, the days of birth and death not counted."
            case UsPresident(person=person):
                return (
                    f"{person} was President of the United States, the first and last day of "
                    "a term not counted."
                )
            case RecurringEvent(name=name):
                return f"{_capital(GAMES[name])} took place in that year."
            case KbEvent():
                return self._event(fact)
            case _:
                return _plain(fact)

    def explicit(self, fact: Fact, others: DaySet) -> str:
        """The same constraint with its dates; `others` are the days that all other facts allow,
        in whose years a lunar fact is spelled out. Raises TooManySpans."""
        match fact:
            case ChineseZodiac() | LunarMonth() | CalendarMonth():
                return self._as_spans(fact, others)
            case ChurchDay() | SolarTerm():
                return self._as_dates(fact, others)
            case JapaneseEra():
                first, last = self._sets.days.runs(self._sets.of(fact))[0]
                return (
                    f"The date falls in one of these spans (both ends included): {first} to {last}."
                )
            case PersonAlive(person=person):
                life = self._people[person]
                return f"The date is after {life.start} and before {life.end}."
            case UsPresident(person=person):
                terms = [
                    f"after {term.start} and before {term.end}"
                    for term in self._terms
                    if term.person == person and term.end is not None
                ]
                return f"The date is {', or '.join(terms)}."
            case RecurringEvent(name=name):
                return _one_of_years(RECURRING[name])
            case KbEvent(aspect="multi_year", event=event):
                return _one_of_years(years_held(self._events[event]))
            case KbEvent(level="year", value=value):
                return f"The year is {value}."
            case KbEvent(level="month", value=value):
                assert value is not None
                return f"The month is {MONTHS[value - 1]}."
            case KbEvent(value=value):
                return f"The day of the month is {value}."
            case _:
                return _plain(fact)

    def _event(self, fact: KbEvent) -> str:
        row = self._events[fact.event]
        name = row.hint or row.event
        if fact.aspect == "multi_year":
            return f"The year is one of those in which {name} took place, in whole or in part."
        edge = "first" if fact.aspect == "start" else "last"
        what = {"year": "year", "month": "month", "day": "day of the month"}[fact.level]
        also = " (in any year)" if fact.level == "month" else ""
        return f"The {what} is the same as that of the {edge} day of {name}{also}."

    def _as_spans(self, fact: Fact, others: DaySet) -> str:
        """The fact's days in every year that the other facts leave, as spans of dates."""
        days = self._sets.days
        spans = days.runs(self._sets.of(fact) & self._years_of(others))
        if len(spans) > MAX_SPANS:
            raise TooManySpans(f"{fact.type} takes {len(spans)} spans")
        texts = (f"{first} to {last}" for first, last in spans)
        return f"The date falls in one of these spans (both ends included): {'; '.join(texts)}."

    def _as_dates(self, fact: Fact, others: DaySet) -> str:
        """The fact's single days in every year that the other facts leave."""
        found = list(self._sets.days.dates(self._sets.of(fact) & self._years_of(others)))
        if len(found) > MAX_SPANS:
            raise TooManySpans(f"{fact.type} takes {len(found)} dates")
        return f"The date is one of these: {', '.join(map(str, found))}."

    def _years_of(self, days: DaySet) -> DaySet:
        """The years of a set, all their days; TooManySpans where they are very many."""
        years = 0
        for _ in range(MAX_YEARS):
            if not days:
                return years
            low = (days & -days).bit_length() - 1
            year = self._sets.days.year(self._sets.days.day(low).year)
            years |= year
            days &= ~year
        raise TooManySpans(f"the other facts leave more than {MAX_YEARS} years")


def _plain(fact: Fact) -> str:
    """Constraints that need no looking up; the same in both wordings."""
    match fact:
        case ExplicitYear(year=year):
            return f"The year is {year}."
        case Decade(decade=first):
            return f"The year lies in the {first}s ({first} to {first + 9})."
        case YearRange(start=first, end=last):
            return f"The year is between {first} and {last}, both included."
        case LeapYear():
            return "The year is a leap year."
        case Month(month=month):
            return f"The month is {MONTHS[month - 1]}."
        case Season(season=season):
            return f"The season is {season}."
        case WesternZodiac(sign=sign):
            (m1, d1), (m2, d2) = SIGNS[sign]
            span = f"{d1} {MONTHS[m1 - 1]} to {d2} {MONTHS[m2 - 1]}"
            return f"The date falls under the western zodiac sign {sign}, taken as {span}."
        case _:
            return _plain_day(fact)


def _plain_day(fact: Fact) -> str:
    match fact:
        case OnWeekday(weekday=weekday):
            return f"The date is a {weekday}."
        case MultiWeekday(value=weekdays):
            return f"The date is one of these weekdays: {', '.join(weekdays)}."
        case DayOfMonthSpecific(day=day):
            return f"The day of the month is {day}."
        case FirstDayOfMonth():
            return "The date is the first day of its month."
        case LastDayOfMonth():
            return "The date is the last day of its month."
        case DayOfMonthRange(operator=operator, value=value):
            word = "less" if operator == "<" else "greater"
            return f"The day of the month is {word} than {value}."
        case WeekdayInMonth(direction=direction, weekday=weekday, n=n):
            return f"The date is the {_nth(n, direction)} {weekday} of its month."
        case DayOfYear(day=day):
            return f"The date is day {day} of its year, 1 January being day 1."
        case WeekdayInYear(direction=direction, weekday=weekday, n=n):
            return f"The date is the {_nth(n, direction)} {weekday} of its year."
    raise TypeError(f"no wording for {fact.type}")


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, … 11th, … 21st."""
    if n % 100 in (11, 12, 13):
        return f"{n}th"
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }"


def _nth(n: int, direction: str) -> str:
    if direction == "first":
        return ordinal(n)
    return "last" if n == 1 else f"{ordinal(n)}-to-last"


def _one_of_years(years: Sequence[int]) -> str:
    if len(years) > 2 and years[-1] - years[0] == len(years) - 1:
        return f"The year is between {years[0]} and {years[-1]}, both included."
    return f"The year is one of {', '.join(map(str, years))}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
