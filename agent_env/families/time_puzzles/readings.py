"""Alternative readings of a fact, which do not change the answer of a robust puzzle.

The wording states the intended reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import RECURRING, DaySets
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.recurring import WOMENS_WORLD_CUPS
from agent_env.temporal.systems.base import last_day
from agent_env.temporal.systems.chinese import Chinese


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
