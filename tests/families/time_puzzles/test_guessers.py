"""Guessers score what can be counted by hand."""

from random import Random

import pytest

from agent_env.families.time_puzzles.facts import ExplicitYear, Month
from agent_env.families.time_puzzles.guessers import (
    case_of,
    chance_of,
    guess_rates,
    rates_of,
)

from .by_hand import GOOD, SETS, TABLES, WATERLOO, by_hand

NEEDLESS = by_hand("needless", WATERLOO, ExplicitYear(year=1815), Month(month=6))
IMPOSSIBLE = by_hand("impossible", WATERLOO, ExplicitYear(year=1816))


def test_without_the_event_a_needed_one_leaves_more_days():
    assert case_of(GOOD[0], SETS).rest.bit_count() == 251
    needless = case_of(NEEDLESS, SETS)
    assert needless.rest == needless.gold


def test_a_random_value_is_one_of_those_that_the_other_facts_allow():
    assert chance_of(case_of(GOOD[0], SETS), SETS) == 1 / 251  # 18 June of any year
    assert chance_of(case_of(GOOD[3], SETS), SETS) == 1 / 31  # any day of March
    assert chance_of(case_of(GOOD[2], SETS), SETS) == 0  # three years at once
    assert chance_of(case_of(NEEDLESS, SETS), SETS) == 1


def test_none_is_right_only_where_there_is_no_date():
    assert rates_of([case_of(GOOD[0], SETS)], SETS, Random(0)).always_none == 0
    assert IMPOSSIBLE.gold == ()
    assert rates_of([case_of(IMPOSSIBLE, SETS)], SETS, Random(0)).always_none == 1
    assert chance_of(case_of(IMPOSSIBLE, SETS), SETS) == 0


def test_rates_count_exact_matches_over_a_set():
    rates = guess_rates((GOOD[0], GOOD[3], NEEDLESS, IMPOSSIBLE), TABLES)
    assert (rates.puzzles, rates.ignore_event, rates.always_none) == (4, 1, 1)
    assert rates.random_value == pytest.approx(1 + 1 / 251 + 1 / 31)
    assert rates.as_json()["ignore_event"] == 0.25


def test_a_gold_that_no_answer_can_be_is_never_guessed():
    broken = NEEDLESS.model_copy(update={"gold": ("2001-02-30",)})
    outside = NEEDLESS.model_copy(update={"gold": ("1066-10-14",)})
    assert guess_rates((broken, outside), TABLES).random_value == 0
