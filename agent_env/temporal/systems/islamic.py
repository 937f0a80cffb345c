"""The Islamic calendar of Saudi Arabia (Umm al-Qura), by hijridate (MIT)."""

from __future__ import annotations

from datetime import date

from hijridate import Hijri

from agent_env.temporal.systems.base import MonthCalendar, MonthSpan, consecutive

_MEAN_YEAR = 354.36707


class Islamic(MonthCalendar):
    """The Umm al-Qura calendar, 2000-01-01 to 2029-07-12 (24 Ramadan 1420 to 30 Safar 1451).

    It is a published table, not a rule. Before 2000 sources disagree; from Rabi al-Awwal 1451 on
    hijridate and ICU do, so the range ends there. Other countries begin months by sighting,
    often a day or two apart.
    """

    name = "islamic"
    first = date(2000, 1, 1)
    last = date(2029, 7, 12)
    months = (
        "Muharram",
        "Safar",
        "Rabi al-Awwal",
        "Rabi al-Thani",
        "Jumada al-Awwal",
        "Jumada al-Thani",
        "Rajab",
        "Shaban",
        "Ramadan",
        "Shawwal",
        "Dhu al-Qadah",
        "Dhu al-Hijjah",
    )

    def _year_near(self, day: date) -> int:
        return 1420 + int((day - date(1999, 4, 17)).days / _MEAN_YEAR)

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        sizes = tuple(Hijri(year, month, 1).month_length() for month in range(1, 13))
        begins = Hijri(year, 1, 1).to_gregorian()
        return consecutive(year, date(begins.year, begins.month, begins.day), sizes)
