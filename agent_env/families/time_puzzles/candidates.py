"""Candidate facts that hold on a day, by kind, with their day sets."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import combinations
from random import Random
from typing import NamedTuple

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets, years_held
from agent_env.features.facts.tables.tables import EventRow, FactTables
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import DaySet
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names

YEARS_AROUND = (2, 3, 5, 8, 12, 17, 23, 30)
"""Distances in years of a year range's ends from the hidden date."""
WEIGHTS = {
    "decade": 3.0, "year_range": 0.5, "leap_year": 0.8, "person_alive": 0.4, "us_president": 3.0,
    "event": 0.7, "chinese_zodiac": 1.5, "lunar_month": 0.3, "weekday_in_month": 3.0,
    "day_of_month_specific": 4.0, "first_day_of_month": 4.0, "last_day_of_month": 4.0,
    "day_of_month": 1.5, "weekday": 1.2, "multi_weekday": 0.3,
}  # fmt: skip
"""Sampling weight of a kind, where not 1. The checks reject some kinds often, which these weights
and those of the outlines in `plan` compensate (benchmarks/time_puzzles.py prints the shares)."""

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
"""An event of more years is not used by its years."""


class Entry(NamedTuple):
    """A fact and its days."""

    fact: ft.Fact
    days: DaySet


@dataclass(frozen=True, slots=True)
class FactKind:
    name: str
    category: str
    level: ft.Level
    weight: float
    domain: DaySet
    """Days on which some fact of the kind holds."""
    entries: Callable[[date, Random], Sequence[Entry]]
    """The facts of the kind that hold on a day of the domain."""


