"""What holds of every calendar system alike."""

import subprocess
import sys
from datetime import date, timedelta

import pytest

from agent_env.temporal.systems.base import CalendarDate, CalendarError, NoSuchDate, OutOfRange
from agent_env.temporal.systems.catalogue import CALENDARS, DAY_NAMES, open_calendar, open_day_names

each_calendar = pytest.mark.parametrize("name", CALENDARS)
each_day_names = pytest.mark.parametrize("name", DAY_NAMES)
DAY = timedelta(days=1)


KNOWN_DAYS = """
coptic 1740 1 1 2023-09-12 Nayrouz after a leap year
coptic 1741 1 1 2024-09-11
coptic 1740 4 29 2024-01-08
coptic 1739 13 6 2023-09-11
ethiopic 1888 6 23 1896-03-01 the battle of Adwa
ethiopic 2000 1 1 2007-09-12 the millennium
ethiopic 2016 1 1 2023-09-12
ethiopic 2017 1 1 2024-09-11 Enkutatash
ethiopic 2017 1 17 2024-09-27 Meskel
hebrew 5708 2 5 1948-05-14 declaration of independence
hebrew 5784 7 1 2023-09-16 Rosh Hashanah
hebrew 5785 7 1 2024-10-03
hebrew 5784 9 25 2023-12-08 Hanukkah
hebrew 5784 13 14 2024-03-24 Purim
hebrew 5784 1 15 2024-04-23 Passover
indian-civil 1869 5 24 1947-08-15 independence
indian-civil 1871 11 6 1950-01-26 the republic
indian-civil 1879 1 1 1957-03-22 the calendar's first day in force
indian-civil 1946 1 1 2024-03-21
islamic 1421 1 1 2000-04-06
islamic 1444 12 10 2023-06-28 Eid al-Adha
islamic 1445 9 1 2024-03-11 first of Ramadan
islamic 1445 10 1 2024-04-10 Eid al-Fitr
islamic 1446 1 1 2024-07-07
persian 1304 1 11 1925-03-31 adopted by law
persian 1357 11 22 1979-02-11 the revolution's anniversary
persian 1400 1 1 2021-03-21
persian 1403 1 1 2024-03-20
persian 1403 12 30 2025-03-20
""".strip().splitlines()


@pytest.mark.parametrize("known", KNOWN_DAYS)
def test_known_days_convert_both_ways(known):
    name, year, month, number, day, *_ = known.split(" ")
    when = CalendarDate(int(year), int(month), int(number))
    assert open_calendar(name).to_gregorian(when) == date.fromisoformat(day)
    assert open_calendar(name).from_gregorian(date.fromisoformat(day)) == when


@each_calendar
def test_days_and_months_of_the_range_lead_back_and_its_ends_are_its_ends(name):
    calendar = open_calendar(name)
    for ordinal in range(calendar.first.toordinal(), calendar.last.toordinal() + 1, 31):
        day = date.fromordinal(ordinal)
        assert calendar.to_gregorian(calendar.from_gregorian(day)) == day
    for inside, outside in (
        (calendar.first, calendar.first - DAY),
        (calendar.last, calendar.last + DAY),
    ):
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
    whole = next(
        span
        for span in calendar.months_between(date(2005, 1, 1), date(2006, 1, 1))
        if span.opens.day == 1 and span.days == span.size > 20
    )
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
