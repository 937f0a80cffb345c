"""Compare every calendar system with sources of other origin on every day of its range.

    python benchmarks/calendar_agreement.py

Prints one line per comparison: what, how many days or years, how many differ. It needs
sxtwl, lunar_python, convertdate, jdatetime, python-dateutil and astronomy-engine; node (for the ICU
inside it) and the package ChineseCalendar_py (for its table of printed almanacs) are used where
they are installed and reported as skipped where not. Ends with 1 if something differs that is
not named here as known. Takes about two minutes.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

from agent_env.temporal.systems.base import CalendarDate, CalendarSystem
from agent_env.temporal.systems.catalogue import open_calendar
from agent_env.temporal.systems.chinese import Chinese, animal_of_year
from agent_env.temporal.systems.easter import EasterDays
from agent_env.temporal.systems.solar_terms import SolarTerms

KNOWN_ALMANAC_MONTHS = frozenset(
    date.fromisoformat(text)
    for text in """
    1649-05-11 1662-02-18 1673-11-09 1685-02-03 1687-03-13 1694-06-22 1704-10-29 1708-02-21
    1720-07-05 1759-03-28 1763-09-07 1778-03-28 1779-07-13 1787-12-09 1789-07-22 1796-06-05
    1804-08-05 1831-04-12 1842-01-11 1863-01-19 1880-11-03 1896-02-13 1914-11-17 1916-02-03
    1920-11-10 1768-03-18
    """.split()
)
"""Lunar months that began, as printed, a day off the new moon as computed today (Y. T. Liu,
Discrepancies between modern calculation and historical data; the same, calendar calculation),
and one new moon within seconds of midnight on which two modern computations differ."""

KNOWN_ALMANAC_LEAPS = frozenset({1645, 1651, 1661, 1727, 1789})
"""Lunar years in which the printed calendar, for a solar term a day off, leapt another month."""


def main() -> int:
    differing = 0
    for what, count, unit, differences in comparisons():
        print(f"{what:58} {count:>8} {unit:6} {len(differences):>5} differ", flush=True)
        for line in differences[:10]:
            print(f"    {line}")
        differing += len(differences)
    return 1 if differing else 0


def comparisons() -> Iterator[tuple[str, int, str, list[str]]]:
    yield every_day("chinese", "sxtwl", sxtwl_date())
    yield every_day("chinese", "lunar_python", lunar_python_date())
    yield chinese_by_astronomy()
    if find_spec("ChineseCalendar_py"):
        yield chinese_by_almanacs()
    else:
        print("chinese / printed almanacs: skipped, ChineseCalendar_py is not installed")
    yield every_day("hebrew", "convertdate", convertdate_date("hebrew"))
    yield every_day("coptic", "convertdate", convertdate_date("coptic"))
    yield every_day("ethiopic", "convertdate's coptic + 276 years", convertdate_date("coptic", 276))
    yield every_day("indian-civil", "convertdate", convertdate_date("indian_civil"))
    yield every_day("persian", "jdatetime", jdatetime_date())
    yield nowruz_by_astronomy()
    yield easter_by_dateutil()
    yield terms_by_astronomy()
    yield lichun_by_astronomy()
    if shutil.which("node"):
        for name, icu in ICU_NAMES.items():
            yield icu_days(name, icu)
    else:
        print("ICU: skipped, node is not installed")


def every_day(
    name: str, source: str, other: Callable[[date], CalendarDate]
) -> tuple[str, int, str, list[str]]:
    calendar = open_calendar(name)
    days = list(days_of(calendar))
    differences = []
    for day in days:
        ours, theirs = calendar.from_gregorian(day), other(day)
        if ours != theirs:
            differences.append(f"{day}: {ours} against {theirs}")
        elif calendar.to_gregorian(ours) != day:
            differences.append(f"{day}: {ours} does not lead back")
    return f"{name} / {source}", len(days), "days", differences


def days_of(calendar: CalendarSystem) -> Iterator[date]:
    for ordinal in range(calendar.first.toordinal(), calendar.last.toordinal() + 1):
        yield date.fromordinal(ordinal)


def sxtwl_date() -> Callable[[date], CalendarDate]:
    import sxtwl

    def convert(day: date) -> CalendarDate:
        lunar = sxtwl.fromSolar(day.year, day.month, day.day)
        return CalendarDate(
            lunar.getLunarYear(), lunar.getLunarMonth(), lunar.getLunarDay(), lunar.isLunarLeap()
        )

    return convert


def lunar_python_date() -> Callable[[date], CalendarDate]:
    from lunar_python import Solar

    def convert(day: date) -> CalendarDate:
        lunar = Solar.fromYmd(day.year, day.month, day.day).getLunar()
        month = lunar.getMonth()
        return CalendarDate(lunar.getYear(), abs(month), lunar.getDay(), month < 0)

    return convert


def convertdate_date(module: str, years: int = 0) -> Callable[[date], CalendarDate]:
    from importlib import import_module

    foreign = import_module(f"convertdate.{module}")

    def convert(day: date) -> CalendarDate:
        year, month, number = foreign.from_gregorian(day.year, day.month, day.day)
        return CalendarDate(int(year) + years, int(month), int(number))

    return convert


def jdatetime_date() -> Callable[[date], CalendarDate]:
    import jdatetime

    def convert(day: date) -> CalendarDate:
        other = jdatetime.date.fromgregorian(date=day)
        return CalendarDate(other.year, other.month, other.day)

    return convert


def chinese_by_astronomy() -> tuple[str, int, str, list[str]]:
    """Lunar years 1645 to 2056 built by the rule of that time from computed moons and suns."""
    chinese = Chinese()
    ours = {
        (month.first, month.number, month.leap)
        for year in range(1645, 2057)
        for month in chinese.lunar_months(year)
    }
    span = chinese.new_year(1645), chinese.last
    theirs = {month for month in astronomical_months(1644, 2058) if span[0] <= month[0] <= span[1]}
    unknown = sorted(
        month
        for month in ours ^ theirs
        if month[0].year not in KNOWN_ALMANAC_LEAPS
        and not {month[0] + timedelta(step) for step in (-1, 0, 1)} & KNOWN_ALMANAC_MONTHS
    )
    known = len(KNOWN_ALMANAC_MONTHS & {month[0] for month in ours - theirs})
    what = f"chinese / astronomy-engine ({known} known almanac days apart)"
    return what, len(ours), "months", [str(month) for month in unknown]


def astronomical_months(first: int, last: int) -> Iterator[tuple[date, int, bool]]:
    """First day, number and leap flag of the months from solstice to solstice, in UTC+8."""
    moons = new_moons(date(first - 1, 10, 1), date(last, 3, 1))
    for year in range(first, last):
        start = month_with(moons, sun_at(270, year - 1))
        end = month_with(moons, sun_at(270, year))
        terms = {
            month_with(moons, sun_at(longitude, of_year))
            for longitude in range(0, 360, 30)
            for of_year in (year - 1, year)
        }
        leap_due = end - start == 13
        number = 11
        for index in range(start, end):
            leap = leap_due and index > start and index not in terms
            if leap:
                leap_due = False
            elif index > start:
                number = number % 12 + 1
            yield moons[index], number, leap


def new_moons(first: date, last: date) -> list[date]:
    import astronomy

    moons = []
    moment = astronomy.Time.Make(first.year, first.month, first.day, 0, 0, 0)
    while True:
        found = astronomy.SearchMoonPhase(0, moment, 40)
        day = china_day(found)
        if day > last:
            return moons
        moons.append(day)
        moment = found.AddDays(25)


def month_with(moons: list[date], day: date) -> int:
    from bisect import bisect_right

    return bisect_right(moons, day) - 1


def sun_at(longitude: int, year: int) -> date:
    """The day in UTC+8 on which the sun reaches a longitude in a Gregorian year."""
    import astronomy

    guess = date(year, 1, 1) + timedelta(days=((longitude - 281) % 360) / 360 * 365.25 - 6)
    start = astronomy.Time.Make(guess.year, guess.month, guess.day, 0, 0, 0)
    return china_day(astronomy.SearchSunLongitude(longitude, start, 16))


def china_day(moment: object) -> date:
    return (moment.Utc().replace(tzinfo=None) + timedelta(hours=8)).date()  # type: ignore


def chinese_by_almanacs() -> tuple[str, int, str, list[str]]:
    """The table inside ChineseCalendar_py: days of the Gregorian year on which months begin."""
    spec = find_spec("ChineseCalendar_py")
    assert spec is not None
    assert spec.submodule_search_locations
    table = Path(spec.submodule_search_locations[0]) / "default_calendar_M105_2202.csv"
    chinese = Chinese()
    count, differences = 0, []
    with table.open(newline="") as file:
        for row in csv.DictReader(file):
            year = int(row["year"])
            if not 1610 <= year <= 2056:
                continue
            begins = [(int(row[f"M{month:02}"]), month, False) for month in range(1, 13)]
            if row["leap"] != "0":
                begins.append((int(row["Mleap"]), int(row["leap"]), True))
            theirs = [
                (date(year, 1, 1) + timedelta(days - 1), month, leap)
                for days, month, leap in sorted(begins)
            ]
            ours = [(month.first, month.number, month.leap) for month in chinese.lunar_months(year)]
            count += len(ours)
            if ours != theirs:
                differences.append(f"{year}: {ours} against {theirs}")
    return "chinese / printed almanacs (ChineseCalendar_py)", count, "months", differences


def nowruz_by_astronomy() -> tuple[str, int, str, list[str]]:
    """Nowruz is the day of the equinox, or the next if it comes after noon at 52.5 east."""
    import astronomy

    calendar = open_calendar("persian")
    years = range(1178, 1502)
    differences = []
    for year in years:
        equinox = astronomy.Seasons(year + 621).mar_equinox.Utc().replace(tzinfo=None)
        local = equinox + timedelta(hours=3, minutes=30)
        day = (local + timedelta(hours=12)).date()
        if calendar.to_gregorian(CalendarDate(year, 1, 1)) != day:
            differences.append(f"{year}: equinox on {local} in Tehran")
    return "persian new year / astronomy-engine", len(years), "years", differences


def easter_by_dateutil() -> tuple[str, int, str, list[str]]:
    from dateutil.easter import easter

    days = EasterDays()
    years = range(days.first.year, days.last.year + 1)
    differences = [str(year) for year in years if days.easter(year) != easter(year)]
    return "easter / dateutil", len(years), "years", differences


def terms_by_astronomy() -> tuple[str, int, str, list[str]]:
    terms = SolarTerms()
    found = list(terms.days_between(terms.first, terms.last))
    differences = [
        f"{name} {day}"
        for day, name in found
        if sun_at((285 + 15 * terms.names.index(name)) % 360, day.year) != day
    ]
    return "solar terms / astronomy-engine", len(found), "terms", differences


def lichun_by_astronomy() -> tuple[str, int, str, list[str]]:
    """The animal changes on the day of Lichun and only then."""
    chinese = Chinese()
    years = range(chinese.first.year, chinese.last.year + 1)
    differences = [
        str(year)
        for year in years
        if chinese.animal_by_lichun(sun_at(315, year)) != animal_of_year(year)
        or chinese.animal_by_lichun(sun_at(315, year) - timedelta(1)) == animal_of_year(year)
    ]
    return "chinese Lichun / astronomy-engine", len(years), "years", differences


ICU_NAMES = {
    "hebrew": "hebrew",
    "islamic": "islamic-umalqura",
    "persian": "persian",
    "coptic": "coptic",
    "ethiopic": "ethiopic",
    "indian-civil": "indian",
    "japanese": "japanese",
}

ICU_SCRIPT = """
const [calendar, first, count] = process.argv.slice(1);
const format = new Intl.DateTimeFormat('en-u-ca-' + calendar,
  {timeZone: 'UTC', year: 'numeric', month: 'numeric', day: 'numeric', era: 'short'});
