"""Japanese eras over the Gregorian months."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from agent_env.temporal.systems.base import (
    CalendarDate,
    MonthCalendar,
    MonthSpan,
    NoSuchDate,
    clip,
    last_day,
)


@dataclass(frozen=True, slots=True)
class Era:
    """A reign's name and the Gregorian day from which on it is used."""

    name: str
    first: date
    year_one: int
    """The Gregorian year that is year 1."""


ERAS = (
    Era("Meiji", date(1873, 1, 1), 1868),
    Era("Taisho", date(1912, 7, 30), 1912),
    Era("Showa", date(1926, 12, 25), 1926),
    Era("Heisei", date(1989, 1, 8), 1989),
    Era("Reiwa", date(2019, 5, 1), 2019),
)
"""The eras since the Gregorian calendar came into use; a day of change belongs to the new era."""


class Japanese(MonthCalendar):
    """Japanese era dates, 1873-01-01 (Meiji 6) to 2025-12-31 (Reiwa 7).

    Until 1872 Japan counted lunar months. A day on which an emperor died counts with the new
    era, as the edicts of 1912 and 1926 have it. No later day is offered: when Reiwa will end is
    not known.
    """

    name = "japanese"
    first = date(1873, 1, 1)
    last = date(2025, 12, 31)
    months = (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    )

    def _year_near(self, day: date) -> int:
        return day.year

    def _layout_year(self, when: CalendarDate) -> int:
        for era in ERAS:
            if era.name == when.era:
                return era.year_one + when.year - 1
        names = ", ".join(era.name for era in ERAS)
        raise NoSuchDate(f"{self.name}: no era {when.era!r}; the eras are {names}")

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        return tuple(span for month in range(1, 13) for span in _cut_by_eras(year, month))


def _cut_by_eras(year: int, month: int) -> list[MonthSpan]:
    """A Gregorian month as one span for each era that has a day in it."""
    size = monthrange(year, month)[1]
    whole = MonthSpan(date(year, month, 1), CalendarDate(year, month, 1), size, size)
    ends = [*(date.fromordinal(era.first.toordinal() - 1) for era in ERAS[1:]), date.max]
    starts = [date.min, *(era.first for era in ERAS[1:])]
    return [
        MonthSpan(part.first, _in_era(part.first, era), part.days, size)
        for era, start, end in zip(ERAS, starts, ends, strict=True)
        if (part := clip(whole, start, min(end, last_day(whole)))) is not None
    ]


def _in_era(day: date, era: Era) -> CalendarDate:
    return CalendarDate(day.year - era.year_one + 1, day.month, day.day, era=era.name)