class Candidates:
    """All kinds of facts, and the events."""

    def __init__(
        self,
        tables: FactTables,
        sets: DaySets,
        calendars: Sequence[str] = ("chinese",),
        kinds: Sequence[str] = (),
    ) -> None:
        """Of all kinds, or of these alone; ConfigError for an unknown one."""
        self._sets = sets
        relations = ("year", "years", "month", "day")
        self._events: dict[str, list[list[Entry]]] = {relation: [] for relation in relations}
        for row in tables.events:
            facts = list(event_facts(row))
            for relation, events in self._events.items():
                own = [fact for fact in facts if relation_of(fact) == relation]
                if entries := [entry for fact in own if (entry := self._entry(fact)).days]:
                    events.append(entries)
        by_name = {kind.name: kind for kind in self._all_kinds(tables, calendars)}
        if unknown := next((name for name in kinds if name not in by_name), None):
            raise ConfigError(
                f"--option kinds: no kind '{unknown}' with these calendars; known: "
                f"{', '.join(by_name)}"
            )
        self.kinds = {name: each for name, each in by_name.items() if not kinds or name in kinds}
        self.features = tuple(
            kind
            for name in calendars
            for kind in CALENDAR_KINDS[name]
            if name != "chinese" and kind in self.kinds
        )
        """The kinds of calendars beyond the Chinese one."""

    def event(self, relation: str, rng: Random) -> Entry | None:
        events = self._events[relation]
        return rng.choice(rng.choice(events)) if events else None

    def _entry(self, fact: ft.Fact) -> Entry:
        return Entry(fact, self._sets.of(fact))

    def _all_kinds(self, tables: FactTables, calendars: Sequence[str]) -> Iterator[FactKind]:
        yield self._keyed("explicit_year", lambda d: d.year, lambda k: [ft.ExplicitYear(year=k)])
        yield self._keyed("decade", lambda d: d.year // 10 * 10, lambda k: [ft.Decade(decade=k)])
        yield self._kind("year_range", ft.YearRange(start=1900, end=1901), self._year_ranges)
        yield from self._listed("leap_year", [ft.LeapYear()])
        games = [ft.RecurringEvent.model_validate({"name": name}) for name in ft.RECURRING]
        yield from self._listed("event", games)
        yield self._keyed("month", lambda d: d.month, lambda k: [ft.Month(month=k)])
        yield self._keyed("season", lambda d: d.month, lambda k: [season_of(k)])
        signs = [ft.WesternZodiac(sign=sign) for sign in ft.SIGNS]
        yield from self._listed("western_zodiac", signs)
        yield self._keyed("weekday", date.weekday, lambda k: [_on(k)])
        yield self._keyed("multi_weekday", date.weekday, _sets_with)
        yield self._keyed("day_of_month", lambda d: d.day, _ranges_with)
        yield self._keyed(
            "day_of_month_specific", lambda d: d.day, lambda k: [ft.DayOfMonthSpecific(day=k)]
        )
        yield from self._listed("first_day_of_month", [ft.FirstDayOfMonth()])
        yield from self._listed("last_day_of_month", [ft.LastDayOfMonth()])
        yield self._keyed(
            "weekday_in_month", _place_in_month, partial(_nth_weekdays, ft.WeekdayInMonth)
        )
        yield self._keyed(
            "day_of_year", lambda d: d.timetuple().tm_yday, lambda k: [ft.DayOfYear(day=k)]
        )
        yield self._keyed(
            "weekday_in_year", _place_in_year, partial(_nth_weekdays, ft.WeekdayInYear)
        )
        people = [ft.PersonAlive(person=row.person) for row in tables.people]
        terms = dict.fromkeys(row.person for row in tables.presidents if row.end is not None)
        yield from self._listed("person_alive", people)
        yield from self._listed("us_president", [ft.UsPresident(person=name) for name in terms])
        for name in calendars:
            for kind in CALENDAR_KINDS[name]:
                yield from self._listed(kind, _calendar_facts(kind))

    def _kind(
        self,
        name: str,
        example: ft.Fact,
        entries: Callable[[date, Random], Sequence[Entry]],
        domain: DaySet | None = None,
    ) -> FactKind:
        return FactKind(
            name=name,
            category=ft.category_of(example),
            level=ft.level_of(example),
            weight=WEIGHTS.get(name, 1.0),
            domain=self._sets.days.everything if domain is None else domain,
            entries=entries,
        )

    def _keyed(
        self, name: str, key: Callable[[date], Hashable], make: Callable[..., list[ft.Fact]]
    ) -> FactKind:
        cache: dict[Hashable, list[Entry]] = {}

        def entries(day: date, rng: Random) -> list[Entry]:
            if (value := key(day)) not in cache:
                cache[value] = [self._entry(fact) for fact in make(value)]
            return cache[value]

        return self._kind(name, make(key(self._sets.days.first))[0], entries)

    def _listed(self, name: str, facts: Iterable[ft.Fact]) -> Iterator[FactKind]:
        """A kind with a fixed list of facts; nothing where no fact has a day in the range."""
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
        """Ranges around a year; too many to cache."""
        first, last = self._sets.days.first.year, self._sets.days.last.year
        ranges = []
        for before in rng.sample(YEARS_AROUND, 4):
            start = max(first, day.year - before)
            end = min(last, day.year + rng.choice(YEARS_AROUND))
            span = self._sets.days.span(date(start, 1, 1), date(end, 12, 31))
            ranges.append(Entry(ft.YearRange(start=start, end=end), span))
        return ranges


def event_facts(row: EventRow) -> Iterator[ft.KbEvent]:
    """All facts about an event that its precision allows."""
    for aspect, bound in (("start", row.start), ("end", row.end)):
        if bound is None:
            continue
        for level in ("year", "month", "day"):
            if (value := getattr(bound, level)) is not None:
                fields = {"event": row.event, "aspect": aspect, "level": level, "value": value}
                yield ft.KbEvent.model_validate(fields)
    if 1 < len(years_held(row)) <= MAX_YEARS_HELD:
        yield ft.KbEvent(event=row.event, aspect="multi_year", level="year")


def relation_of(fact: ft.KbEvent) -> str:
    """What the date has in common with the event: year, years (one of several), month or day."""
    return "years" if fact.aspect == "multi_year" else fact.level


def season_of(month: int) -> ft.Season:
    (name,) = [name for name, months in ft.SEASONS.items() if month in months]
    return ft.Season.model_validate({"season": name})


def _calendar_facts(kind: str) -> Sequence[ft.Fact]:
    """Of a month of a calendar, all without Adar, of which leap years have two."""
    match kind:
        case "chinese_zodiac":
            return [ft.ChineseZodiac(animal=animal) for animal in ft.ANIMALS]
        case "lunar_month":
            return [ft.LunarMonth(month=month) for month in range(1, 13)]
        case "japanese_era":
            eras = ("Meiji", "Taisho", "Showa", "Heisei")
            return [ft.JapaneseEra.model_validate({"era": era}) for era in eras]
        case "church_day":
            return [ft.ChurchDay(name=name) for name in open_day_names("easter").names]
        case "solar_term":
            return [ft.SolarTerm(name=name) for name in open_day_names("solar-terms").names]
    calendar_name = kind.removesuffix("_month")
    names = open_calendar(calendar_name).months
    return [
        ft.CalendarMonth.model_validate({"calendar": calendar_name, "month": number})
        for number, name in enumerate(names, start=1)
        if not name.startswith("Adar")
    ]


def _on(weekday: int) -> ft.Fact:
    return ft.OnWeekday.model_validate({"weekday": ft.WEEKDAYS[weekday]})


def _sets_with(weekday: int) -> list[ft.Fact]:
    sets = (s for size in (2, 3, 4) for s in combinations(range(7), size) if weekday in s)
    return [ft.MultiWeekday.model_validate({"value": [ft.WEEKDAYS[w] for w in s]}) for s in sets]


def _ranges_with(day: int) -> list[ft.Fact]:
    """Ranges of days of the month with this day, below or above a bound."""
    facts: list[ft.Fact] = [
        ft.DayOfMonthRange(operator="<", value=value) for value in range(max(4, day + 1), 30)
    ]
    facts += [ft.DayOfMonthRange(operator=">", value=value) for value in range(2, min(28, day))]
    return facts


def _place_in_month(day: date) -> tuple[int, int, int]:
    """Weekday, and its number among the same weekdays of the month, from the start and the end."""
    size = calendar.monthrange(day.year, day.month)[1]
    return day.weekday(), (day.day - 1) // 7 + 1, (size - day.day) // 7 + 1


def _place_in_year(day: date) -> tuple[int, int, int]:
    number, size = day.timetuple().tm_yday, 366 if calendar.isleap(day.year) else 365
    return day.weekday(), (number - 1) // 7 + 1, (size - number) // 7 + 1


def _nth_weekdays(
    kind: type[ft.WeekdayInMonth | ft.WeekdayInYear], place: tuple[int, int, int]
) -> list[ft.Fact]:
    weekday, forward, back = place
    return [
        kind.model_validate({"direction": d, "weekday": ft.WEEKDAYS[weekday], "n": n})
        for d, n in (("first", forward), ("last", back))
    ]
