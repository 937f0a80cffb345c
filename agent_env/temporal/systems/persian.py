"""The Persian (Solar Hijri) calendar of Iran, by the 33-year cycle of leap years."""

from __future__ import annotations

from datetime import date

from agent_env.temporal.systems.base import MonthCalendar, MonthSpan, consecutive

_LEAP_IN_CYCLE = (1, 5, 9, 13, 17, 22, 26, 30)
_EPOCH = date(2024, 3, 20).toordinal()  # 1 Farvardin 1403
_EPOCH_YEAR = 1403


class Persian(MonthCalendar):
    """The Persian calendar, 1799-03-21 to 2123-03-20 (years 1178 to 1501).

    By law Nowruz is the day of the March equinox, or the next day if it comes after noon in
    Tehran. In this range the 33-year cycle gives that day in every year; in 1798 it does not, and
    in 2124 the equinox falls minutes from noon and sources part. Iran adopted the calendar in
    1925; earlier dates extend it backwards.
    """

    name = "persian"
    first = date(1799, 3, 21)
    last = date(2123, 3, 20)
    months = (
        "Farvardin",
        "Ordibehesht",
        "Khordad",
        "Tir",
        "Mordad",
        "Shahrivar",
        "Mehr",
        "Aban",
        "Azar",
        "Dey",
        "Bahman",
        "Esfand",
    )

    def _year_near(self, day: date) -> int:
        return day.year - 621 - (day.month < 3)

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        days = (
            365 * (year - _EPOCH_YEAR) + _leap_years_before(year) - _leap_years_before(_EPOCH_YEAR)
        )
        sizes = (31,) * 6 + (30,) * 5 + (30 if is_leap(year) else 29,)
        return consecutive(year, date.fromordinal(_EPOCH + days), sizes)


def is_leap(year: int) -> bool:
    """Whether Esfand has 30 days in a Persian year of the validated range."""
    return year % 33 in _LEAP_IN_CYCLE


def _leap_years_before(year: int) -> int:
    cycles, place = divmod(year, 33)
    return len(_LEAP_IN_CYCLE) * cycles + sum(leap < place for leap in _LEAP_IN_CYCLE)
