"""What holds of every calendar system alike."""

import subprocess
import sys
from datetime import date, timedelta

import pytest

from agent_env.temporal.systems.base import CalendarDate, CalendarError, NoSuchDate, OutOfRange
from agent_env.temporal.systems.catalogue import (
    CALENDARS,
    DAY_NAMES,
    open_calendar,
    open_day_names,
)

each_calendar = pytest.mark.parametrize("name", CALENDARS)
each_day_names = pytest.mark.parametrize("name", DAY_NAMES)
DAY = timedelta(days=1)


@each_calendar
def test_a_date_leads_back_to_its_day(name):
    calendar = open_calendar(name)
    for ordinal in range(calendar.first.toordinal(), calendar.last.toordinal() + 1, 31):
        day = date.fromordinal(ordinal)
        assert calendar.to_gregorian(calendar.from_gregorian(day)) == day


@each_calendar
def test_the_first_and_last_day_are_inside_and_their_neighbours_are_not(name):
    calendar = open_calendar(name)
    for inside, outside in (
        (calendar.first, calendar.first - DAY),
        (calendar.last, calendar.last + DAY),
    ):
        assert calendar.to_gregorian(calendar.from_gregorian(inside)) == inside
        with pytest.raises(OutOfRange, match=f"{outside} is out of range.*{calendar.first} to"):
            calendar.from_gregorian(outside)


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
def test_months_follow_each_other_without_gap_and_cover_the_range(name):
    calendar = open_calendar(name)
    expected = calendar.first
    for span in calendar.months_between(calendar.first, calendar.last):
        assert span.first == expected
        assert 1 <= span.days <= span.size
        expected = span.first + timedelta(days=span.days)
    assert expected == calendar.last + DAY


@each_calendar
def test_a_span_within_a_month_gives_that_part_of_it(name):
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


@each_calendar
def test_a_span_that_leaves_the_range_raises_before_it_is_walked(name):
    calendar = open_calendar(name)
    with pytest.raises(OutOfRange):
        calendar.months_between(calendar.first - DAY, calendar.last)
    with pytest.raises(OutOfRange):
        calendar.months_between(calendar.first, calendar.last + DAY)


@each_calendar
def test_every_month_has_a_name(name):
    calendar = open_calendar(name)
    known = {*calendar.months, *(f"Run {month}" for month in calendar.months), "Adar I"}
    spans = list(calendar.months_between(date(2001, 1, 1), date(2024, 12, 31)))
    names = {calendar.month_name(span.opens) for span in spans}
    assert set(calendar.months) <= names <= known


@each_day_names
def test_named_days_come_in_order_and_are_found_on_their_day(name):
    days = open_day_names(name)
    found = list(days.days_between(days.first, days.last))
    assert [day for day, _ in found] == sorted(day for day, _ in found)
    for day, what in found[::7]:
        assert what in days.on(day)
        assert days.in_year(what, day.year) == day


@each_day_names
def test_named_days_raise_outside_their_range_and_for_unknown_names(name):
    days = open_day_names(name)
    with pytest.raises(OutOfRange):
        days.on(days.first - DAY)
    with pytest.raises(OutOfRange):
        days.in_year(days.names[0], days.last.year + 1)
    with pytest.raises(OutOfRange):
        days.days_between(days.first, days.last + DAY)
    with pytest.raises(NoSuchDate, match=f"no (day|term) 'Flag Day'; there are {days.names[0]}"):
        days.in_year("Flag Day", 2000)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(CalendarError, match="unknown calendar 'mayan'; known: chinese, coptic"):
        open_calendar("mayan")
    with pytest.raises(CalendarError, match="known: easter, solar-terms"):
        open_day_names("mayan")


def test_the_catalogue_imports_no_calendar_and_no_calendar_imports_an_oracle():
    script = (
        "import sys; from agent_env.temporal.systems.catalogue import *;"
        "assert 'agent_env.temporal.systems.hebrew' not in sys.modules;"
        "[open_calendar(n) for n in CALENDARS]; [open_day_names(n) for n in DAY_NAMES];"
        "print([n for n in ('convertdate', 'jdatetime', 'dateutil', 'lunar_python', 'sxtwl')"
        " if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[]\n", "")
