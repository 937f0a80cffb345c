"""Units, numbers, and dates at the precision at which they are written."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.temp_answers.scoring import answer_spec
from agent_env.families.temp_answers.scoring.time_parser import PLAIN, value_of
from tests.tables import tables

CASES = tables(__file__)


def test_units_are_known_by_their_names():
    for text, unit in (*CASES["units"], ("fortnight", None), ("", None)):
        assert answer_spec.parse_unit(text) == unit


def test_orders_calendars_and_units_are_kept_to():
    assert answer_spec.convert(2, "months", "days") is None
    assert answer_spec.convert(2, "years", "months") == 24
    assert answer_spec.convert(90, "minutes", "hours") == 1.5
    for day_first, month_and_day in ((False, (10, 1)), (True, (1, 10))):
        (found,) = answer_spec.find_dates("10/01/2015", day_first=day_first)
        assert (found.month, found.day) == month_and_day
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
    [*CASES["numbers"], *((text, None) for text in (*CASES["no_numbers"], "9" * 60))],
)
def test_numbers_in_digits_and_words(text, number):
    match = PLAIN.fullmatch(text)
    assert (match and value_of(match[0])) == number


@pytest.mark.parametrize(("text", "found"), CASES["dates"])
def test_what_is_missing_stays_missing(text, found):
    (only,) = answer_spec.find_dates(text)
    parts = (only.year, only.month, only.day)
    assert "/".join("?" if part is None else str(part) for part in parts) == found


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_ordinals_are_those_of_the_calendar(day):
    ordinal = answer_spec.days_from_civil(day.year, day.month, day.day)
    assert ordinal == (day - date(1970, 1, 1)).days
    (found,) = answer_spec.find_dates(f"{day.year:04}-{day.month:02}-{day.day:02}")
    assert found.ordinal == ordinal
