"""Facts that hold on a given date, by category."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from random import Random

from agent_env.tasks.time_puzzles.day_sets import RECURRING, DaySets
from agent_env.tasks.time_puzzles.facts import (
    ANIMALS,
    LEVELS,
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
    Level,
    LunarMonth,
    Month,
    MultiWeekday,
    OnWeekday,
    PersonAlive,
    RecurringEvent,
    Season,
    UsPresident,
    Weekday,
    WeekdayInMonth,
    WeekdayInYear,
    WesternZodiac,
    YearRange,
)
from agent_env.temporal.facts.tables import EventRow, FactTables

Maker = Callable[[date, Random], Iterator[Fact]]


class Candidates:
    """Draws facts from the tables and from the calendar."""

    def __init__(self, tables: FactTables, sets: DaySets) -> None:
        self._sets = sets
        self._events = [facts for row in tables.events if (facts := list(event_facts(row)))]
        self._people = [PersonAlive(person=row.person) for row in tables.people]
        presidents = dict.fromkeys(row.person for row in tables.presidents if row.end)
        self._presidents = [UsPresident(person=name) for name in presidents]
        self._zodiac = [ChineseZodiac(animal=animal) for animal in ANIMALS]
        self._lunar = [LunarMonth(month=month) for month in range(1, 13)]
        self._makers: dict[str, Maker] = {
            "explicit_year": _explicit_year,
            "decade": _decade,
            "year_range": _year_range,
            "leap_year": _leap_year,
            "chinese_zodiac": self._among(self._zodiac),
            "person_alive": self._among(self._people),
            "us_president": self._among(self._presidents),
            "event": _recurring,
            "month": _month,
            "season": _season,
            "lunar_month": self._among(self._lunar),
            "western_zodiac": self._among([WesternZodiac(sign=sign) for sign in SIGNS]),
            "weekday_in_month": _weekday_in_month,
            "exact_day_of_month": _exact_day,
            "day_of_month": _day_range,
            "weekday": _weekday,
            "multi_weekday": _weekdays,
            "day_of_year": _day_of_year,
            "weekday_in_year": _weekday_in_year,
        }
        self.categories: dict[Level, list[str]] = {"year": [], "month": [], "day": []}
        for category in self._makers:
            self.categories[LEVELS.get(category, "day")].append(category)

    def event(self, rng: Random) -> KbEvent:
        """A relation to a random event."""
        return rng.choice(rng.choice(self._events))

    def one(self, category: str, day: date, rng: Random) -> Fact | None:
        """A random fact of the category that holds on the day, if there is one."""
        return next(self._makers[category](day, rng), None)

    def several(self, category: str, day: date, rng: Random) -> Iterator[Fact]:
        """Facts of the category that hold on the day, in random order."""
        return self._makers[category](day, rng)

    def _among(self, facts: Iterable[Fact]) -> Maker:
        """Those of a fixed list whose day sets hold the day."""
        fixed = list(facts)

        def make(day: date, rng: Random) -> Iterator[Fact]:
            index = self._sets.days.index(day)
            for fact in rng.sample(fixed, len(fixed)):
                if self._sets.of(fact) >> index & 1:
                    yield fact

        return make


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
                yield KbEvent(event=row.event, aspect=aspect, level=level, value=value)
    if row.years:
        yield KbEvent(event=row.event, aspect="multi_year", level="year")


def _explicit_year(day: date, rng: Random) -> Iterator[Fact]:
    yield ExplicitYear(year=day.year)


def _decade(day: date, rng: Random) -> Iterator[Fact]:
    yield Decade(decade=day.year // 10 * 10)


def _year_range(day: date, rng: Random) -> Iterator[Fact]:
    for _ in range(8):
        before, after = rng.randint(2, 30), rng.randint(2, 30)
        yield YearRange(start=max(1800, day.year - before), end=min(2050, day.year + after))


def _leap_year(day: date, rng: Random) -> Iterator[Fact]:
    if calendar.isleap(day.year):
        yield LeapYear()


def _recurring(day: date, rng: Random) -> Iterator[Fact]:
    if day.year in RECURRING["summer_olympics"]:
        yield RecurringEvent(name="summer_olympics")
    if day.year in RECURRING["world_cup"]:
        yield RecurringEvent(name="world_cup")


def _month(day: date, rng: Random) -> Iterator[Fact]:
    yield Month(month=day.month)


def _season(day: date, rng: Random) -> Iterator[Fact]:
    for season, months in SEASONS.items():
        if day.month in months:
            yield Season.model_validate({"season": season})


def _weekday_in_month(day: date, rng: Random) -> Iterator[Fact]:
    last = calendar.monthrange(day.year, day.month)[1]
    first = WeekdayInMonth(direction="first", weekday=weekday_of(day), n=(day.day - 1) // 7 + 1)
    back = WeekdayInMonth(direction="last", weekday=weekday_of(day), n=(last - day.day) // 7 + 1)
    yield from rng.sample([first, back], 2)


def _exact_day(day: date, rng: Random) -> Iterator[Fact]:
    choices: list[Fact] = [DayOfMonthSpecific(day=day.day)]
    if day.day == 1:
        choices = [FirstDayOfMonth()]
    elif day.day == calendar.monthrange(day.year, day.month)[1]:
        choices.append(LastDayOfMonth())
    yield from rng.sample(choices, len(choices))


def _day_range(day: date, rng: Random) -> Iterator[Fact]:
    choices: list[Fact] = [
        DayOfMonthRange(operator="<", value=v) for v in range(max(4, day.day + 1), 30)
    ]
    choices += [DayOfMonthRange(operator=">", value=v) for v in range(2, min(28, day.day))]
    yield from rng.sample(choices, len(choices))


def _weekday(day: date, rng: Random) -> Iterator[Fact]:
    yield OnWeekday(weekday=weekday_of(day))


def _weekdays(day: date, rng: Random) -> Iterator[Fact]:
    own = day.weekday()
    for _ in range(8):
        others = rng.sample([w for w in range(7) if w != own], rng.randint(1, 3))
        names = tuple(WEEKDAYS[w] for w in sorted([own, *others]))
        yield MultiWeekday.model_validate({"value": names})


def _day_of_year(day: date, rng: Random) -> Iterator[Fact]:
    yield DayOfYear(day=day.timetuple().tm_yday)


def _weekday_in_year(day: date, rng: Random) -> Iterator[Fact]:
    number = day.timetuple().tm_yday
    length = 366 if calendar.isleap(day.year) else 365
    first = WeekdayInYear(direction="first", weekday=weekday_of(day), n=(number - 1) // 7 + 1)
    back = WeekdayInYear(direction="last", weekday=weekday_of(day), n=(length - number) // 7 + 1)
    yield from rng.sample([first, back], 2)


def weekday_of(day: date) -> Weekday:
    """The weekday's English name."""
    names: tuple[Weekday, ...] = (
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    )  # fmt: skip
    return names[day.weekday()]
