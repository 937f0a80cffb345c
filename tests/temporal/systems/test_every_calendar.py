"""What holds of every calendar system alike; what libraries of other origin say of each."""

import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import astronomy
import jdatetime
import pytest
from convertdate import coptic, hebrew, indian_civil

from agent_env.temporal.systems.base import CalendarDate, CalendarError, NoSuchDate, OutOfRange
from agent_env.temporal.systems.catalogue import CALENDARS, DAY_NAMES, open_calendar, open_day_names
from tests.tables import tables

each_calendar = pytest.mark.parametrize("name", CALENDARS)
each_day_names = pytest.mark.parametrize("name", DAY_NAMES)
DAY = timedelta(days=1)
KNOWN_DAYS = (Path(__file__).parent / "data" / "known_days.txt").read_text().splitlines()


@pytest.mark.parametrize("known", KNOWN_DAYS)
def test_known_days_convert_both_ways(known):
    name, year, month, number, day, *_ = known.split(" ")
    when = CalendarDate(int(year), int(month), int(number))
    assert open_calendar(name).to_gregorian(when) == date.fromisoformat(day)
    assert open_calendar(name).from_gregorian(date.fromisoformat(day)) == when


def ethiopic_of(day):
    year, month, number = coptic.from_gregorian(day.year, day.month, day.day)
    return year + 276, month, number


def persian_of(day):
    when = jdatetime.date.fromgregorian(date=day)
    return when.year, when.month, when.day


