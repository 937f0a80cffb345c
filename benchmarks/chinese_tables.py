"""Write the tables behind the Chinese calendar and the solar terms anew, by sxtwl.

    python benchmarks/chinese_tables.py

The package ships the tables and not the library: a year costs sxtwl up to 9 ms, and an answer
must not change with its version. `calendar_agreement.py` compares the tables with it and others.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import sxtwl

from agent_env.temporal.systems.chinese import Chinese
from agent_env.temporal.systems.solar_terms import SolarTerms

SYSTEMS = Path(__file__).parents[1] / "agent_env" / "temporal" / "systems"


def main() -> None:
    years = range(Chinese.first.year, Chinese.last.year)
    header = ("year", "new_year", "leap_month", "sizes", "lichun")
    write("chinese_years.csv", header, (lunar_year(year) for year in years))
    term_years = range(SolarTerms.first.year, SolarTerms.last.year + 1)
    rows = ((year, *(f"{day:%m-%d}" for day in terms(year))) for year in term_years)
    write("solar_terms.csv", ("year", *SolarTerms.names), rows)


def write(name, header, rows) -> None:
    with (SYSTEMS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def lunar_year(year: int) -> tuple[int, str, int, str, str]:
    """A row: the lunar year, its first day, the month it repeats (0: none), month lengths."""
    begins = day = new_year(year)
    leap, sizes = 0, []
    while sxtwl_day(day).getLunarYear() == year:
        if sxtwl_day(day).isLunarLeap():
            leap = sxtwl_day(day).getLunarMonth()
        sizes.append(29 if sxtwl_day(day + timedelta(29)).getLunarDay() == 1 else 30)
        day += timedelta(sizes[-1])
    return year, begins.isoformat(), leap, " ".join(map(str, sizes)), f"{terms(year)[2]:%m-%d}"


def new_year(year: int) -> date:
    day = date(year, 1, 20)
    while (sxtwl_day(day).getLunarMonth(), sxtwl_day(day).getLunarDay()) != (1, 1):
        day += timedelta(1)
    return day


def terms(year: int) -> list[date]:
    """The 24 days of a Gregorian year on which a solar term falls."""
    days = (date(year, 1, 1) + timedelta(number) for number in range(366))
    return [day for day in days if day.year == year and sxtwl_day(day).hasJieQi()]


def sxtwl_day(day: date) -> sxtwl.Day:
    return sxtwl.fromSolar(day.year, day.month, day.day)


if __name__ == "__main__":
    main()
