"""The Chinese lunisolar calendar: lunar dates, leap months and the zodiac of a lunar year.

Months are those of the calendars as promulgated (the Ming's, from 1645 the Qing's, then the
Republic's), which before 1929 begin on single days other than those of modern astronomy. A lunar
year bears the number of the Gregorian year in which it begins.

The years are read from chinese_years.csv, written by sxtwl: reading is a hundred times faster
than computing, and no later version of a library can move a date.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from agent_env.temporal.systems.base import (
    CalendarDate,
    MonthCalendar,
    MonthSpan,
    NoSuchDate,
    OutOfRange,
    last_day,
    require_range,
)

ANIMALS = (
    "Rat",
    "Ox",
    "Tiger",
    "Rabbit",
    "Dragon",
    "Snake",
    "Horse",
    "Goat",
    "Monkey",
    "Rooster",
    "Dog",
    "Pig",
)
"""The zodiac in its order; 1984 and 2020 were years of the Rat."""

_FIRST_YEAR, _LAST_YEAR = 1610, 2056
_LICHUN_AFTER = date(2057, 2, 3)


@dataclass(frozen=True, slots=True)
class _Row:
    """A lunar year as the table has it."""

    new_year: date
    leap_month: int
    sizes: tuple[int, ...]
    lichun: date


@dataclass(frozen=True, slots=True)
class LunarMonth:
    """One month of a lunar year, as Gregorian days, both inclusive."""

    number: int
    leap: bool
    first: date
    last: date


class Chinese(MonthCalendar):
    """The Chinese calendar over the lunar years 1610 to 2056.

    Before 1610 sxtwl misses the promulgated calendar on single months; in 2057 a new moon falls
    seconds from midnight and sources part. The range agrees with lunar_python, with a table made
    from printed almanacs, and with astronomy-engine (docs/calendars.md).
    """

    name = "chinese"
    first = date(1610, 1, 25)
    last = date(2057, 2, 3)
    months = (
        "Zhengyue",
        "Eryue",
        "Sanyue",
        "Siyue",
        "Wuyue",
        "Liuyue",
        "Qiyue",
        "Bayue",
        "Jiuyue",
        "Shiyue",
        "Dongyue",
        "Layue",
    )

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[int, _Row] = {}

    def month_name(self, when: CalendarDate) -> str:
        """The month's name, with `Run ` before it where it is a leap month."""
        name = super().month_name(when)
        return f"Run {name}" if when.leap_month else name

    def lunar_months(self, year: int) -> tuple[LunarMonth, ...]:
        """The 12 or 13 months of a lunar year, leap months flagged."""
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            raise OutOfRange(
                f"{self.name}: lunar year {year} is out of range; the calendar is validated for "
                f"lunar years {_FIRST_YEAR} to {_LAST_YEAR}"
            )
        return tuple(
            LunarMonth(span.opens.month, span.opens.leap_month, span.first, last_day(span))
            for span in self._layout(year)
        )

    def months_by_day(self) -> dict[int, tuple[int, int]]:
        """The lunar year and month of each day of the whole lunar years, by its ordinal number."""
        moons: dict[int, tuple[int, int]] = {}
        for year in range(_FIRST_YEAR, _LAST_YEAR + 1):
            for month in self.lunar_months(year):
                days = range(month.first.toordinal(), month.last.toordinal() + 1)
                moons.update(dict.fromkeys(days, (year, month.number)))
        return moons

    def new_year(self, year: int) -> date:
        """First day of a lunar year."""
        return self.to_gregorian(CalendarDate(year, 1, 1))

    def leap_month(self, year: int) -> int:
        """Number of the month that a lunar year repeats, 0 where it repeats none."""
        return next((month.number for month in self.lunar_months(year) if month.leap), 0)

    def animal(self, day: date) -> str:
        """The zodiac animal of a day where the animal changes at lunar new year (the custom)."""
        return animal_of_year(self.from_gregorian(day).year)

    def animal_by_lichun(self, day: date) -> str:
        """The zodiac animal of a day where it changes at Lichun, on 3 to 5 February.

        Lichun is the astronomical one in UTC+8. Almanacs before 1645 reckoned by mean terms and
        have it a day or two later, those of 1645 to 1807 a day off in 14 years.
        """
        require_range(self, day)
        return animal_of_year(day.year - (day < self._lichun(day.year)))

    def animal_years(
        self, animal: str, *, by_lichun: bool = False
    ) -> tuple[tuple[date, date], ...]:
        """First and last day of each year of an animal, cut to the validated range."""
        if animal not in ANIMALS:
            raise NoSuchDate(f"{self.name}: no animal {animal!r}; there are {', '.join(ANIMALS)}")
        first_year = _FIRST_YEAR - 1 if by_lichun else _FIRST_YEAR
        last_year = _LAST_YEAR + 1 if by_lichun else _LAST_YEAR
        return tuple(
            self._animal_year(year, by_lichun)
            for year in range(first_year, last_year + 1)
            if animal_of_year(year) == animal
        )

    def _animal_year(self, year: int, by_lichun: bool) -> tuple[date, date]:
        if not by_lichun:
            months = self.lunar_months(year)
            return months[0].first, months[-1].last
        start = self._lichun(year) if year >= _FIRST_YEAR else self.first
        if year > _LAST_YEAR:
            return start, self.last
        return start, date.fromordinal(self._lichun(year + 1).toordinal() - 1)

    def _lichun(self, year: int) -> date:
        """The day of Lichun (solar longitude 315 degrees) in a Gregorian year of the range."""
        return self._row(year).lichun if year <= _LAST_YEAR else _LICHUN_AFTER

    def _year_near(self, day: date) -> int:
        return min(max(day.year - (day.month == 1), _FIRST_YEAR), _LAST_YEAR)

    def _lay_out(self, year: int) -> tuple[MonthSpan, ...]:
        row = self._row(year)
        numbers = [(number, False) for number in range(1, 13)]
        if row.leap_month:
            numbers.insert(row.leap_month, (row.leap_month, True))
        spans = []
        ordinal = row.new_year.toordinal()
        for (number, leap), size in zip(numbers, row.sizes, strict=True):
            opens = CalendarDate(year, number, 1, leap)
            spans.append(MonthSpan(date.fromordinal(ordinal), opens, size, size))
            ordinal += size
        return tuple(spans)

    def _row(self, year: int) -> _Row:
        if not self._rows:
            self._rows = _read_rows()
        return self._rows[year]


def animal_of_year(year: int) -> str:
    """The zodiac animal of the lunar year that begins in this Gregorian year."""
    return ANIMALS[(year - 4) % 12]


def _read_rows() -> dict[int, _Row]:
    table = files(__package__).joinpath("chinese_years.csv").read_text(encoding="utf-8")
    return {
        int(row["year"]): _Row(
            date.fromisoformat(row["new_year"]),
            int(row["leap_month"]),
            tuple(int(size) for size in row["sizes"].split()),
            date.fromisoformat(f"{row['year']}-{row['lichun']}"),
        )
        for row in csv.DictReader(table.splitlines())
    }
