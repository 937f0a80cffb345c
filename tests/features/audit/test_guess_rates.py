"""Guessers score what can be counted by hand."""

from random import Random

import pytest

from agent_env.families.time_puzzles.facts import ExplicitYear, Month
from agent_env.features.audit.guess_rates import case_of, chance_of, guess_rates, rates_of
from tests.families.time_puzzles.by_hand import GOOD, SETS, TABLES, WATERLOO, by_hand

NEEDLESS = by_hand("needless", WATERLOO, ExplicitYear(year=1815), Month(month=6))
IMPOSSIBLE = by_hand("impossible", WATERLOO, ExplicitYear(year=1816))


def test_guesses_and_rates_go_by_what_is_possible():
    assert case_of(GOOD[0], SETS).rest.bit_count() == 251
    needless = case_of(NEEDLESS, SETS)
    assert needless.rest == needless.gold
    assert chance_of(case_of(GOOD[0], SETS), SETS) == 1 / 251  # 18 June of any year
    assert chance_of(case_of(GOOD[3], SETS), SETS) == 1 / 31  # any day of March
    assert chance_of(case_of(GOOD[2], SETS), SETS) == 0  # three years at once
    assert chance_of(case_of(NEEDLESS, SETS), SETS) == 1
    assert rates_of([case_of(GOOD[0], SETS)], SETS, Random(0)).always_none == 0
    assert IMPOSSIBLE.gold == ()
    assert rates_of([case_of(IMPOSSIBLE, SETS)], SETS, Random(0)).always_none == 1
    assert chance_of(case_of(IMPOSSIBLE, SETS), SETS) == 0
    rates = guess_rates((GOOD[0], GOOD[3], NEEDLESS, IMPOSSIBLE), TABLES)
    assert (rates.puzzles, rates.ignore_event, rates.always_none) == (4, 1, 1)
    assert rates.random_value == pytest.approx(1 + 1 / 251 + 1 / 31)
    assert rates.as_json()["ignore_event"] == 0.25
    broken = NEEDLESS.model_copy(update={"gold": ("2001-02-30",)})
    outside = NEEDLESS.model_copy(update={"gold": ("1066-10-14",)})
    assert guess_rates((broken, outside), TABLES).random_value == 0
