"""Intervals of a run's own table: clusters are drawn whole, and equal values have none."""

from __future__ import annotations

import pytest

from agent_env.analysis.spread import bootstrap_interval, effective_samples


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [(str(k), float(k)) for k in range(20)]
    low, high = bootstrap_interval(values) or (0, 0)
    assert low == pytest.approx(7, abs=0.5)
    assert high == pytest.approx(12, abs=0.5)
    assert bootstrap_interval(values) == (low, high)


def test_samples_of_one_cluster_count_less_than_as_many_alone() -> None:
    alone = [(str(k), float(k % 20 < 10)) for k in range(40)]
    together = [(str(k % 20), value) for k, (_, value) in enumerate(alone)]
    assert effective_samples(alone) == 40
    assert effective_samples(together) == pytest.approx(20)
    wide, narrow = bootstrap_interval(together), bootstrap_interval(alone)
    assert wide is not None
    assert narrow is not None
    assert wide[1] - wide[0] > narrow[1] - narrow[0]


def test_equal_values_and_a_single_cluster_have_no_bootstrap_interval() -> None:
    assert bootstrap_interval([("a", 0.0), ("b", 0.0)]) is None
    assert bootstrap_interval([("a", 0.0), ("a", 1.0)]) is None
    assert effective_samples([("a", 1.0), ("a", 1.0), ("b", 1.0)]) == 2
