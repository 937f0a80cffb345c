"""Tests on counts against published values and a second implementation.

TOST: its p-values by an independent computation, and its level by simulation.

Student's t equals scipy's.
"""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from agent_env.analysis.significance import (
    holm,
    mcnemar_exact,
    mcnemar_mid,
    student_quantile,
    student_tail,
    tost_p,
)

COUNTS = st.integers(0, 60)


def test_published_values_and_what_was_not_tested():
    """Fagerland, Lydersen and Laake (2013): 7 and 1 discordant pairs, exact 0.070, mid-p 0.039."""
    assert mcnemar_exact(7, 1) == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar_mid(7, 1) == pytest.approx(0.0391, abs=5e-5)
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]


@given(COUNTS, COUNTS)
def test_exact_mcnemar_is_that_of_statsmodels(better, worse):
    ours = mcnemar_exact(better, worse)
    if better + worse == 0:
        assert ours is None
    else:
        theirs = mcnemar([[3, better], [worse, 5]], exact=True).pvalue
        assert ours == pytest.approx(min(1.0, theirs))


@given(COUNTS, COUNTS)
def test_mid_p_is_never_larger_than_the_exact_p(better, worse):
    exact, mid = mcnemar_exact(better, worse), mcnemar_mid(better, worse)
    assert (exact is None) == (mid is None)
    if exact is not None and mid is not None:
        assert 0 < mid <= exact <= 1


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.005], [0.5, 0.5, 0.9], [0.0, 1.0, 0.02, 0.02]]
)
def test_holm_is_that_of_statsmodels(p_values):
    theirs = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(theirs))


def alone(count):
    return np.arange(count, dtype=np.int64)


def scipy_tost(values, margin):
    return max(
        float(ttest_1samp(values, -margin, alternative="greater").pvalue),
        float(ttest_1samp(values, margin, alternative="less").pvalue),
    )


@settings(max_examples=30)
@given(st.integers(5, 60), st.floats(0.01, 0.5), st.integers(0, 10**6))
def test_of_unbounded_scores_it_is_two_paired_t_tests(n, margin, seed):
    values = np.random.default_rng(seed).normal(0.05, 0.3, n)
    assert tost_p(values, alone(n), margin, None) == pytest.approx(scipy_tost(values, margin))


@settings(max_examples=30)
@given(st.integers(5, 60), st.floats(0.01, 0.5), st.integers(0, 10**6))
def test_of_bounded_scores_a_gain_and_a_loss_are_added_and_the_margin_is_narrowed(n, margin, seed):
    values = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], n, p=[0.1, 0.7, 0.2])
    added = np.append(values, [1.0, -1.0])
    assert tost_p(values, alone(n), margin, 1.0) == pytest.approx(
        scipy_tost(added, margin - 1 / (n + 2))
    )


def test_clusters_count_together_and_few_show_nothing():
    """Thirty copies of ten samples say as much as the ten."""
    values = np.array([0.0, 0.1, -0.1, 0.2, 0.0, -0.2, 0.1, 0.0, 0.1, -0.1])
    copies, clusters = np.repeat(values, 30), np.repeat(alone(10), 30)
    assert tost_p(copies, clusters, 0.2, 1.0) == pytest.approx(tost_p(values, alone(10), 0.2, 1.0))
    assert tost_p(np.zeros(40), np.repeat(alone(4), 10), 0.9, 1.0) is None
    p = tost_p(np.zeros(10), alone(10), 0.05, 1.0)
    assert p > 0.3


def p_of(gains, losses, n, margin):
    values = np.zeros(n)
    values[:gains], values[gains : gains + losses] = 1.0, -1.0
    p = tost_p(values, alone(n), margin, 1.0)
    assert p is not None
    return p


@pytest.mark.parametrize("losses", [0.0, 0.02])
def test_a_difference_at_the_margin_is_called_equivalent_in_at_most_5_percent(losses):
    """Exactly, over the numbers of gains and losses that have a chance."""
    n, margin = 200, 0.1
    wrong = [
        comb(n, up) * comb(n - up, down) * (margin + losses) ** up * losses**down
        * (1 - margin - 2 * losses) ** (n - up - down)
        for up in range(31)
        for down in range(12 if losses else 1)
        if p_of(up, down, n, margin) < 0.05
    ]  # fmt: skip
    assert 0.02 < sum(wrong) <= 0.05


@given(st.floats(-60, 60), st.integers(1, 2000))
def test_the_tail_is_that_of_scipy(value, df):
    assert student_tail(value, df) == pytest.approx(float(t.sf(value, df)), rel=1e-8, abs=1e-200)


@given(st.floats(1e-7, 0.499), st.integers(1, 2000))
def test_the_quantile_is_that_of_scipy(tail, df):
    assert student_quantile(tail, df) == pytest.approx(float(t.isf(tail, df)), rel=1e-6, abs=1e-9)
