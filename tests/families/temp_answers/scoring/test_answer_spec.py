"""Units and numbers.

Dates at the precision at which they are written.
"""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.temp_answers.scoring import answer_spec
from agent_env.families.temp_answers.scoring.time_parser import PLAIN, value_of


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("<num_years>", "years"), ("# months", "months"), ("hr", "hours"), ("Minutes", "minutes"),
        ("day", "days"), ("sec", "seconds"), ("wk", "weeks"), ("fortnight", None), ("", None),
    ],
)  # fmt: skip
def test_units_are_known_by_their_names(text, unit):
    assert answer_spec.parse_unit(text) == unit


def test_orders_calendars_and_units_are_kept_to():
    assert answer_spec.convert(2, "months", "days") is None
    assert answer_spec.convert(2, "years", "months") == 24
    assert answer_spec.convert(90, "minutes", "hours") == 1.5
    (us,), (eu,) = (
        answer_spec.find_dates("10/01/2015"),
        answer_spec.find_dates("10/01/2015", day_first=True),
    )
    assert (us.month, us.day, eu.month, eu.day) == (10, 1, 1, 10)
    assert list(answer_spec.find_dates("2001-02-30")) == []
    assert answer_spec.impossible("2001-02-30")
    assert not answer_spec.impossible("2000-02-29")
    (before,), (after,) = answer_spec.find_dates("1 BC"), answer_spec.find_dates("AD 1")
    assert (after.year or 0) - (before.year or 0) == 1


@given(st.integers(-(10**18), 10**18), st.sampled_from(sorted(answer_spec.SECONDS)))
def test_turning_a_unit_into_seconds_and_back_loses_nothing(amount, unit):
    seconds = answer_spec.convert(amount, unit, "seconds")
    assert answer_spec.convert(seconds, "seconds", unit) == amount


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,095", 1095), ("10,000,000", 10_000_000), ("-5", -5), ("−5", -5), ("2.50", 2.5),
        ("7.0", 7), ("1e15", 10**15), ("twenty-five", 25), ("one hundred and five", 105),
        ("two thousand nineteen", 2019), ("Zero", 0), ("five six", None), ("1,2", None),
        ("9" * 60, None), ("about", None),
    ],
)  # fmt: skip
def test_numbers_in_digits_and_words(text, number):
    match = PLAIN.fullmatch(text)
    assert (match and value_of(match[0])) == number


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2005-04-07", (2005, 4, 7)), ("24 May, 2023", (2023, 5, 24)),
        ("November 11, 2010", (2010, 11, 11)), ("2004-Feb-18", (2004, 2, 18)),
        ("the 3rd of March 1999", (1999, 3, 3)), ("25/12/2015", (2015, 12, 25)),
        ("10/01/2015", (2015, 10, 1)), ("May 2005", (2005, 5, None)), ("2005-05", (2005, 5, None)),
        ("March 15, 44 BC", (-43, 3, 15)), ("44 BCE", (-43, None, None)),
        ("AD 79", (79, None, None)), ("March 5", (None, 3, 5)), ("2009", (2009, None, None)),
        ("2001-06-20T23:30:00+05:00", (2001, 6, 20)),
    ],
)  # fmt: skip
def test_what_is_missing_stays_missing(text, found):
    (only,) = answer_spec.find_dates(text)
    assert (only.year, only.month, only.day) == found


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_ordinals_are_those_of_the_calendar(day):
    ordinal = answer_spec.days_from_civil(day.year, day.month, day.day)
    assert ordinal == (day - date(1970, 1, 1)).days
    (found,) = answer_spec.find_dates(f"{day.year:04}-{day.month:02}-{day.day:02}")
    assert found.ordinal == ordinal
