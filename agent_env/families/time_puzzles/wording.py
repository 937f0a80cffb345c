"""The wording of facts: implicit, as in a puzzle, and explicit, with their dates."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets, years_held
from agent_env.families.time_puzzles.solver import information_gain
from agent_env.features.facts.tables.event_names import day_of, years_of
from agent_env.features.facts.tables.tables import FactTables
from agent_env.temporal.days import DaySet
from agent_env.temporal.systems.catalogue import open_calendar

_FILE = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8"))
GAMES: dict[str, str] = _FILE["games"]
_SENTENCES: dict[str, str] = _FILE["plain"] | _FILE["implicit"]
"""By the type of the fact."""


def _words(fact: ft.Fact) -> dict[str, object]:
    """The fact's fields, and what the sentences say in place of numbers and short names."""
    more: dict[str, object] = {}
    match fact:
        case ft.Decade(decade=first):
            more = {"last": first + 9}
        case ft.Month(month=month):
            more = {"month_name": ft.MONTHS[month - 1]}
        case ft.CalendarMonth(calendar=name, month=month):
            month_name = open_calendar(name).months[month - 1]
            more = {"calendar_name": _FILE["calendars"][name], "month_name": month_name}
        case ft.WesternZodiac(sign=sign):
            (m1, d1), (m2, d2) = ft.SIGNS[sign]
            more = {"span": f"{d1} {ft.MONTHS[m1 - 1]} to {d2} {ft.MONTHS[m2 - 1]}"}
        case ft.MultiWeekday(value=weekdays):
            *most, last = (f"a {weekday}" for weekday in weekdays)
            more = {"weekdays": f"{', '.join(most)} or {last}"}
        case ft.DayOfMonthRange(operator=operator, value=day):
            more = {"side": "before" if operator == "<" else "after", "nth": _nth(day, "first")}
        case ft.DayOfYear(day=day):
            more = {"nth": _nth(day, "first")}
        case ft.WeekdayInMonth() | ft.WeekdayInYear():
            more = {"nth": _nth(fact.n, fact.direction)}
        case ft.Relative(unit=unit, back=back):
            more = {"span": _FILE["relative"][f"{unit}-{back}" if unit != "weeks" else unit]}
            more["span"] = str(more["span"]).format(back=back)
        case ft.RecurringEvent(name=name):
            more = {"games": GAMES[name][0].upper() + GAMES[name][1:]}
    return dict(fact) | more


def plain_sentence(fact: ft.Fact) -> str:
    """The implicit constraint of a fact that is not an event."""
    return _SENTENCES[fact.type].format_map(_words(fact))


class Wording:
    """Words the facts of one set of tables."""

    def __init__(self, tables: FactTables, sets: DaySets) -> None:
        self._events = {row.event: row for row in tables.events}
        self._people = {row.person: row for row in tables.people}
        self._terms = tables.presidents
        self._sets = sets

    def implicit(self, fact: ft.Fact) -> str:
        """The constraint as in a puzzle."""
        if not isinstance(fact, ft.KbEvent):
            return plain_sentence(fact)
        row = self._events[fact.event]
        name = row.hint or row.event
        if fact.aspect == "multi_year":
            return years_of(name)
        edge = "first" if fact.aspect == "start" else "last"
        what = {"year": "is in the same year", "month": "is in the same month of the year",
                "day": "has the same day of the month"}[fact.level]  # fmt: skip
        return f"The date {what} as {day_of(name, edge)}."

    def explicit(self, fact: ft.Fact, listed: DaySet) -> str:
        """The constraint with its dates; a fact in SPELLED_OUT has the days `listed`."""
        match fact:
            case ft.ChineseZodiac() | ft.LunarMonth() | ft.CalendarMonth():
                return self._as_spans(listed)
            case ft.ChurchDay() | ft.SolarTerm():
                dates = ", ".join(map(str, self._sets.days.dates(listed)))
                return f"The date is one of these: {dates}."
            case ft.JapaneseEra() | ft.Relative():
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
                return _one_of_years(ft.RECURRING[name])
            case ft.KbEvent(aspect="multi_year", event=event):
                return _one_of_years(years_held(self._events[event]))
            case ft.KbEvent(level="year", value=int(value)):
                fact = ft.ExplicitYear(year=value)
            case ft.KbEvent(level="month", value=int(value)):
                fact = ft.Month(month=value)
            case ft.KbEvent(value=int(value)):
                fact = ft.DayOfMonthSpecific(day=value)
        return _SENTENCES[fact.type].format_map(_words(fact))

    def fields(
        self,
        facts: Sequence[ft.Fact],
        answer: DaySet,
        listed: Sequence[DaySet],
        constraints: Sequence[str] = (),
    ) -> dict[str, Any]:
        """What a puzzle of these facts has, by its fields; the `constraints` are its own, or made
        here."""
        days = self._sets.days
        gold = tuple(day.isoformat() for day in days.dates(answer))
        implicit = tuple(constraints or map(self.implicit, facts))
        explicit = tuple(map(self.explicit, facts, listed))
        parts = [*(fact.model_dump_json() for fact in facts), *implicit, *explicit, *gold]
        gains = (information_gain(self._sets.of(fact), len(days)) for fact in facts)
        return {
            "gold": gold,
            "constraints": implicit,
            "explicit_constraints": explicit,
            "facts": tuple(facts),
            "information_gain": tuple(round(gain, 3) for gain in gains),
            "solution_count": len(gold),
            "fact_count": len(facts),
            "seed_date": gold[0] if gold else "",
            "years": f"{days.first.year}-{days.last.year}",
            "digest": hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16],
        }

    def _as_spans(self, days: DaySet) -> str:
        texts = (f"{first} to {last}" for first, last in self._sets.days.runs(days))
        return f"The date is in one of these periods (inclusive): {'; '.join(texts)}."


def _nth(n: int, direction: str) -> str:
    """1st, 2nd, 3rd, 4th, … 11th, … 21st; last, 2nd-to-last …"""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    if direction == "first":
        return f"{n}{ending}"
    return "last" if n == 1 else f"{n}{ending}-to-last"


def _one_of_years(years: Sequence[int]) -> str:
    if len(years) > 2 and years[-1] - years[0] == len(years) - 1:
        return f"The year is between {years[0]} and {years[-1]}, inclusive."
    return f"The year is one of {', '.join(map(str, years))}."
