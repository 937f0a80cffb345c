"""The dates that satisfy a list of clauses; the sandbox runs this file as it is.

A clause is a list: its kind, then its values.
"""

import calendar
import datetime
from typing import Any

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
            day = max(low, datetime.date(year, 1, 1))
            end = min(high, datetime.date(year, 12, 31))
            for number in range(day.toordinal(), end.toordinal() + 1):
                day = datetime.date.fromordinal(number)
                if all(holds(day, clause) for clause in others):
                    dates.append(day.isoformat())
    return dates


def year_holds(year: int, clause: list[Any]) -> bool:
    if clause[0] == "year_rule":
        modulus, remainder, first, last, exceptions = clause[1:]
        in_bounds = (first is None or year >= first) and (last is None or year <= last)
        return year % modulus == remainder and in_bounds and year not in exceptions
    return calendar.isleap(year) if clause[0] == "leap" else year in clause[1]


def holds(day: datetime.date, clause: list[Any]) -> bool:
    kind: str = clause[0]
    values = clause[1:]
    if kind == "months":
        return bool(day.month in values[0])
    if kind == "days":
        return bool(day.day in values[0])
    if kind == "last_day":
        return day.day == month_length(day)
    if kind == "weekdays":
        return bool(day.weekday() in values[0])
    if kind == "spans":
        return any(low <= day.isoformat() <= high for low, high in values[0])
    if kind == "month_days":
        low, high = values
        at = [day.month, day.day]
        return bool(low <= at <= high if low <= high else at >= low or at <= high)
    if kind == "nth_in_month":
        before, after = day.day - 1, month_length(day) - day.day
        return is_nth(day, before, after, *values)
    if kind == "nth_in_year":
        before = day.timetuple().tm_yday - 1
        return is_nth(day, before, 364 + calendar.isleap(day.year) - before, *values)
    if kind == "day_of_year":
        return bool(day.timetuple().tm_yday == values[0])
    return lunar_holds(day, kind, values[0])


def is_nth(
    day: datetime.date, before: int, after: int, weekday: int, n: int, from_end: bool
) -> bool:
    return day.weekday() == weekday and (after if from_end else before) // 7 == n - 1


def month_length(day: datetime.date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def lunar_holds(day: datetime.date, kind: str, value: Any) -> bool:
    import sxtwl

    lunar = sxtwl.fromSolar(day.year, day.month, day.day)
    if kind == "lunar_months":
        return bool(lunar.getLunarMonth() in value)
    return bool((lunar.getLunarYear() - 4) % 12 == value)
