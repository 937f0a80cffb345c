"""Bootstrap and permutation against hand-made values and second implementations."""

import numpy as np
import pytest
from scipy.stats import permutation_test
from statsmodels.api import OLS

from agent_env.analysis import resampling

ALONE = np.arange(6)


def column(*values):
    return np.array(values, dtype=float)[:, None]


def test_clusters_gaps_and_signs_by_second_sources():
    rng = np.random.default_rng(3)
    clusters = rng.integers(0, 15, 90)
    values = rng.normal(size=15)[clusters] + rng.normal(size=90)
    fit = OLS(values, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert resampling.standard_errors(values[:, None], clusters)[0] == pytest.approx(fit.bse[0])
    values = np.array([[1.0, np.nan], [0.0, 1.0], [np.nan, np.nan]])
    assert list(resampling.means(values)) == [0.5, 1.0]
    drawn = resampling.bootstrap_means(values, ALONE[:3], resampling.draw_weights(3, 500, seed=1))
    assert set(drawn[:, 1][~np.isnan(drawn[:, 1])]) == {1.0}
    # Of 8 sign patterns two are as far out as +6; they count half: 1/8.
    assert resampling.sign_flip_p(column(1, 2, 3), ALONE[:3]) == [0.125]
    deltas = np.array([0.5, -0.25, 1.0, 1.0, 0.0, 0.75])
    theirs = permutation_test(
        (deltas, np.zeros(6)), lambda a, b: np.mean(a - b), permutation_type="samples",
        n_resamples=np.inf,
    )  # fmt: skip
    seen = abs(deltas.mean())
    ties = np.mean(np.isclose(np.abs(theirs.null_distribution), seen))
    (ours,) = resampling.sign_flip_p(deltas[:, None], ALONE)
    assert ours == pytest.approx(theirs.pvalue - ties / 2)
    # 14 clusters are drawn at random; the exact mid-p of 11 against 3 is 0.0352.
    deltas = column(*([1.0] * 11 + [-1.0] * 3))
    (p,) = resampling.sign_flip_p(deltas, np.arange(14), resamples=20_000)
    assert p == pytest.approx(0.0352, abs=0.005)
    assert resampling.sign_flip_p(column(1, 1, 1, 1), np.array([0, 0, 1, 1])) == [0.25]
