"""Intervals of means: clusters are drawn whole, and too few of them give none."""

import numpy as np
import pytest

from agent_env.analysis.intervals import Estimate, mean_estimates
from agent_env.analysis.resampling import bootstrap_means, draw_weights

ALONE = [(str(k), float(k % 20 < 10)) for k in range(40)]
TOGETHER = [(str(k % 20), value) for k, (_, value) in enumerate(ALONE)]


def mean_interval(values, share=False):
    made = Estimate.of_mean(values, share)
    return None if made.low is None or made.high is None else (made.low, made.high)


def width(values, share=False):
    low, high = mean_interval(values, share) or (0.0, 0.0)
    return high - low


@pytest.mark.parametrize("share", [True, False], ids=["share", "mean"])
def test_samples_of_one_cluster_count_less_and_a_comparison_says_the_same(share):
    assert width(TOGETHER, share) > 1.3 * width(ALONE, share)
    values = [(str(k % 7), float(k % 3 == 0)) for k in range(30)]
    column = np.array([value for _, value in values])[:, None]
    clusters = np.array([k % 7 for k in range(30)])
    drawn = bootstrap_means(column, clusters, draw_weights(7))
    (theirs,) = mean_estimates(column, clusters, drawn, share)
    assert mean_interval(values, share) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_too_few_clusters_have_no_bootstrap():
    """Ten answers in two tables gave 90 % [80, 100]: a bootstrap of two points."""
    values = [("a", 1.0)] * 5 + [("b", 1.0)] * 4 + [("b", 0.0)]
    assert mean_interval(values) is None
    assert mean_interval(values, share=True) == pytest.approx((0.2787, 0.9953), abs=1e-4)
    assert mean_interval([(str(k), float(k)) for k in range(4)]) is None
    assert mean_interval([(str(k), float(k)) for k in range(5)]) is not None