OTHERS = {
    "coptic": lambda day: coptic.from_gregorian(day.year, day.month, day.day),
    "ethiopic": ethiopic_of,
    "hebrew": lambda day: hebrew.from_gregorian(day.year, day.month, day.day),
    "indian-civil": lambda day: indian_civil.from_gregorian(day.year, day.month, day.day),
    "persian": persian_of,
}
"""By convertdate and jdatetime."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_every_month_of_the_range_agrees_with_another_library(name):
    """Where all months begin alike, all their days agree, as both sides count them off; the
    comparison of each single day is made by benchmarks/calendar_agreement.py."""
    calendar = open_calendar(name)
    begins = [span.first for span in calendar.months_between(calendar.first, calendar.last)]
    for day in (*begins, calendar.last):
        ours = calendar.from_gregorian(day)
        assert (ours.year, ours.month, ours.day) == OTHERS[name](day), day


def test_persian_years_begin_by_the_equinox():
    """Every seventh year and those in which it comes closest to noon; all in the benchmark."""
    for year in (*range(1799, 2124, 7), 1831, 1930, 2091):
        equinox = astronomy.Seasons(year).mar_equinox.Utc().replace(tzinfo=None)
        day = (equinox + timedelta(hours=3.5 + 12)).date()
        assert open_calendar("persian").from_gregorian(day) == CalendarDate(year - 621, 1, 1)


def test_adar_is_one_or_two_by_the_year():
    adars = [CalendarDate(5784, 12, 1), CalendarDate(5784, 13, 1), CalendarDate(5783, 12, 1)]
    names = [open_calendar("hebrew").month_name(adar) for adar in adars]
    assert names == ["Adar I", "Adar II", "Adar"]


@pytest.mark.parametrize(("name", "when", "error", "reason"), tables(__file__)["no_such_days"])
def test_a_day_that_its_year_has_not_is_named(name, when, error, reason):
    year, month, day, *era = when.split()
    when = CalendarDate(int(year), int(month), int(day), era=" ".join(era) or None)
    with pytest.raises({"OutOfRange": OutOfRange, "NoSuchDate": NoSuchDate}[error], match=reason):
        open_calendar(name).to_gregorian(when)


ICU_78 = """
-+--+-++++-+ --+---++++-+ +--+---+++-+ +-+-+--+-+-+ +-++-+--+-+- +-++-+-++-+- -+-+-++-++-+
--+-+-++-++- +--+--+++-++ -+--+--++-++ -++--+-+-+-+ -++-+-+-+--+ -+++-+-+-+-- +-++-++-+-+-
-+-+-++-++-- +-+-+-+-++-+ -+-+-+-+-+-+ +-++--+-+--+ +-+++--+--+- +-+++-+-+--+ -+-+++-+-+--
+-+-++-++-+- -+-+-+-++-+- +-+-+-+-+-++ -+-++--+-+-+ -+++-+--+--+ -+++-++--+-- +-+++-+-+-+-
-+-++-++-+-+ --+-+-++-++- +-+--+-+-++- ++
""".split()
"""Month lengths of ICU 78's islamic-umalqura from 1420, begun on 17 April 1999, to Safar 1451:
+ is 30 days, - is 29."""


def test_every_month_of_the_range_agrees_with_icu():
    islamic = open_calendar("islamic")
    begins = date(1999, 4, 17)
    count = 0
    for year, sizes in enumerate(ICU_78, start=1420):
        for month, sign in enumerate(sizes, start=1):
            size = 30 if sign == "+" else 29
            last = begins + timedelta(size - 1)
            if begins >= islamic.first:
                count += 1
                assert islamic.from_gregorian(begins) == CalendarDate(year, month, 1)
                assert islamic.from_gregorian(last) == CalendarDate(year, month, size)
            begins += timedelta(size)
    assert count == 365
    assert begins == islamic.last + timedelta(1)


ERAS = """
1873-01-01 Meiji 6, 1912-07-29 Meiji 45, 1912-07-30 Taisho 1, 1926-12-24 Taisho 15, \
1926-12-25 Showa 1, 1989-01-07 Showa 64, 1989-01-08 Heisei 1, 2019-04-30 Heisei 31, \
2019-05-01 Reiwa 1, 2024-02-29 Reiwa 6
"""


@pytest.mark.parametrize("known", ERAS.strip().split(", "))
def test_eras_begin_and_end_on_their_known_days(known):
    day, era, year = known.split()
    gregorian = date.fromisoformat(day)
    when = CalendarDate(int(year), gregorian.month, gregorian.day, era=era)
    calendar = open_calendar("japanese")
    assert (calendar.from_gregorian(gregorian), calendar.to_gregorian(when)) == (when, gregorian)


def test_a_month_may_have_two_eras():
    calendar = open_calendar("japanese")
    parts = calendar.months_between(date(1989, 1, 1), date(1989, 1, 31))
    assert [(part.opens.era, part.opens.day, part.days, part.size) for part in parts] == [
        ("Showa", 1, 7, 31),
        ("Heisei", 8, 24, 31),
    ]
    with pytest.raises(OutOfRange, match="1872-12-31 is out of range"):
        calendar.from_gregorian(date(1872, 12, 31))


@each_calendar
def test_days_and_months_of_the_range_lead_back_and_its_ends_are_its_ends(name):
    calendar = open_calendar(name)
    for ordinal in range(calendar.first.toordinal(), calendar.last.toordinal() + 1, 31):
        day = date.fromordinal(ordinal)
        assert calendar.to_gregorian(calendar.from_gregorian(day)) == day
    ends = ((calendar.first, calendar.first - DAY), (calendar.last, calendar.last + DAY))
    for inside, outside in ends:
        assert calendar.to_gregorian(calendar.from_gregorian(inside)) == inside
        with pytest.raises(OutOfRange, match=f"{outside} is out of range.*{calendar.first} to"):
            calendar.from_gregorian(outside)
    expected = calendar.first
    for span in calendar.months_between(calendar.first, calendar.last):
        assert span.first == expected
        assert 1 <= span.days <= span.size
        expected = span.first + timedelta(days=span.days)
    assert expected == calendar.last + DAY
    known = {*calendar.months, *(f"Run {month}" for month in calendar.months), "Adar I"}
    spans = list(calendar.months_between(date(2001, 1, 1), date(2024, 12, 31)))
    names = {calendar.month_name(span.opens) for span in spans}
    assert set(calendar.months) <= names <= known


@each_calendar
@pytest.mark.parametrize("year", [-10_000_000, 0, 9_999, 10_000_000])
def test_years_far_outside_raise_and_are_never_guessed(name, year):
    era = "Reiwa" if name == "japanese" else None
    with pytest.raises(CalendarError):
        open_calendar(name).to_gregorian(CalendarDate(year, 5, 1, era=era))


@each_calendar
@pytest.mark.parametrize(("month", "day"), [(0, 1), (14, 1), (-1, 1), (1, 0), (1, -1), (1, 32)])
def test_months_and_days_that_do_not_exist_are_named(name, month, day):
    calendar = open_calendar(name)
    year = calendar.from_gregorian(date(2010, 6, 1)).year
    era = "Heisei" if name == "japanese" else None
    with pytest.raises(NoSuchDate, match=rf"{name}: .*no (month|day) {month if day == 1 else day}"):
        calendar.to_gregorian(CalendarDate(year, month, day, era=era))


@each_calendar
def test_spans_are_parts_of_months_or_raise(name):
    calendar = open_calendar(name)
    months = calendar.months_between(date(2005, 1, 1), date(2006, 1, 1))
    whole = next(m for m in months if m.opens.day == 1 and m.days == m.size > 20)
    first = whole.first + 3 * DAY
    (part,) = calendar.months_between(first, first + 4 * DAY)
    assert (part.first, part.opens, part.days) == (first, calendar.from_gregorian(first), 5)
    assert (part.opens.day, part.size) == (4, whole.size)
    with pytest.raises(OutOfRange):
        calendar.months_between(calendar.first - DAY, calendar.last)
    with pytest.raises(OutOfRange):
        calendar.months_between(calendar.first, calendar.last + DAY)


@each_day_names
def test_named_days_come_in_order_and_raise_outside(name):
    days = open_day_names(name)
    found = list(days.days_between(days.first, days.last))
    assert [day for day, _ in found] == sorted(day for day, _ in found)
    for day, what in found[::7]:
        assert what in days.on(day)
        assert days.in_year(what, day.year) == day
    with pytest.raises(OutOfRange):
        days.on(days.first - DAY)
    with pytest.raises(OutOfRange):
        days.in_year(days.names[0], days.last.year + 1)
    with pytest.raises(OutOfRange):
        days.days_between(days.first, days.last + DAY)
    with pytest.raises(NoSuchDate, match=f"no (day|term) 'Flag Day'; there are {days.names[0]}"):
        days.in_year("Flag Day", 2000)


def test_the_catalogue_imports_no_calendar_and_knows_its_names():
    script = (
        "import sys; from agent_env.temporal.systems.catalogue import *;"
        "assert 'agent_env.temporal.systems.hebrew' not in sys.modules;"
        "[open_calendar(n) for n in CALENDARS]; [open_day_names(n) for n in DAY_NAMES];"
        "print([n for n in ('convertdate', 'jdatetime', 'dateutil', 'lunar_python', 'sxtwl')"
        " if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[]\n", "")
    with pytest.raises(CalendarError, match="unknown calendar 'mayan'; known: chinese, coptic"):
        open_calendar("mayan")
    with pytest.raises(CalendarError, match="known: easter, solar-terms"):
        open_day_names("mayan")
