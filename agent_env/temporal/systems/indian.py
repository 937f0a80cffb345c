"""The Indian national (civil) calendar, years of the Saka era.

Rules of the Calendar Reform Committee (Government of India, 1955), in force since 22 March 1957.
"""

from __future__ import annotations

from calendar import isleap
from datetime import date

from agent_env.temporal.systems.base import MonthCalendar, MonthSpan, consecutive


class IndianCivil(MonthCalendar):
    """The Indian civil calendar, 1583-01-01 to 2400-12-31 (years 1504 to 2322).

    Leap years are the Gregorian ones. Dates before 1957 extend the calendar backwards; nobody
    used it then.
    """

    name = "indian-civil"
    first = date(1583, 1, 1)
    last = date(2400, 12, 31)
    months = (
        "Chaitra",
        "Vaisakha",
        "Jyaistha",
        "Asadha",
        "Sravana",
        "Bhadra",
        "Asvina",
        "Kartika",
        "Agrahayana",
        "Pausa",
        "Magha",
        "Phalguna",
    )

    def _year_near(self, day: date) -> int:
        return day.year - 78 - (day.month < 3)

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        leap = isleap(year + 78)
        begins = date(year + 78, 3, 21 if leap else 22)
        return consecutive(year, begins, (31 if leap else 30,) + (31,) * 5 + (30,) * 6)
