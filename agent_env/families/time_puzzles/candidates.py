"""Facts that hold on a given day, by kind, each with its day set."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from random import Random
from typing import NamedTuple

from agent_env.families.time_puzzles.day_sets import RECURRING, DaySets, years_held
from agent_env.families.time_puzzles.facts import (
    ANIMALS,
    SEASONS,
    SIGNS,
    WEEKDAYS,
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
    Level,
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
    category_of,
    level_of,
)
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import EventRow, FactTables
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names

YEARS_AROUND = (2, 3, 5, 8, 12, 17, 23, 30)
"""How many years a range of years may reach from the hidden date, either way."""
WEIGHTS = {
    "decade": 3.0, "year_range": 0.5, "leap_year": 0.8, "person_alive": 0.4, "us_president": 3.0,
    "event": 0.7, "chinese_zodiac": 1.5, "lunar_month": 0.3, "weekday_in_month": 3.0,
    "day_of_month_specific": 4.0, "first_day_of_month": 4.0, "last_day_of_month": 4.0,
    "day_of_month": 1.5, "weekday": 1.2, "multi_weekday": 0.3,
}  # fmt: skip
"""How often a kind is planned, where not 1. The checks starve some kinds, and these weights and
those of the outlines in `plan` make up for it (benchmarks/time_puzzles.py prints the shares)."""

CALENDAR_KINDS: dict[str, tuple[str, ...]] = {
    "chinese": ("chinese_zodiac", "lunar_month"),
    "hebrew": ("hebrew_month",),
    "islamic": ("islamic_month",),
    "persian": ("persian_month",),
    "ethiopic": ("ethiopic_month",),
    "coptic": ("coptic_month",),
    "indian-civil": ("indian-civil_month",),
    "japanese": ("japanese_era",),
    "easter": ("church_day",),
    "solar-terms": ("solar_term",),
}
"""Kinds of facts by the calendar that they need, as the option `calendars` names it."""

MAX_YEARS_HELD = 75
"""An event that held in more years than this is not asked for by them."""


class Entry(NamedTuple):
    """A fact and its days."""

    fact: Fact
    days: DaySet


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact."""

    name: str
    category: str
    level: Level
    weight: float
    domain: DaySet
    """Days on which some fact of the kind holds."""
    entries: Callable[[date, Random], Sequence[Entry]]
    """The facts of the kind that hold on a day of the domain."""


