"""Units and numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.temp_answers.scoring.time_numbers import read_number
from agent_env.families.temp_answers.scoring.time_units import SECONDS, convert, parse_unit, same


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("<num_years>", "years"), ("# months", "months"), ("hr", "hours"), ("Minutes", "minutes"),
        ("day", "days"), ("sec", "seconds"), ("wk", "weeks"), ("fortnight", None), ("", None),
    ],
)  # fmt: skip
def test_units_are_known_by_their_names(text: str, unit: str | None) -> None:
    assert parse_unit(text) == unit


def test_a_month_is_no_number_of_days() -> None:
    assert convert(2, "months", "days") is None
    assert convert(2, "years", "months") == 24
    assert convert(90, "minutes", "hours") == 1.5


@given(st.integers(-(10**18), 10**18), st.sampled_from(sorted(SECONDS)))
def test_turning_a_unit_into_seconds_and_back_loses_nothing(amount: int, unit: str) -> None:
    seconds = convert(amount, unit, "seconds")
    assert isinstance(seconds, int)
    assert convert(seconds, "seconds", unit) == amount


def test_large_whole_numbers_are_told_apart() -> None:
    hours = 10**15
    assert convert(hours, "hours", "seconds") == 3_600_000_000_000_000_000
    assert not same(hours * 3600, hours * 3600 + 1)
    assert same(0.1 + 0.2, 0.3)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,095", 1095), ("10,000,000", 10_000_000), ("-5", -5), ("−5", -5), ("2.50", 2.5),
        ("7.0", 7), ("1e15", 10**15), ("twenty-five", 25), ("one hundred and five", 105),
        ("two thousand nineteen", 2019), ("Zero", 0), ("five six", None), ("1,2", None),
        ("9" * 60, None), ("about", None),
    ],
)  # fmt: skip
def test_numbers_in_digits_and_words(text: str, number: float | None) -> None:
    assert read_number(text) == number
