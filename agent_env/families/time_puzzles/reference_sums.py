"""The dates that satisfy a list of clauses; the sandbox runs this file as it is.

A clause is a list: its kind, then its values.
"""

import calendar
import datetime
import functools
from collections.abc import Callable
from typing import Any

Days = list[datetime.date]
EXPENSIVE = ("lunar_months", "zodiac")  # computed from the moon, so tried last


def solve(clauses: list[list[Any]], first: str, last: str) -> list[str]:
    """ISO dates between two ISO dates, both included, that satisfy every clause."""
    ordered = sorted(clauses, key=lambda clause: clause[0] in EXPENSIVE)
    year_tests = [c for c in ordered if c[0] in ("years", "leap", "year_rule")]
    others = [c for c in ordered if c not in year_tests]
    low, high = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    dates = []
    for year in range(low.year, high.year + 1):
        if all(year_holds(year, clause) for clause in year_tests):
            days = days_in(year)
            if year in (low.year, high.year):
                days = [day for day in days if low <= day <= high]
            for kind, *values in others:
                days = DAYS_OF[kind](days, *values)
            dates += [day.isoformat() for day in days]
    return dates


@functools.cache
def days_in(year: int) -> Days:
    first, last = (datetime.date(year, *day).toordinal() for day in ((1, 1), (12, 31)))
    return [datetime.date.fromordinal(number) for number in range(first, last + 1)]


def year_holds(year: int, clause: list[Any]) -> bool:
    if clause[0] == "year_rule":
        modulus, remainder, first, last, exceptions = clause[1:]
        in_bounds = (first is None or year >= first) and (last is None or year <= last)
        return year % modulus == remainder and in_bounds and year not in exceptions
    return calendar.isleap(year) if clause[0] == "leap" else year in clause[1]


LUNAR: dict[int, tuple[int, int]] = {}
"""The lunar year and month by the day's ordinal number."""


def in_spans(days: Days, spans: list[list[str]]) -> Days:
    return [d for d in days if any(low <= d.isoformat() <= high for low, high in spans)]


def in_month_days(days: Days, low: list[int], high: list[int]) -> Days:
    """From one month and day to another, over the turn of the year too."""
    if low <= high:
        return [d for d in days if low <= [d.month, d.day] <= high]
    return [d for d in days if [d.month, d.day] >= low or [d.month, d.day] <= high]


def nth_in_month(days: Days, weekday: int, n: int, from_end: bool) -> Days:
    days = [d for d in days if d.weekday() == weekday]
    if from_end:
        return [d for d in days if (month_length(d) - d.day) // 7 == n - 1]
    return [d for d in days if (d.day - 1) // 7 == n - 1]


def nth_in_year(days: Days, weekday: int, n: int, from_end: bool) -> Days:
    days = [d for d in days if d.weekday() == weekday]
    if from_end:
        return [d for d in days if (365 + calendar.isleap(d.year) - number(d)) // 7 == n - 1]
    return [d for d in days if (number(d) - 1) // 7 == n - 1]


def number(day: datetime.date) -> int:
    """In its year, from 1."""
    return day.timetuple().tm_yday


def month_length(day: datetime.date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def lunar(day: datetime.date) -> tuple[int, int]:
    """The lunar year and month; all months from one winter solstice to the next are computed at
    once, as sxtwl computes each such year anew whenever it comes to another one."""
    import sxtwl

    at = day.toordinal()
    if at not in LUNAR:
        year = day.year + ((day.month, day.day) > (12, 20))
        start = min(at, datetime.date(year - 1, 12, 23).toordinal())
        while start <= max(at, datetime.date(year, 12, 19).toordinal()):
            when = datetime.date.fromordinal(start)
            moon = sxtwl.fromSolar(when.year, when.month, when.day)
            first = start - moon.getLunarDay() + 1
            month = (moon.getLunarYear(), moon.getLunarMonth())
            following = max(start + 1, first + 29)  # each month has 29 days, or 30
            LUNAR.update(dict.fromkeys(range(first, following), month))
            start = following
    return LUNAR[at]


DAYS_OF: dict[str, Callable[..., Days]] = {
    "months": lambda days, months: [d for d in days if d.month in months],
    "days": lambda days, numbers: [d for d in days if d.day in numbers],
    "last_day": lambda days: [d for d in days if d.day == month_length(d)],
    "weekdays": lambda days, weekdays: [d for d in days if d.weekday() in weekdays],
    "spans": in_spans,
    "month_days": in_month_days,
    "nth_in_month": nth_in_month,
    "nth_in_year": nth_in_year,
    "day_of_year": lambda days, value: [d for d in days if number(d) == value],
    "lunar_months": lambda days, months: [d for d in days if lunar(d)[1] in months],
    "zodiac": lambda days, animal: [d for d in days if (lunar(d)[0] - 4) % 12 == animal],
}
"""The days of a list that satisfy a clause, by its kind."""
