"""Evidence by betting: valid for every stream of observations, and soon at the goal."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.sequential.betting import (
    REACHED,
    Capital,
    Horizon,
    Look,
    confidence_interval,
    plain,
)

HORIZONS = [plain(8), plain(60), plain(60, 0.2), Horizon((1.0, 1.5, 2.0) * 3, 0.1, 0.6)]
STREAMS = np.array(list(product([1.0, 0.0, -1.0], repeat=7)))


def chances(streams, differing):
    return np.where(streams == 0, 1 - differing, differing / 2).prod(axis=1)


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("differing", [0.1, 0.5, 1.0])
def test_over_all_streams_of_a_true_mean_the_capital_is_one_on_average(horizon, differing):
    """Exact: every stream of seven gains, ties and losses, with its chance."""
    capital, most = Capital(np.array(0.0), 20.0, horizon, (len(STREAMS),)), 0.0
    ever = np.zeros(len(STREAMS), bool)
    for column in STREAMS.T:
        capital.add(column)
        ever |= capital.sides.sum(axis=0) >= REACHED
        most = float((chances(STREAMS, differing) * capital.sides.sum(axis=0)).sum()) * 20
        assert most == pytest.approx(1)
    assert (chances(STREAMS, differing) * ever).sum() <= 0.05


values = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), max_size=7)


@settings(max_examples=40)
@given(st.sampled_from(HORIZONS), st.sampled_from([-0.4, 0.0, 0.3]), values)
def test_nobody_can_expect_to_win_by_the_next_look(horizon, mean, past):
    """Whatever came before, so that one may stop at any time."""
    capital = Capital(np.array([mean, mean]), 20.0, horizon)
    for value in past:
        capital.add(value)
    before = capital.sides[:, 0].copy()
    chance = np.array([(1 + mean) / 2, (1 - mean) / 2])  # of 1 and of -1
    capital.add(np.array([1.0, -1.0]))
    assert capital.sides @ chance == pytest.approx(before)


def test_a_named_difference_of_20_points_is_found_within_60_samples():
    """80 % are wanted at 25 % of samples differing; one look at exactly 60 finds 92 %."""
    rng = np.random.default_rng(1)
    values = rng.choice([1.0, 0.0, -1.0], size=(2000, 60), p=[0.225, 0.75, 0.025])
    capital = Capital(np.array(0.0), 20.0, plain(60, 0.2), (2000,))
    shares = []
    for column in values.T:
        capital.add(column)
        shares.append(float((capital.sides.sum(axis=0) >= REACHED).mean()))
    assert shares[44] > 0.5
    assert shares[59] > 0.83


def test_eight_gains_exclude_zero_and_five_do_not():
    horizon = plain(60)
    assert confidence_interval([Look(1.0)] * 8, 0.05, horizon)[0] == pytest.approx(0.1, abs=0.1)
    assert confidence_interval([Look(1.0)] * 5, 0.05, horizon)[0] < 0


@settings(max_examples=10)
@given(values)
def test_the_interval_holds_every_mean_that_is_not_refuted(past):
    looks, means = [Look(each) for each in past], np.linspace(-0.9, 0.9, 7)
    low, high = confidence_interval(looks, 0.05, plain(20))
    capital = Capital(means, 20.0, plain(20))
    for value in past:
        capital.add(value)
    left = means[capital.sides.sum(axis=0) < REACHED]
    assert all(low <= mean <= high for mean in left)


def test_intervals_cover_at_every_look_at_once():
    rng = np.random.default_rng(2)
    values = rng.choice([1.0, 0.0, -1.0], size=(2000, 80), p=[0.3, 0.5, 0.2])
    capital, refuted = Capital(np.array(0.1), 20.0, plain(80), (2000,)), np.zeros(2000, bool)
    for column in values.T:
        capital.add(column)
        refuted |= capital.sides.sum(axis=0) >= REACHED
    assert refuted.mean() <= 0.05


def test_a_mean_that_the_seen_part_of_a_population_excludes_is_refuted():
    """Of ten samples nine were gained: the mean is 0.8 at least."""
    capital = Capital(np.array([0.5, 0.85]), 20.0, Horizon((1.0, 4.0)))
    capital.add(0.9, 0.8, 1.0)
    assert (capital.sides.sum(axis=0) >= REACHED).tolist() == [True, False]
