"""The Coptic and the Ethiopic calendar, which share the Alexandrian year.

Twelve months of 30 days and a thirteenth of 5, or 6 in every year before a multiple of four
(E. G. Richards, Mapping Time, 1998, ch. 25). It runs parallel to the Julian calendar. Coptic years
are counted from 29 August 284 (Julian), the Era of the Martyrs, Ethiopic ones from 29 August 8
(Julian), the Incarnation Era.
"""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from agent_env.temporal.systems.base import MonthCalendar, MonthSpan, consecutive


class Alexandrian(MonthCalendar):
    """An Alexandrian calendar, 1583-01-01 to 2400-12-31; subclasses name months and epoch."""

    first = date(1583, 1, 1)
    last = date(2400, 12, 31)
    before_year_one: ClassVar[int]
    """Proleptic Gregorian ordinal of the day before the first day of year 1."""

    def _year_near(self, day: date) -> int:
        return int((day.toordinal() - self.before_year_one) / 365.25) + 1

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        begins = self.before_year_one + 1 + 365 * (year - 1) + year // 4
        return consecutive(
            year, date.fromordinal(begins), (30,) * 12 + (6 if is_leap(year) else 5,)
        )


def is_leap(year: int) -> bool:
    """Whether a Coptic or Ethiopic year has a sixth epagomenal day."""
    return year % 4 == 3


class Coptic(Alexandrian):
    """The Coptic calendar, 1583-01-01 to 2400-12-31 (years 1299 to 2117)."""

    name = "coptic"
    months = (
        "Thout",
        "Paopi",
        "Hathor",
        "Koiak",
        "Tobi",
        "Meshir",
        "Paremhat",
        "Parmouti",
        "Pashons",
        "Paoni",
        "Epip",
        "Mesori",
        "Pi Kogi Enavot",
    )
    before_year_one = 103604


class Ethiopic(Alexandrian):
    """The Ethiopic calendar, 1583-01-01 to 2400-12-31 (years 1575 to 2393)."""

    name = "ethiopic"
    months = (
        "Meskerem",
        "Tikimt",
        "Hidar",
        "Tahsas",
        "Tir",
        "Yekatit",
        "Megabit",
        "Miazia",
        "Ginbot",
        "Sene",
        "Hamle",
        "Nehase",
        "Pagume",
    )
    before_year_one = 2795
