"""Differences, intervals and tests with values that can be checked by hand."""

from __future__ import annotations

import pytest

from agent_env.analysis.paired import bootstrap, difference, sign_test
from agent_env.analysis.spread import wilson


def test_the_sign_test_is_exact() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(1, 9) == pytest.approx(2 * (1 + 10) / 1024)


def test_wilson_has_the_textbook_values() -> None:
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(1.0, 12) == pytest.approx((0.7575, 1.0), abs=1e-4)
    assert wilson(0.0, 12)[0] == 0.0


def test_only_common_samples_are_paired_and_the_others_counted() -> None:
    found = difference({"a": 0.0, "b": 1.0, "c": 0.0}, {"a": 1.0, "b": 1.0, "d": 1.0})
    assert found is not None
    assert (found.pairs, found.unpaired, found.mean) == (2, 2, 0.5)
    assert (found.better, found.worse) == (1, 0)


def test_without_common_samples_there_is_no_difference() -> None:
    assert difference({"a": 1.0}, {"b": 1.0}) is None


def test_equal_shares_have_an_interval_and_no_p_value() -> None:
    same = {str(i): 1.0 for i in range(6)}
    found = difference(same, same)
    assert found is not None
    assert (found.mean, found.p_value) == (0.0, None)
    assert found.interval == pytest.approx((-0.346, 0.346), abs=1e-3)


def test_shares_that_all_rise_have_an_interval_below_1_and_a_p_value() -> None:
    found = difference({str(i): 0.0 for i in range(6)}, {str(i): 1.0 for i in range(6)})
    assert found is not None
    assert found.interval == pytest.approx((0.292, 1.0), abs=1e-3)
    assert found.p_value == pytest.approx(2 / 64)


def test_equal_scores_that_are_no_shares_and_a_single_sample_have_no_interval() -> None:
    halves = {"a": 0.5, "b": 0.25}
    for before, after in ((halves, halves), ({"a": 0.0}, {"a": 1.0})):
        found = difference(before, after)
        assert found is not None
        assert (found.interval, found.p_value) == (None, None)


def test_the_bootstrap_is_the_same_each_time_and_holds_the_mean() -> None:
    values = [0.0] * 30 + [1.0] * 10
    low, high = bootstrap(values)
    assert bootstrap(values) == (low, high)
    assert low < 0.25 < high
    assert (low, high) == pytest.approx((0.125, 0.4), abs=0.05)
