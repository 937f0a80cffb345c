"""Metrics of time answers, with the worked examples of the paper."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.temp_answers.scoring import time_errors
from agent_env.families.temp_answers.scoring.answer_spec import AnswerSpec, TimeAnswer
from agent_env.families.temp_answers.scoring.time_answers import read_response

HOURS = AnswerSpec("number", "hours")
YEARS = AnswerSpec("number", "years")
SCALE = time_errors.Scale(mean=10.0, deviation=4.0, items=3)
AMOUNTS = st.integers(-(10**12), 10**12)


def of(given_amount, gold, wanted=HOURS, scale=SCALE):
    outcome = "unparsable" if given_amount is None else "parsed"
    return time_errors.measure(TimeAnswer(outcome, given_amount), gold, wanted, scale)


def test_the_papers_examples_and_the_ends_of_the_scale():
    for pairs, exact, error, percentage in (
        ([(8, 8), (5, 3)], [True, False], 2, 12.5),
        ([(24, 8), (3, 3)], [False, True], 16, 25.0),
    ):
        found = [of(*pair) for pair in pairs]
        assert [each.exact for each in found] == exact
        assert sum(abs(each.error) for each in found) == error
        assert sum(each.percentage for each in found) / 2 == pytest.approx(percentage)
    # The paper reports a scaled error of 5.12 for these nine years.
    year = AnswerSpec("year", "years")
    answer = read_response("Final Answer: Jenson Button won it in 2018.", year)
    scale = time_errors.Scale(2009 - 9 / 5.12, 9 / 5.12, 305)
    found = time_errors.measure(answer, 2009, year, scale)
    assert (found.error, found.percentage) == (9, None)
    assert found.scaled == pytest.approx(5.12)
    span = AnswerSpec("duration", "seconds", "json", {"X": "hours", "Y": "minutes", "Z": "seconds"})
    gold = read_response("{'X': 2.0, 'Y': 5.0, 'Z': 45.0}", span).amount
    given_answer = read_response("{'X': 127, 'Y': 30, 'Z': 0}", span)
    assert gold == 2 * 3600 + 5 * 60 + 45 == 15 * (16 * 60 + 46) // 2
    found = time_errors.measure(given_answer, gold, span, None)
    assert found.error == 459_000 - 7545 > 5 * 86_400
    found = of(None, 8)
    assert (found.exact, found.error, found.percentage, found.scaled) == (False, None, 100.0, None)
    found = of(0, 0, scale=time_errors.Scale(0.0, 0.0, 1))  # one item has no deviation
    assert (found.exact, found.percentage, found.scaled) == (True, 0.0, None)
    assert time_errors.scale_of([2, 4, 12]) == time_errors.Scale(6.0, 4.0, 3)
    assert time_errors.scale_of([5]) == time_errors.Scale(5.0, 0.0, 1)
    assert time_errors.scale_of([]) is None
    for error, asked, years_only in ((-1, YEARS, False), (2, YEARS, True), (1, HOURS, True)):
        assert not time_errors.is_transitional(error, asked, years_only=years_only)
    assert time_errors.is_transitional(-1, YEARS, years_only=True)


@given(AMOUNTS, AMOUNTS)
def test_smape_lies_within_0_and_100_and_is_0_only_for_equals(a, b):
    found = of(a, b)
    assert 0 <= found.percentage <= 100
    assert (found.percentage == 0) == (a == b) == found.exact


@given(AMOUNTS, AMOUNTS)
def test_smape_agrees_with_exact_fractions(a, b):
    below = abs(a) + abs(b)
    exact = Fraction(100 * abs(a - b), below) if below else Fraction(0)
    assert time_errors.percentage(a, b) == pytest.approx(float(exact))


@given(st.lists(AMOUNTS, min_size=1), st.randoms())
def test_the_scale_does_not_know_the_order(golds, random):
    shuffled = golds.copy()
    random.shuffle(shuffled)
    assert time_errors.scale_of(shuffled) == time_errors.scale_of(golds)
