"""The 24 solar terms: the days on which, in China, the sun passes a multiple of 15 degrees.

The days are read from solar_terms.csv, written by sxtwl (see chinese.py for why).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date
from importlib.resources import files

from agent_env.temporal.systems.base import NoSuchDate, OutOfRange, require_range

_UNSETTLED_YEAR, _UNSETTLED_TERM = 1979, "Dahan"


class SolarTerms:
    """The solar terms in China Standard Time, 1929-01-01 to 2050-12-31.

    Until 1928 China's calendars reckoned by the sun of Beijing, and after 2050 the slowing of
    the earth leaves terms within two minutes of midnight open. In between sxtwl, astronomy-engine
    and the printed almanacs name the same day, save one: Dahan of 1979 fell six seconds before
    midnight and was printed for 21 January. That one is `unsettled`: asked for, it raises.
    """

    name = "solar-terms"
    first = date(1929, 1, 1)
    last = date(2050, 12, 31)
    names = (
        "Xiaohan",
        "Dahan",
        "Lichun",
        "Yushui",
        "Jingzhe",
        "Chunfen",
        "Qingming",
        "Guyu",
        "Lixia",
        "Xiaoman",
        "Mangzhong",
        "Xiazhi",
        "Xiaoshu",
        "Dashu",
        "Liqiu",
        "Chushu",
        "Bailu",
        "Qiufen",
        "Hanlu",
        "Shuangjiang",
        "Lidong",
        "Xiaoxue",
        "Daxue",
        "Dongzhi",
    )
    unsettled: tuple[date, ...] = (date(1979, 1, 20), date(1979, 1, 21))

    def __init__(self) -> None:
        self._years: dict[int, tuple[date, ...]] = {}

    def in_year(self, name: str, year: int) -> date:
        """The day of a term in a Gregorian year."""
        if name not in self.names:
            raise NoSuchDate(f"{self.name}: no term {name!r}; there are {', '.join(self.names)}")
        if not self.first.year <= year <= self.last.year:
            raise OutOfRange(
                f"{self.name}: year {year} is out of range; the terms are validated for "
                f"{self.first} to {self.last}"
            )
        if (year, name) == (_UNSETTLED_YEAR, _UNSETTLED_TERM):
            raise OutOfRange(
                f"{self.name}: sources give 20 and 21 January for Dahan of 1979, which fell "
                "within seconds of midnight"
            )
        return self._days(year)[self.names.index(name)]

    def on(self, day: date) -> tuple[str, ...]:
        """The term that falls on a Gregorian day, as a tuple of one or none."""
        require_range(self, day)
        if day in self.unsettled:
            raise OutOfRange(
                f"{self.name}: whether {day} is Dahan is unsettled; it fell within seconds of "
                "the midnight between 20 and 21 January 1979"
            )
        return tuple(
            name
            for name, start in zip(self.names, self._days(day.year), strict=True)
            if start == day
        )

    def days_between(self, first: date, last: date) -> Iterator[tuple[date, str]]:
        """Every term in `first`..`last` in order of time, without those on `unsettled` days."""
        require_range(self, first)
        require_range(self, last)
        return (
            (day, name)
            for year in range(first.year, last.year + 1)
            for day, name in zip(self._days(year), self.names, strict=True)
            if first <= day <= last and day not in self.unsettled
        )

    def _days(self, year: int) -> tuple[date, ...]:
        if not self._years:
            self._years = _read_years()
        return self._years[year]


def _read_years() -> dict[int, tuple[date, ...]]:
    table = files(__package__).joinpath("solar_terms.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(table.splitlines())
    return {
        int(year): tuple(date.fromisoformat(f"{year}-{day}") for day in days)
        for year, *days in rows
    }
