"""The Hebrew calendar, by pyluach (MIT). A day here is the Gregorian day on whose eve it begins."""

from __future__ import annotations

from datetime import date

from pyluach.dates import HebrewDate

from agent_env.temporal.systems.base import CalendarDate, MonthCalendar, MonthSpan

_TISHREI = 7


class Hebrew(MonthCalendar):
    """The Hebrew calendar, 1583-01-01 to 2400-12-31 (years 5343 to 6161).

    Months are numbered from Nisan as in the Bible; the year's number changes with Tishrei,
    month 7. A leap year has Adar I (12) and Adar II (13), other years Adar (12). The calendar's
    rules are fixed arithmetic, so the range is no matter of sources. A Hebrew day begins at
    sunset: what is given is the Gregorian day that it mostly covers.
    """

    name = "hebrew"
    first = date(1583, 1, 1)
    last = date(2400, 12, 31)
    months = (
        "Nisan",
        "Iyar",
        "Sivan",
        "Tammuz",
        "Av",
        "Elul",
        "Tishrei",
        "Cheshvan",
        "Kislev",
        "Tevet",
        "Shevat",
        "Adar",
        "Adar II",
    )

    def month_name(self, when: CalendarDate) -> str:
        """The month's name; month 12 of a leap year is Adar I."""
        name = super().month_name(when)
        return "Adar I" if when.month == 12 and is_leap(when.year) else name

    def _year_near(self, day: date) -> int:
        return day.year + 3760 + (day.month > 9)

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        last = 13 if is_leap(year) else 12
        numbers = (*range(_TISHREI, last + 1), *range(1, _TISHREI))
        starts = [_ordinal(year, number) for number in numbers]
        ends = [*starts[1:], _ordinal(year + 1, _TISHREI)]
        return tuple(
            MonthSpan(date.fromordinal(start), CalendarDate(year, number, 1), size, size)
            for number, start, end in zip(numbers, starts, ends, strict=True)
            for size in (end - start,)
        )


def is_leap(year: int) -> bool:
    """Whether a Hebrew year has 13 months: years 3, 6, 8, 11, 14, 17 and 19 of 19."""
    return (7 * year + 1) % 19 < 7


def _ordinal(year: int, month: int) -> int:
    begins: date = HebrewDate(year, month, 1).to_pydate()
    return begins.toordinal()