class Candidates:
    """All kinds of facts, and the events."""

    def __init__(
        self, tables: FactTables, sets: DaySets, calendars: Sequence[str] = ("chinese",)
    ) -> None:
        self._sets = sets
        self._events: dict[str, list[list[Entry]]] = {
            "year": [],
            "years": [],
            "month": [],
            "day": [],
        }
        for row in tables.events:
            self._add_event(row)
        self.kinds = {kind.name: kind for kind in self._all_kinds(tables, calendars)}

    def _add_event(self, row: EventRow) -> None:
        """Keep the relations to an event by what they share, those of one event together."""
        facts = list(event_facts(row))
        for relation, known in self._events.items():
            own = [fact for fact in facts if relation_of(fact) == relation]
            if found := [entry for fact in own if (entry := self._entry(fact)).days]:
                known.append(found)

    def event(self, relation: str, rng: Random) -> Entry | None:
        """A fact with this relation to a random event."""
        known = self._events[relation]
        return rng.choice(rng.choice(known)) if known else None

    def _entry(self, fact: Fact) -> Entry:
        return Entry(fact, self._sets.of(fact))

    def _all_kinds(self, tables: FactTables, calendars: Sequence[str]) -> Iterator[Kind]:
        yield from self._year_kinds()
        yield from self._month_kinds()
        yield from self._day_kinds()
        people = [PersonAlive(person=row.person) for row in tables.people]
        terms = dict.fromkeys(row.person for row in tables.presidents if row.end is not None)
        yield from self._listed("person_alive", people)
        yield from self._listed("us_president", [UsPresident(person=name) for name in terms])
        for name in calendars:
            yield from self._calendar_kinds(name)

    def _year_kinds(self) -> Iterator[Kind]:
        yield self._keyed("explicit_year", lambda d: d.year, lambda k: [ExplicitYear(year=k)])
        yield self._keyed("decade", lambda d: d.year // 10 * 10, lambda k: [Decade(decade=k)])
        yield self._kind("year_range", YearRange(start=1900, end=1901), self._year_ranges)
        yield from self._listed("leap_year", [LeapYear()])
        games = [RecurringEvent.model_validate({"name": name}) for name in RECURRING]
        yield from self._listed("event", games)

    def _month_kinds(self) -> Iterator[Kind]:
        yield self._keyed("month", lambda d: d.month, lambda k: [Month(month=k)])
        yield self._keyed("season", lambda d: d.month, lambda k: [season_of(k)])
        signs = [WesternZodiac(sign=sign) for sign in SIGNS]
        yield from self._listed("western_zodiac", signs)

    def _day_kinds(self) -> Iterator[Kind]:
        yield self._keyed("weekday", date.weekday, lambda k: [_on(k)])
        yield self._keyed("multi_weekday", date.weekday, _sets_with)
        yield self._keyed("day_of_month", lambda d: d.day, _ranges_with)
        specific = self._keyed(
            "day_of_month_specific", lambda d: d.day, lambda k: [DayOfMonthSpecific(day=k)]
        )
        yield specific
        yield from self._listed("first_day_of_month", [FirstDayOfMonth()])
        yield from self._listed("last_day_of_month", [LastDayOfMonth()])
        yield self._keyed("weekday_in_month", _place_in_month, _weekdays_in_month)
        yield self._keyed(
            "day_of_year", lambda d: d.timetuple().tm_yday, lambda k: [DayOfYear(day=k)]
        )
        yield self._keyed("weekday_in_year", _place_in_year, _weekdays_in_year)

    def _calendar_kinds(self, calendar_name: str) -> Iterator[Kind]:
        match calendar_name:
            case "chinese":
                zodiac = [ChineseZodiac(animal=animal) for animal in ANIMALS]
                yield from self._listed("chinese_zodiac", zodiac)
                yield from self._listed("lunar_month", [LunarMonth(month=m) for m in range(1, 13)])
            case "japanese":
                eras = ("Meiji", "Taisho", "Showa", "Heisei")
                facts = [JapaneseEra.model_validate({"era": era}) for era in eras]
                yield from self._listed("japanese_era", facts)
            case "easter":
                names = open_day_names("easter").names
                yield from self._listed("church_day", [ChurchDay(name=name) for name in names])
            case "solar-terms":
                names = open_day_names("solar-terms").names
                yield from self._listed("solar_term", [SolarTerm(name=name) for name in names])
            case _:
                yield from self._listed(f"{calendar_name}_month", _months_of(calendar_name))

    def _kind(
        self,
        name: str,
        example: Fact,
        entries: Callable[[date, Random], Sequence[Entry]],
        domain: DaySet | None = None,
    ) -> Kind:
        return Kind(
            name=name,
            category=category_of(example),
            level=level_of(example),
            weight=WEIGHTS.get(name, 1.0),
            domain=self._sets.days.everything if domain is None else domain,
            entries=entries,
        )

    def _keyed(
        self, name: str, key: Callable[[date], Hashable], make: Callable[..., list[Fact]]
    ) -> Kind:
        """A kind whose facts on a day follow from a key of the day."""
        known: dict[Hashable, list[Entry]] = {}

        def entries(day: date, rng: Random) -> list[Entry]:
            value = key(day)
            found = known.get(value)
            if found is None:
                found = known[value] = [self._entry(fact) for fact in make(value)]
            return found

        return self._kind(name, make(key(self._sets.days.first))[0], entries)

    def _listed(self, name: str, facts: Iterable[Fact]) -> Iterator[Kind]:
        """A kind with a fixed list of facts; those that hold on a day are found by their days.
        None where no fact has a day in the range."""
        all_entries = [entry for fact in facts if (entry := self._entry(fact)).days]
        domain = 0
        for entry in all_entries:
            domain |= entry.days
        size = len(self._sets.days) // 8 + 1
        packed = [(entry, entry.days.to_bytes(size, "little")) for entry in all_entries]

        def entries(day: date, rng: Random) -> list[Entry]:
            byte, place = divmod(self._sets.days.index(day), 8)
            bit = 1 << place
            return [entry for entry, days in packed if days[byte] & bit]

        if all_entries:
            yield self._kind(name, all_entries[0].fact, entries, domain)

    def _year_ranges(self, day: date, rng: Random) -> list[Entry]:
        """Ranges around a year; too many to keep."""
        first, last = self._sets.days.first.year, self._sets.days.last.year
        found = []
        for before in rng.sample(YEARS_AROUND, 4):
            start = max(first, day.year - before)
            end = min(last, day.year + rng.choice(YEARS_AROUND))
            span = self._sets.days.span(date(start, 1, 1), date(end, 12, 31))
            found.append(Entry(YearRange(start=start, end=end), span))
        return found


def event_facts(row: EventRow) -> Iterator[KbEvent]:
    """All relations to an event that its precision allows."""
    for aspect, bound in (("start", row.start), ("end", row.end)):
        if bound is None:
            continue
        values: tuple[tuple[Level, int | None], ...] = (
            ("year", bound.year),
            ("month", bound.month),
            ("day", bound.day),
        )
        for level, value in values:
            if value is not None:
                made = {"event": row.event, "aspect": aspect, "level": level, "value": value}
                yield KbEvent.model_validate(made)
    if 1 < len(years_held(row)) <= MAX_YEARS_HELD:
        yield KbEvent(event=row.event, aspect="multi_year", level="year")


def relation_of(fact: KbEvent) -> str:
    """What the date shares with the event: year, years (one of several), month or day."""
    return "years" if fact.aspect == "multi_year" else fact.level


def season_of(month: int) -> Season:
    """The season that a month belongs to."""
    (name,) = [name for name, months in SEASONS.items() if month in months]
    return Season.model_validate({"season": name})


def _months_of(calendar_name: str) -> list[Fact]:
    """The months of a calendar; Adar is left out, as leap years have two of them."""
    names = open_calendar(calendar_name).months
    return [
        CalendarMonth.model_validate({"calendar": calendar_name, "month": number})
        for number, name in enumerate(names, start=1)
        if not name.startswith("Adar")
    ]


def _on(weekday: int) -> Fact:
    return OnWeekday.model_validate({"weekday": WEEKDAYS[weekday]})


def _sets_with(weekday: int) -> list[Fact]:
    """All sets of two to four weekdays that this one is in."""
    chosen = (s for size in (2, 3, 4) for s in combinations(range(7), size) if weekday in s)
    return [MultiWeekday.model_validate({"value": [WEEKDAYS[w] for w in s]}) for s in chosen]


def _ranges_with(day: int) -> list[Fact]:
    """Ranges of the month, by their open end, that this day is in."""
    facts: list[Fact] = [
        DayOfMonthRange(operator="<", value=value) for value in range(max(4, day + 1), 30)
    ]
    facts += [DayOfMonthRange(operator=">", value=value) for value in range(2, min(28, day))]
    return facts


def _place_in_month(day: date) -> tuple[int, int, int]:
    """Weekday, and which of its kind it is in the month, from the beginning and from the end."""
    size = calendar.monthrange(day.year, day.month)[1]
    return day.weekday(), (day.day - 1) // 7 + 1, (size - day.day) // 7 + 1


def _weekdays_in_month(place: tuple[int, int, int]) -> list[Fact]:
    weekday, forward, back = place
    return [
        WeekdayInMonth.model_validate({"direction": d, "weekday": WEEKDAYS[weekday], "n": n})
        for d, n in (("first", forward), ("last", back))
    ]


def _place_in_year(day: date) -> tuple[int, int, int]:
    number, size = day.timetuple().tm_yday, 366 if calendar.isleap(day.year) else 365
    return day.weekday(), (number - 1) // 7 + 1, (size - number) // 7 + 1


def _weekdays_in_year(place: tuple[int, int, int]) -> list[Fact]:
    weekday, forward, back = place
    return [
        WeekdayInYear.model_validate({"direction": d, "weekday": WEEKDAYS[weekday], "n": n})
        for d, n in (("first", forward), ("last", back))
    ]
