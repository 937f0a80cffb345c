"""When contrasts are decided, and how many false alarms that gives.

Evidence by betting, against figures computed by hand.
"""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.sequential.rule import (
    FRACTIONS,
    LOG_SHARES,
    Capital,
    Look,
    SequentialTest,
    StoppingRule,
    confidence_interval,
)


def decide(rule, values):
    test = SequentialTest(rule)
    for value in values:
        test.look(0, Look(value))
        if test.is_decided(0):
            break
    return test


def test_a_difference_is_decided_as_soon_as_zero_is_refuted():
    verdict = decide(StoppingRule(), [1.0] * 30).verdict(0)
    assert (verdict.decision, verdict.stop) == ("difference", 8)


def test_equal_scores_are_none_larger_than_the_margin_and_undecided_without_one():
    with_margin = decide(StoppingRule(margin=0.2), [0.0] * 300).verdict(0)
    assert (with_margin.decision, with_margin.stop) == ("none larger", 26)
    assert decide(StoppingRule(), [0.0] * 300).verdict(0).decision == "undecided"


def test_the_second_of_two_contrasts_needs_less_once_the_first_is_decided():
    test = SequentialTest(StoppingRule(), (1.0, 1.0))
    for _ in range(8):
        test.look(1, Look(1.0))
    assert not test.is_decided(1)  # would do alone
    for _ in range(12):
        test.look(0, Look(1.0))
        if test.is_decided(0):
            break
    assert test.verdict(0).decision == test.verdict(1).decision == "difference"
    assert (test.verdict(0).stop, test.verdict(1).stop) == (10, 8)


def test_false_alarms_stay_below_five_percent_although_every_sample_is_looked_at():
    """Three kinds of null: ties, unequal spread, clusters' means; benchmarks/sequential.py has
    more of each."""
    rng = np.random.default_rng(1)
    alarms = 0
    for n in range(90):
        kinds = (
            rng.choice([-1.0, 0.0, 1.0], size=100, p=[0.15, 0.7, 0.15]),
            np.where(rng.random(100) < 0.25, 0.75, -0.25),
            rng.choice([-1.0, 0.0, 1.0], size=(100, 3)).mean(axis=1),
        )
        alarms += decide(StoppingRule(), kinds[n % 3]).is_decided(0)
    assert alarms <= 8


differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=30)


def test_a_gain_multiplies_each_share_by_one_plus_its_bet():
    capital = Capital(0.0)
    capital.add(Look(1.0))
    capital.add(Look(-1.0))
    shares = np.exp(LOG_SHARES)
    by_hand = 0.5 * float((shares * (1 + FRACTIONS) * (1 - FRACTIONS)).sum())
    assert exp(capital.higher) == pytest.approx(by_hand)
    assert exp(capital.lower) == pytest.approx(by_hand)


@settings(max_examples=25)
@given(st.sampled_from([-0.4, 0.0, 0.3]), differences)
def test_the_capital_expected_after_a_look_is_what_it_was(mean, past):
    """Against the true mean nobody can expect to win: that is what makes every look valid."""

    def after(value):
        capital = Capital(mean)
        for each in (*past, value):
            capital.add(Look(each))
        return exp(capital.higher)

    chance = (1 + mean) / 2  # of 1, else -1: a mean of `mean`
    before = Capital(mean)
    for each in past:
        before.add(Look(each))
    expected = chance * after(1.0) + (1 - chance) * after(-1.0)
    assert expected == pytest.approx(exp(before.higher))


@settings(max_examples=25)
@given(differences)
def test_the_interval_holds_the_means_that_the_gamblers_have_not_refuted(past):
    looks = [Look(each) for each in past]
    low, high = confidence_interval(looks, 0.05)
    assert -1 <= low < high <= 1
    for mean in (-0.6, 0.0, 0.45):
        capital = Capital(mean)
        for look in looks:
            capital.add(look)
        is_inside = max(capital.higher, capital.lower) < log(20)
        assert is_inside == (low < mean < high)


def test_eight_gains_without_a_loss_exclude_zero_and_seven_do_not():
    assert confidence_interval([Look(1.0)] * 8, 0.05)[0] == pytest.approx(0.0134, abs=1e-4)
    assert confidence_interval([Look(1.0)] * 7, 0.05)[0] < 0
