"""Rank correlations from counts are those of the data behind the counts."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from agent_env.analysis.resampling import draw_weights
from agent_env.families.time_puzzles.paper_tables import from_counts, spearman

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=40)


@given(PAIRS)
def test_it_is_scipys_from_the_data_and_from_counts(pairs):
    x, y = np.array(pairs, dtype=float).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    wanted = pytest.approx(spearmanr(x, y).statistic)
    cells, counts = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
    assert from_counts(cells, counts[None, :].astype(float))[0] == wanted
    assert spearman(x, y, np.zeros(len(x), dtype=np.int64), np.ones((1, 1))).value == wanted


def test_the_interval_holds_the_value_though_draws_have_more_ties():
    """Draws repeat samples; the wrong answers' days off tie in them, not in the data."""
    exact = np.array([1.0] * 6 + [0.0] * 6)
    days_off = np.array([0.0] * 6 + [1.0, 40.0, 365.0, 800.0, 8000.0, 90000.0])
    found = spearman(exact, days_off, np.arange(12), draw_weights(12, 2000))
    assert found.low < found.value < found.high
