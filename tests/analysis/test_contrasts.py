"""Slopes within samples equal least squares with an intercept for each sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.contrasts import slope_parts
from tests.analysis.simulated import Plant, study


@settings(max_examples=40)
@given(st.integers(3, 15), st.integers(2, 5), st.integers(0, 10**6))
def test_the_slope_is_that_of_least_squares_with_an_intercept_for_each_sample(samples, arms, seed):
    rng = np.random.default_rng(seed)
    doses, scores = rng.integers(1, 9, (samples, arms)) / 1.0, rng.random((samples, arms))
    scores[rng.random((samples, arms)) < 0.2] = np.nan
    rows = [(i, j) for i in range(samples) for j in range(arms) if not np.isnan(scores[i, j])]
    design = np.zeros((len(rows), samples + 1))
    for row, (i, j) in enumerate(rows):
        design[row, i], design[row, samples] = 1.0, doses[i, j]
    target = np.array([scores[i, j] for i, j in rows])
    products, squares = slope_parts(scores, doses)
    if np.nansum(squares) > 0:
        expected = np.linalg.lstsq(design, target, rcond=None)[0][samples]
        assert np.nansum(products) / np.nansum(squares) == pytest.approx(expected, abs=1e-9)


def test_a_dose_that_does_not_vary_has_no_slope():
    made = study(Plant(samples=20), {"base": 0.0, "web": 0.2}, ("m",), seed=1)
    texts = ("trend:steps", "trend:tokens", "trend:cost_usd")
    steps, tokens, cost = Comparison(made, Options(resamples=1000, contrasts=texts)).contrasts
    assert steps.difference.value is None
    assert cost.difference.value is None
    assert tokens.difference.value is not None
    assert tokens.pairs == 20
    assert tokens.p_equivalence is None
