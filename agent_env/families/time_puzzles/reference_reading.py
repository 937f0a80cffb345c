"""What the reference policy reads in a prompt: clauses to compute with, and lookups."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Literal

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.texts.grammar import compile_text
from agent_env.families.time_puzzles.texts.meanings import (
    DateSpans,
    EventMention,
    Meaning,
    YearRule,
    YearSet,
)
from agent_env.temporal.days import PUZZLE_DAYS, DayRange
from agent_env.temporal.facts.recurring import SUMMER_OLYMPICS, WORLD_CUPS

Clause = list[Any]
"""A kind and its values, as `reference_sums` computes with them."""

CALENDARS = (ft.CalendarMonth, ft.JapaneseEra, ft.ChurchDay, ft.SolarTerm)
"""Facts of calendars that the policy spells out before it computes."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A fact to look up."""

    what: Literal["event", "life", "presidency"]
    phrase: str
    shares: Literal["year", "month", "day", "span"]
    """What the date has in common with it; `span`: it lies between the two ends."""
    edge: Literal["first", "last", "any"] = "any"


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """The parsed constraints of a prompt."""

    first: str
    last: str
    clauses: tuple[Clause, ...]
    lookups: tuple[Lookup, ...]
    unread: tuple[str, ...]
    """Constraints of unknown form."""
    announced: bool = True
    """Whether a line says that constraints follow."""


def read_prompt(text: str) -> ParsedPrompt:
    """The constraints of a prompt: the list items below the line that announces them. Without such
    a line, a list of mostly unknown items is not one of constraints."""
    span = re.search(r"(\d{4})-01-01 to (\d{4})-12-31 count", text)
    days = PUZZLE_DAYS
    if span:
        days = DayRange(date(int(span[1]), 1, 1), date(int(span[2]), 12, 31))
    clauses: list[Clause] = []
    lookups: list[Lookup] = []
    unread: list[str] = []
    announced, items = _items(text)
    for item in items:
        constraint = read_constraint(item, days)
        if isinstance(constraint, Lookup):
            lookups.append(constraint)
        elif constraint is not None:
            clauses.append(constraint)
        else:
            unread.append(item)
    if not announced and 2 * len(unread) > len(items):
        clauses, lookups = [], []
    return ParsedPrompt(
        str(days.first), str(days.last), tuple(clauses), tuple(lookups), tuple(unread), announced
    )


def _items(text: str) -> tuple[bool, list[str]]:
    """Whether a line announces the items, and these."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if _announces(line.rstrip().lower())]
    below = lines[starts[-1] + 1 :] if starts else lines
    items: list[str] = []
    for line in below:
        if (match := re.match(r"\s*+(?:[-*•]|\d++[.)])\s++(\S(?:.*\S)?)", line)) is not None:
            items.append(match[1])
        elif items:
            break
    return bool(starts), items


def _announces(line: str) -> bool:
    """Whether a line says that constraints follow."""
    return line.endswith(":") and "constraints" in line


def read_constraint(text: str, days: DayRange = PUZZLE_DAYS) -> Clause | Lookup | None:
    """One constraint, parsed; None for an unknown form. `days`: where calendars are spelled out."""
    meaning = compile_text(text)
    if meaning is None:
        return None
    return _lookup(meaning) or _year_clause(meaning) or _day_clause(meaning, days)


def _lookup(meaning: Meaning) -> Lookup | None:
    match meaning:
        case ft.PersonAlive(person=person):
            return Lookup("life", person, "span")
        case ft.UsPresident(person=person):
            return Lookup("presidency", person, "span")
        case EventMention(phrase=phrase, edge=edge, level=level):
            inner = compile_text(phrase)
            if isinstance(inner, ft.PersonAlive):
                return Lookup("life", inner.person, level, edge)
            if isinstance(inner, ft.UsPresident):
                return Lookup("presidency", inner.person, level, edge)
            return Lookup("event", phrase, level, edge)
    return None


def _year_clause(meaning: Meaning) -> Clause | None:
    match meaning:
        case ft.ExplicitYear(year=year):
            return ["years", [year]]
        case ft.Decade(decade=first):
            return ["years", list(range(first, first + 10))]
        case ft.YearRange(start=first, end=last):
            return ["years", list(range(first, last + 1))]
        case YearSet(years=years):
            return ["years", list(years)]
        case YearRule():
            rule = meaning
            values = rule.modulus, rule.remainder, rule.first, rule.last, list(rule.exceptions)
            return ["year_rule", *values]
        case ft.LeapYear():
            return ["leap"]
        case ft.RecurringEvent(name=name):
            return ["years", list(SUMMER_OLYMPICS if name == "summer_olympics" else WORLD_CUPS)]
        case ft.ChineseZodiac(animal=animal):
            return ["zodiac", ft.ANIMALS.index(animal)]
        case ft.Month(month=month):
            return ["months", [month]]
        case ft.Season(season=season):
            return ["months", list(ft.SEASONS[season])]
        case ft.LunarMonth(month=month):
            return ["lunar_months", [month]]
        case ft.WesternZodiac(sign=sign):
            return ["month_days", *map(list, ft.SIGNS[sign])]
    return None


def _day_clause(meaning: Meaning, days: DayRange) -> Clause:
    match meaning:
        case ft.OnWeekday(weekday=weekday):
            return ["weekdays", [ft.WEEKDAYS.index(weekday)]]
        case ft.MultiWeekday(value=weekdays):
            return ["weekdays", [ft.WEEKDAYS.index(weekday) for weekday in weekdays]]
        case ft.WeekdayInMonth() | ft.WeekdayInYear():
            kind = "nth_in_month" if isinstance(meaning, ft.WeekdayInMonth) else "nth_in_year"
            number = ft.WEEKDAYS.index(meaning.weekday)
            return [kind, number, meaning.n, meaning.direction == "last"]
        case ft.DayOfMonthSpecific(day=day):
            return ["days", [day]]
        case ft.FirstDayOfMonth():
            return ["days", [1]]
        case ft.LastDayOfMonth():
            return ["last_day"]
        case ft.DayOfMonthRange(operator=operator, value=value):
            return ["days", list(range(1, value) if operator == "<" else range(value + 1, 32))]
        case ft.DayOfYear(day=day):
            return ["day_of_year", day]
        case DateSpans(spans=spans, ends=ends):
            texts = [(str(first), str(last)) for first, last in spans]
            return ["spans", [inside(*t) if ends == "excluded" else list(t) for t in texts]]
    assert isinstance(meaning, CALENDARS)
    return ["spans", [list(span) for span in _calendar_spans(meaning, days)]]


@lru_cache(maxsize=256)
def _calendar_spans(fact: ft.Fact, days: DayRange) -> tuple[tuple[str, str], ...]:
    """The fact's days as spans, both ends included; no table of facts has a part in it."""
    from agent_env.families.time_puzzles.day_sets import DaySets
    from agent_env.temporal.facts.tables import FactTables

    sets = DaySets(days, FactTables((), (), ()))
    return tuple((str(first), str(last)) for first, last in days.runs(sets.of(fact)))


def inside(low: str, high: str) -> list[str]:
    """The days strictly between two, as a span with both ends included."""
    day = timedelta(days=1)
    return [str(date.fromisoformat(low) + day), str(date.fromisoformat(high) - day)]
