"""Other calendars' months and named days as day sets."""

from __future__ import annotations

from datetime import date
from functools import cached_property, lru_cache

from agent_env.temporal.days import DayRange, DaySet
from agent_env.temporal.systems.base import MonthSpan, last_day
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names


@lru_cache(maxsize=4)
def calendars_over(days: DayRange) -> CalendarSets:
    """The months and named days of a range, built once per process."""
    return CalendarSets(days)


class CalendarSets:
    """The days of other calendars' months and of named days, over one range of whole years."""

    def __init__(self, days: DayRange) -> None:
        self.days = days
        self._months: dict[str, dict[int, DaySet]] = {}
        self._named: dict[str, dict[str, DaySet]] = {}

    @cached_property
    def chinese_months(self) -> tuple[MonthSpan, ...]:
        """Every Chinese month in the range and the calendar's validated range."""
        return self._month_spans("chinese")

    @cached_property
    def lunar_months(self) -> dict[int, DaySet]:
        """By number; a leap month has the number of the month before it."""
        return self._by_month(self.chinese_months, 12)

    @cached_property
    def zodiac(self) -> dict[int, DaySet]:
        """The days of the years of each animal, Rat being 0."""
        spans: dict[int, list[tuple[date, date]]] = {animal: [] for animal in range(12)}
        for span in self.chinese_months:
            spans[(span.opens.year - 4) % 12].append((span.first, last_day(span)))
        return {animal: self.days.spans(bounds) for animal, bounds in spans.items()}

    def months(self, calendar: str) -> dict[int, DaySet]:
        """By number."""
        months = self._months.get(calendar)
        if months is None:
            months = self._months[calendar] = self._by_month(self._month_spans(calendar), 13)
        return months

    def named(self, system: str) -> dict[str, DaySet]:
        """By the day's name."""
        named_days = self._named.get(system)
        if named_days is None:
            names = open_day_names(system)
            days: dict[str, list[date]] = {name: [] for name in names.names}
            first, last = max(self.days.first, names.first), min(self.days.last, names.last)
            for day, name in names.days_between(first, last):
                days[name].append(day)
            named_days = self._named[system] = {
                name: self.days.those(d) for name, d in days.items()
            }
        return named_days

    def _month_spans(self, calendar: str) -> tuple[MonthSpan, ...]:
        system = open_calendar(calendar)
        first, last = max(self.days.first, system.first), min(self.days.last, system.last)
        return tuple(system.months_between(first, last)) if first <= last else ()

    def _by_month(self, months: tuple[MonthSpan, ...], count: int) -> dict[int, DaySet]:
        spans: dict[int, list[tuple[date, date]]] = {n: [] for n in range(1, count + 1)}
        for span in months:
            spans[span.opens.month].append((span.first, last_day(span)))
        return {month: self.days.spans(bounds) for month, bounds in spans.items()}
