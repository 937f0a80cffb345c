"""Time expressions with crisp bounds: explicit ones, and those relative to the speech time.

Weeks run from Monday to Sunday; `last Tuesday` is the latest Tuesday before today.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from agent_env.temporal.systems.easter import EasterDays

EXPLICIT = ("on-day", "in-month", "in-year")
SPEECH_TIME = ("today", "yesterday", "this-month", "last-month", "this-year")
"""Table 3 of the slides."""
BEYOND = ("weekday", "last-week", "days-ago", "before-holiday")
"""Ours: relative to the speech time, or to a holiday that has to be known."""
DAYS_AGO = range(2, 31)

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Period:
    """An expression and the days that it covers, both ends included."""

    kind: str
    text: str
    first: date
    last: date


def period_of(kind: str, day: date, today: date) -> Period | None:
    """The expression of this kind that covers the day; None where none does."""
    expression = _MAKERS[kind](day, today)
    if expression is None:
        return None
    text, first, last = expression
    return Period(kind, text, first, last) if first <= day <= last else None


class Periods:
    """The expressions that can be used at a speech time about days not before `first`."""

    def __init__(self, first: date, today: date) -> None:
        self._days = range(first.toordinal(), today.toordinal() + 1)
        self._today = today
        self._by_kind: dict[str, dict[int, Period]] = {}
        self._lists: dict[str, list[Period]] = {}

    def covering(self, kind: str, day: int) -> Period | None:
        return self._by_day(kind).get(day)

    def all(self, kind: str) -> list[Period]:
        """All expressions of this kind, each once for every day that it covers."""
        self._by_day(kind)
        return self._lists[kind]

    def _by_day(self, kind: str) -> dict[int, Period]:
        if kind not in self._by_kind:
            pairs = ((d, period_of(kind, date.fromordinal(d), self._today)) for d in self._days)
            self._by_kind[kind] = {day: period for day, period in pairs if period is not None}
            self._lists[kind] = list(self._by_kind[kind].values())
        return self._by_kind[kind]


Expression = tuple[str, date, date] | None
"""Text, first and last day."""


def _ago(day: date, today: date) -> int:
    return (today - day).days


def _before_holiday(day: date, today: date) -> Expression:
    name = holidays((day + 2 * DAY).year).get(day + 2 * DAY)
    return None if name is None else (f"two days before {name} {(day + 2 * DAY).year}", day, day)


def _last_week(day: date, today: date) -> Expression:
    monday = today - timedelta(days=today.weekday() + 7)
    return "last week", monday, monday + timedelta(days=6)


_MAKERS: dict[str, Callable[[date, date], Expression]] = {
    "on-day": lambda day, today: (f"on {day.day} {day:%B %Y}", day, day),
    "in-month": lambda day, today: (f"in {day:%B %Y}", *_month(day)),
    "in-year": lambda day, today: (f"in {day.year}", *_year(day)),
    "today": lambda day, today: ("today", today, today),
    "yesterday": lambda day, today: ("yesterday", today - DAY, today - DAY),
    "this-month": lambda day, today: ("this month", *_month(today)),
    "last-month": lambda day, today: ("last month", *_month(today.replace(day=1) - DAY)),
    "this-year": lambda day, today: ("this year", *_year(today)),
    "weekday": lambda day, today: (
        (f"last {day:%A}", day, day) if 1 <= _ago(day, today) <= 7 else None
    ),
    "last-week": _last_week,
    "days-ago": lambda day, today: (
        (f"{_ago(day, today)} days ago", day, day) if _ago(day, today) in DAYS_AGO else None
    ),
    "before-holiday": _before_holiday,
}
"""Text, first and last day, from a day and today."""


def _month(day: date) -> tuple[date, date]:
    last = calendar.monthrange(day.year, day.month)[1]
    return day.replace(day=1), day.replace(day=last)


def _year(day: date) -> tuple[date, date]:
    return date(day.year, 1, 1), date(day.year, 12, 31)


@cache
def holidays(year: int) -> dict[date, str]:
    """Days that bear a name wherever English is spoken, by date."""
    fixed = {
        (1, 1): "New Year's Day",
        (2, 14): "Valentine's Day",
        (3, 17): "Saint Patrick's Day",
        (5, 1): "May Day",
        (7, 4): "Independence Day in the United States",
        (10, 31): "Halloween",
        (12, 25): "Christmas Day",
    }
    days = {date(year, month, day): name for (month, day), name in fixed.items()}
    easter = EasterDays()
    is_known = easter.first.year <= year <= easter.last.year
    return days | ({easter.easter(year): "Easter Sunday"} if is_known else {})