const start = Date.parse(first), lines = [process.versions.icu];
for (let i = 0; i < Number(count); i++) {
  const p = {};
  for (const x of format.formatToParts(start + i * 86400000)) p[x.type] = x.value;
  lines.push([p.year, p.month, p.day, p.era || ''].join('\\t'));
}
console.log(lines.join('\\n'));
"""

ICU_HEBREW = (
    *("Nisan", "Iyar", "Sivan", "Tamuz", "Av", "Elul", "Tishri", "Heshvan", "Kislev", "Tevet"),
    *("Shevat", "Adar", "Adar II"),
)


def icu_days(name: str, icu: str) -> tuple[str, int, str, list[str]]:
    calendar = open_calendar(name)
    count = (calendar.last - calendar.first).days + 1
    command = ["node", "-e", ICU_SCRIPT, icu, calendar.first.isoformat(), str(count)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    version, *lines = run.stdout.splitlines()
    differences = []
    for day, line in zip(days_of(calendar), lines, strict=True):
        theirs = icu_date(name, *line.split("\t"))
        if calendar.from_gregorian(day) != theirs:
            differences.append(f"{day}: {calendar.from_gregorian(day)} against {theirs}")
    return f"{name} / ICU {version}", count, "days", differences


def icu_date(name: str, year: str, month: str, day: str, era: str) -> CalendarDate:
    if name == "hebrew":
        plain = "Adar" if month == "Adar I" else month
        return CalendarDate(int(year), ICU_HEBREW.index(plain) + 1, int(day))
    plain_era = era.replace("ō", "o") if name == "japanese" else None
    return CalendarDate(int(year), int(month), int(day), era=plain_era)


if __name__ == "__main__":
    sys.exit(main())
