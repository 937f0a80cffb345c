"""Intervals against second implementations, and at the ends of the scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint

from agent_env.analysis.intervals import mean_estimates, paired_share_interval
from agent_env.analysis.significance import minimum_detectable_effect, samples_needed

NOTHING_DRAWN = np.empty((0, 1))


@given(st.integers(0, 80), st.integers(2, 80))
def test_a_share_of_independent_samples_has_wilsons_interval(hits, n):
    hits = min(hits, n)
    values = np.array([1.0] * hits + [0.0] * (n - hits))[:, None]
    (found,) = mean_estimates(values, np.arange(n), NOTHING_DRAWN, share=True)
    theirs = proportion_confint(hits, n, method="wilson")
    assert (found.low, found.high) == pytest.approx(theirs, abs=1e-9)


def test_clusters_and_effects_by_second_sources():
    values = np.array([1.0, 1.0, 0.0, 0.0] * 10)[:, None]
    (alone,) = mean_estimates(values, np.arange(40), NOTHING_DRAWN, share=True)
    (shared,) = mean_estimates(values, np.arange(40) // 2, NOTHING_DRAWN, share=True)
    assert shared.low < alone.low
    assert shared.high > alone.high
    (found,) = mean_estimates(np.array([[1.0]]), np.array([0]), NOTHING_DRAWN, share=True)
    assert (found.value, found.low, found.method) == (1.0, None, "one sample")
    # 8/23 - 2/23, half width 1.96 √((10/23 - (6/23)²) / 23) = 0.247.
    low, high = paired_share_interval(7, 1, 21)
    assert (low, high) == pytest.approx((0.0134, 0.5083), abs=1e-4)
    theirs = NormalIndPower(ddof=0).solve_power(nobs1=100, alpha=0.05, power=0.8, ratio=0)
    assert minimum_detectable_effect(0.5 / 100**0.5) == pytest.approx(0.5 * theirs, abs=1e-5)
    error = 0.05
    assert samples_needed(error, 100, minimum_detectable_effect(error)) == 100
    assert samples_needed(error, 100, minimum_detectable_effect(error) / 2) == 400
    assert samples_needed(error, 100, 0) is None
