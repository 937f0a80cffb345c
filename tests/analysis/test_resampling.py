"""Bootstrap and permutation against hand-made values and second implementations."""

import numpy as np
import pytest
from scipy.stats import permutation_test
from statsmodels.api import OLS

from agent_env.analysis.resampling import (
    bootstrap_means,
    draw_weights,
    means,
    sign_flip_p,
    standard_errors,
)

ALONE = np.arange(6)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_cluster_robust_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 15, 90)
    values = rng.normal(size=15)[clusters] + rng.normal(size=90)
    fit = OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert standard_errors(values[:, None], clusters)[0] == pytest.approx(fit.bse[0])


def test_three_equal_signs_have_mid_p_one_eighth():
    """Of 8 sign patterns two are as far out as +6; they count half: 1/8."""
    assert sign_flip_p(column(1, 2, 3), ALONE[:3]) == [0.125]


def test_the_exact_permutation_test_is_scipys_less_half_of_the_ties():
    deltas = np.array([0.5, -0.25, 1.0, 1.0, 0.0, 0.75])
    theirs = permutation_test(
        (deltas, np.zeros(6)), lambda a, b: np.mean(a - b), permutation_type="samples",
        n_resamples=np.inf,
    )  # fmt: skip
    seen = abs(deltas.mean())
    ties = np.mean(np.isclose(np.abs(theirs.null_distribution), seen))
    (ours,) = sign_flip_p(deltas[:, None], ALONE)
    assert ours == pytest.approx(theirs.pvalue - ties / 2)


def test_drawn_signs_come_close_to_all_signs():
    """14 clusters are drawn at random; the exact mid-p of 11 against 3 is 0.0352."""
    deltas = column(*([1.0] * 11 + [-1.0] * 3))
    (p,) = sign_flip_p(deltas, np.arange(14), resamples=20_000)
    assert p == pytest.approx(0.0352, abs=0.005)


def test_clusters_are_flipped_whole():
    assert sign_flip_p(column(1, 1, 1, 1), np.array([0, 0, 1, 1])) == [0.25]


def test_a_column_with_gaps_is_averaged_over_what_is_known():
    values = np.array([[1.0, np.nan], [0.0, 1.0], [np.nan, np.nan]])
    assert list(means(values)) == [0.5, 1.0]
    drawn = bootstrap_means(values, ALONE[:3], draw_weights(3, 500, seed=1))
    assert set(drawn[:, 1][~np.isnan(drawn[:, 1])]) == {1.0}
