"""Intervals and tests against second implementations, and where there is little to go by."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.analysis.intervals import (
    Estimate,
    Means,
    holm,
    minimum_detectable_effect,
    rank_correlation,
    samples_needed,
    sign_flip_p,
    student_quantile,
    tango,
)
from tests.lazy_modules import LazyModule

optimize, stats, statsmodels = map(LazyModule, ("scipy.optimize", "scipy.stats", "statsmodels.api"))
contingency_tables, multitest, power, proportion = (
    LazyModule(f"statsmodels.stats.{name}")
    for name in ("contingency_tables", "multitest", "power", "proportion")
)

COUNTS = st.integers(0, 60)


def of(values, clusters=None):
    column = np.array(values, dtype=float)[:, None]
    return Means(column, np.arange(len(column)) if clusters is None else np.array(clusters))


def ends(estimate):
    return estimate.low, estimate.high


@given(st.integers(0, 80), st.integers(2, 80))
def test_a_rate_of_independent_samples_has_wilsons_interval(hits, n):
    hits = min(hits, n)
    found = of([1.0] * hits + [0.0] * (n - hits)).estimate(0, "rate")
    theirs = proportion.proportion_confint(hits, n, method="wilson")
    assert (ends(found), found.effective) == (pytest.approx(theirs, abs=1e-9), n)


def likeliest_share(up, down, n, delta):
    """Of pairs that are worse, by maximising the likelihood under the difference delta."""

    def loss(worse):
        shares = (worse + delta, worse, 1 - 2 * worse - delta)
        counts = (up, down, n - up - down)
        return -sum(c * np.log(max(s, 1e-300)) for c, s in zip(counts, shares, strict=True) if c)

    how = {"bounds": (max(0.0, -delta), (1 - delta) / 2), "options": {"xatol": 1e-12}}
    return optimize.minimize_scalar(loss, method="bounded", **how).x


@pytest.mark.parametrize(("up", "down", "n"), [(9, 2, 30), (1, 0, 12), (40, 31, 300), (5, 6, 11)])
def test_tangos_interval_ends_where_the_score_test_just_rejects(up, down, n):
    for end, side in zip(tango(up / n, down / n, n), (1, -1), strict=True):
        worse = likeliest_share(up, down, n, end)
        score = (up - down - n * end) / sqrt(n * (2 * worse + end * (1 - end)))
        assert score == pytest.approx(side * 1.959964, abs=1e-3)


def test_a_difference_has_a_width_where_all_pairs_agree_or_all_gain():
    z2 = 1.959964**2
    assert tango(0, 0, 12) == pytest.approx((-z2 / (12 + z2), z2 / (12 + z2)), abs=1e-6)
    low, high = tango(1, 0, 12)
    assert 0 < low < high == pytest.approx(1.0)
    interaction = of([0.0] * 12).estimate(0, "difference", ends=(-2.0, 2.0))
    assert ends(interaction) == pytest.approx((-0.4850, 0.4850), abs=1e-4)


def test_clusters_and_repeats_count_by_the_effective_n():
    values, clusters = np.array([1.0, 1.0, 0.0, 0.0] * 10), np.arange(40) // 2
    shared = of(values, clusters).estimate(0, "rate")
    assert shared.effective == pytest.approx(19)  # whole clusters, less one for the variance
    assert shared.low < of(values).estimate(0, "rate").low
    groups = {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    fit = statsmodels.OLS(values, np.ones(40)).fit(**groups)
    assert of(values, clusters).errors[0] == pytest.approx(fit.bse[0])
    apart = of([1.0, 0.0] * 19 + [1.0, 1.0], clusters).estimate(0, "rate")
    assert apart.effective == pytest.approx(39)  # of 40; without the bound, 780
    repeats = of([0.5] * 20 + [0.25, 0.75] * 10).estimate(0, "rate")
    assert repeats.effective > 40
    few = of([0.0] * 45 + [1.0] * 5, np.arange(50) // 5).estimate(0, "rate")
    assert few.effective <= 10  # one cluster has all events, and says nothing of their spread


@pytest.mark.parametrize("kind", ["rate", "difference", "mean"])
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=40))
def test_simultaneous_intervals_are_never_narrower(kind, values):
    means = of(values)
    one, many = means.estimate(0, kind), means.estimate(0, kind, level=1 - 0.05 / 6)
    if one.low is not None:
        assert many.low <= one.low + 1e-9
        assert many.high >= one.high - 1e-9


def test_means_and_what_has_no_interval():
    rng = np.random.default_rng(1)
    few = rng.normal(size=8)
    half = stats.t.isf(0.025, 7) * few.std(ddof=1) / sqrt(8)
    found = of(few).estimate(0, "mean")
    assert ends(found) == pytest.approx((few.mean() - half, few.mean() + half))
    assert found.method == "Student's t"
    assert of(rng.normal(size=30)).estimate(0, "mean").method == "studentised bootstrap"
    assert of([3.0] * 9).estimate(0, "mean").method == "all values equal"
    assert of([3.0]).estimate(0, "rate").method == "one sample"
    assert of([1.0, 0.0], [0, 0]).estimate(0, "rate").method == "one cluster of samples"
    assert of([np.nan]).estimate(0, "mean").method == "no value"
    skewed = of(rng.lognormal(size=40)).estimate(0, "mean")
    assert skewed.high - skewed.value > skewed.value - skewed.low
    same = [(str(k % 20), (float(k % 5), 2.0)) for k in range(40)]
    assert Estimate.of_ratio(same).value == pytest.approx(1.0)


@given(COUNTS, COUNTS)
def test_p_of_rates_is_exact_mcnemar(better, worse):
    table = [[3, better], [worse, 5]]
    differ = better + worse > 0
    theirs = contingency_tables.mcnemar(table, exact=True).pvalue if differ else 1.0
    ours = sign_flip_p(np.array([1.0] * better + [-1.0] * worse + [0.0] * 4))
    assert ours == pytest.approx(min(1.0, theirs))


def test_p_of_means_flips_the_signs_of_clusters():
    deltas = np.array([0.5, -0.25, 1.0, 1.0, 0.0, 0.75])
    theirs = stats.permutation_test(
        (deltas, np.zeros(6)), lambda a, b: np.mean(a - b), permutation_type="samples",
        n_resamples=np.inf,
    )  # fmt: skip
    assert sign_flip_p(deltas) == pytest.approx(theirs.pvalue)
    many = np.random.default_rng(4).normal(0.5, 1.0, 14)
    totals = np.array(list(product((-1.0, 1.0), repeat=14))) @ many
    exact = (np.abs(totals) >= abs(many.sum()) - 1e-9).mean()
    assert sign_flip_p(many) == pytest.approx(exact, abs=0.01)
    assert sign_flip_p(np.ones(1500)) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.9], [0.0, 1.0, 0.02, 0.02]]
)
def test_holm_is_that_of_statsmodels(p_values):
    theirs = multitest.multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(theirs))
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]


@given(st.floats(1e-7, 0.499), st.integers(1, 600))
def test_students_quantile_is_that_of_scipy(tail, df):
    theirs = float(stats.t.isf(tail, df))
    assert student_quantile(tail, df) == pytest.approx(theirs, rel=1e-5, abs=1e-8)


def test_what_can_be_found_by_second_sources():
    theirs = power.NormalIndPower(ddof=0).solve_power(nobs1=100, alpha=0.05, power=0.8, ratio=0)
    half = 1.959964 * 0.1 * 0.5
    assert minimum_detectable_effect(-half, half) == pytest.approx(0.5 * theirs, abs=1e-5)
    # Connor (1987): discordant 0.3, difference 0.1: (1.96 √.3 + .8416 √.29)² / .01 = 233.04
    assert samples_needed(0.1, sqrt(0.29 / 100), 100) == 234
    assert samples_needed(0.0, 0.05, 100) is None
    x, y = [1, 2, 2, 4, 5, 9], [2, 1, 3, 3, 9, 8]
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.low < found.value < found.high < 1
