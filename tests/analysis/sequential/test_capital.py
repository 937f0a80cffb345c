"""Evidence by betting, against figures computed by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.sequential.capital import (
    FRACTIONS,
    LOG_SHARES,
    Capital,
    Look,
    confidence_interval,
)

differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=30)


def test_a_gain_multiplies_each_share_by_one_plus_its_bet() -> None:
    capital = Capital(0.0)
    capital.add(Look(1.0))
    capital.add(Look(-1.0))
    shares = np.exp(LOG_SHARES)
    by_hand = 0.5 * float((shares * (1 + FRACTIONS) * (1 - FRACTIONS)).sum())
    assert exp(capital.higher) == pytest.approx(by_hand)
    assert exp(capital.lower) == pytest.approx(by_hand)


def test_a_pair_without_a_difference_says_nothing_about_zero() -> None:
    capital = Capital(0.0)
    capital.add(Look(0.0))
    assert exp(capital.higher) == pytest.approx(0.5)


@settings(max_examples=25)
@given(st.sampled_from([-0.4, 0.0, 0.3]), differences)
def test_the_capital_expected_after_a_look_is_what_it_was(mean: float, past: list[float]) -> None:
    """Against the true mean nobody can expect to win: that is what makes every look valid."""

    def after(value: float) -> float:
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
def test_the_interval_holds_the_means_that_the_gamblers_have_not_refuted(past: list[float]) -> None:
    looks = [Look(each) for each in past]
    low, high = confidence_interval(looks, 0.05)
    assert -1 <= low < high <= 1
    for mean in (-0.6, 0.0, 0.45):
        capital = Capital(mean)
        for look in looks:
            capital.add(look)
        is_inside = max(capital.higher, capital.lower) < log(20)
        assert is_inside == (low < mean < high)


def test_eight_gains_without_a_loss_exclude_zero_and_seven_do_not() -> None:
    assert confidence_interval([Look(1.0)] * 8, 0.05)[0] == pytest.approx(0.0134, abs=1e-4)
    assert confidence_interval([Look(1.0)] * 7, 0.05)[0] < 0


def test_no_look_leaves_everything_possible() -> None:
    assert confidence_interval([], 0.05) == (-1.0, 1.0)
