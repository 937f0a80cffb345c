"""Student's t equals scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from agent_env.analysis.student import student_quantile, student_tail


@given(st.floats(-60, 60), st.integers(1, 2000))
def test_the_tail_is_that_of_scipy(value: float, df: int) -> None:
    assert student_tail(value, df) == pytest.approx(float(t.sf(value, df)), rel=1e-8, abs=1e-200)


@given(st.floats(1e-7, 0.499), st.integers(1, 2000))
def test_the_quantile_is_that_of_scipy(tail: float, df: int) -> None:
    assert student_quantile(tail, df) == pytest.approx(float(t.isf(tail, df)), rel=1e-6, abs=1e-9)
