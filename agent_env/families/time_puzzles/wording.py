"""The wording of facts: implicit, as in a puzzle, and explicit, with their dates."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.extensions.facts.tables.event_names import day_of, years_of
from agent_env.extensions.facts.tables.tables import FactTables
from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import RECURRING, DaySets, years_held
from agent_env.temporal.days import DaySet
from agent_env.temporal.systems.catalogue import open_calendar

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


class Wording:
    """Words the facts of one set of tables."""

    def __init__(self, tables: FactTables, sets: DaySets) -> None:
        self._events = {row.event: row for row in tables.events}
        self._people = {row.person: row for row in tables.people}
        self._terms = tables.presidents
        self._sets = sets

    def implicit(self, fact: ft.Fact) -> str:
        """The constraint as in a puzzle."""
        match fact:
            case ft.ChineseZodiac(animal=animal):
                return (
                    f"In the Chinese calendar, the date falls in a year of the {animal} "
                    "(the year beginning at Chinese New Year)."
                )
            case ft.LunarMonth(month=month):
                return (
                    f"In the Chinese calendar, the date falls in lunar month {month} "
                    "(a leap month of that number included)."
                )
            case ft.CalendarMonth(calendar=name, month=month):
                title = CALENDAR_NAMES[name]
                month_name = open_calendar(name).months[month - 1]
                return f"In the {title}, the date falls in the month of {month_name}."
            case ft.JapaneseEra(era=era):
                return (
                    f"In Japan, the date falls in the {era} era (a day on which the era changed "
                    "belongs to the new one)."
                )
            case ft.ChurchDay(name=name):
                return f"The date is {name} of the western churches."
            case ft.SolarTerm(name=name):
                return (
                    f"On that date, by China Standard Time, the solar term {name} of the Chinese "
                    "calendar begins."
                )
            case ft.PersonAlive(person=person):
                return f"{person} was alive, the days of birth and death not counted."
            case ft.UsPresident(person=person):
                return (
                    f"{person} was President of the United States, the first and last day of "
                    "a term not counted."
                )
            case ft.RecurringEvent(name=name):
                return f"{_capital(GAMES[name])} took place in that year."
            case ft.KbEvent():
                return self._event(fact)
            case _:
                return _plain(fact)

    def explicit(self, fact: ft.Fact, listed: DaySet) -> str:
        """The constraint with its dates; a fact in SPELLED_OUT has the days `listed`."""
        match fact:
            case ft.ChineseZodiac() | ft.LunarMonth() | ft.CalendarMonth():
                return self._as_spans(listed)
            case ft.ChurchDay() | ft.SolarTerm():
                dates = ", ".join(map(str, self._sets.days.dates(listed)))
                return f"The date is one of these: {dates}."
            case ft.JapaneseEra():
                return self._as_spans(self._sets.of(fact))
            case ft.PersonAlive(person=person):
                life = self._people[person]
                return f"The date is after {life.start} and before {life.end}."
            case ft.UsPresident(person=person):
                terms = [
                    f"after {term.start} and before {term.end}"
                    for term in self._terms
                    if term.person == person and term.end is not None
                ]
                return f"The date is {', or '.join(terms)}."
            case ft.RecurringEvent(name=name):
                return _one_of_years(RECURRING[name])
            case ft.KbEvent(aspect="multi_year", event=event):
                return _one_of_years(years_held(self._events[event]))
            case ft.KbEvent(level="year", value=value):
                return f"The year is {value}."
            case ft.KbEvent(level="month", value=value):
                assert value is not None
                return f"The month is {ft.MONTHS[value - 1]}."
            case ft.KbEvent(value=value):
                return f"The day of the month is {value}."
            case _:
                return _plain(fact)

    def _event(self, fact: ft.KbEvent) -> str:
        row = self._events[fact.event]
        name = row.hint or row.event
        if fact.aspect == "multi_year":
            return years_of(name, row.kind)
        edge = "first" if fact.aspect == "start" else "last"
        what = {"year": "year", "month": "month", "day": "day of the month"}[fact.level]
        also = " (in any year)" if fact.level == "month" else ""
        return f"The {what} is the same as that of {day_of(name, edge)}{also}."

    def _as_spans(self, days: DaySet) -> str:
        texts = (f"{first} to {last}" for first, last in self._sets.days.runs(days))
        return f"The date falls in one of these spans (both ends included): {'; '.join(texts)}."


def _plain(fact: ft.Fact) -> str:
    """Constraints without a lookup; the same in both wordings."""
    match fact:
        case ft.ExplicitYear(year=year):
            return f"The year is {year}."
        case ft.Decade(decade=first):
            return f"The year lies in the {first}s ({first} to {first + 9})."
        case ft.YearRange(start=first, end=last):
            return f"The year is between {first} and {last}, both included."
        case ft.LeapYear():
            return "The year is a leap year."
        case ft.Month(month=month):
            return f"The month is {ft.MONTHS[month - 1]}."
        case ft.Season(season=season):
            return f"The season is {season}."
        case ft.WesternZodiac(sign=sign):
            (m1, d1), (m2, d2) = ft.SIGNS[sign]
            span = f"{d1} {ft.MONTHS[m1 - 1]} to {d2} {ft.MONTHS[m2 - 1]}"
            return f"The date falls under the western zodiac sign {sign}, taken as {span}."
        case _:
            return _plain_day(fact)


def _plain_day(fact: ft.Fact) -> str:
    match fact:
        case ft.OnWeekday(weekday=weekday):
            return f"The date is a {weekday}."
        case ft.MultiWeekday(value=weekdays):
            return f"The date is one of these weekdays: {', '.join(weekdays)}."
        case ft.DayOfMonthSpecific(day=day):
            return f"The day of the month is {day}."
        case ft.FirstDayOfMonth():
            return "The date is the first day of its month."
        case ft.LastDayOfMonth():
            return "The date is the last day of its month."
        case ft.DayOfMonthRange(operator=operator, value=value):
            word = "less" if operator == "<" else "greater"
            return f"The day of the month is {word} than {value}."
        case ft.WeekdayInMonth(direction=direction, weekday=weekday, n=n):
            return f"The date is the {_nth(n, direction)} {weekday} of its month."
        case ft.DayOfYear(day=day):
            return f"The date is day {day} of its year, 1 January being day 1."
        case ft.WeekdayInYear(direction=direction, weekday=weekday, n=n):
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
