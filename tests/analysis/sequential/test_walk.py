"""Samples are looked at in a fixed order, cluster by cluster, whatever order they end in."""

from __future__ import annotations

import random

import pytest

from agent_env.analysis.contrasts import PlannedContrast
from agent_env.analysis.sequential.rule import StoppingRule
from agent_env.analysis.sequential.walk import Walk, look_order
from agent_env.errors import ConfigError


def contrast(after: str, before: str) -> PlannedContrast:
    return PlannedContrast(f"{after} − {before}", after, before, ((after, 1.0), (before, -1.0)))


ORDER = look_order([f"q{n}" for n in range(40)], seed=1)


def scores(arm: str, row: int) -> float:
    return {"base": 0.0, "web": 1.0, "ci": float(row % 2)}[arm]


def test_the_order_is_that_of_the_seed_and_keeps_clusters_whole() -> None:
    clusters = ["a", "a", "b", "c", "c", "c", "d"]
    order = look_order(clusters, seed=3)
    assert sorted(order) == [(0, 1), (2,), (3, 4, 5), (6,)]
    assert order == look_order(clusters, seed=3)
    assert look_order([f"q{n}" for n in range(40)], seed=2) != ORDER


def test_more_samples_change_nothing_in_the_order_of_those_before() -> None:
    more = look_order([f"q{n}" for n in range(60)], seed=1)
    assert tuple(rows for rows in more if rows[0] < 40) == ORDER


def test_no_more_samples_are_planned_than_asked_for() -> None:
    order = look_order(list("aaabbb"), seed=1, most=5)
    assert sum(map(len, order)) == 3


def test_the_result_does_not_depend_on_the_order_of_arrival() -> None:
    entries = [(arm, row) for arm in ("base", "web", "ci") for row in range(40)]
    results = []
    for seed in (1, 2):
        random.Random(seed).shuffle(entries)
        walk = Walk((contrast("web", "base"), contrast("ci", "base")), ORDER, StoppingRule())
        for arm, row in entries:
            walk.note(arm, row, scores(arm, row))
            walk.advance()
        results.append(walk.results())
    assert results[0] == results[1]
    assert [(each.decision, each.looked) for each in results[0]] == [
        ("difference", 10),
        ("difference", 20),
    ]


def test_a_decided_contrast_needs_nothing_more_and_others_go_on() -> None:
    walk = Walk((contrast("web", "base"), contrast("ci", "base")), ORDER, StoppingRule())
    row = 0
    for (row,) in ORDER[:10]:
        for arm in ("base", "web", "ci"):
            walk.note(arm, row, 1.0 if arm == "web" else 0.0)
    assert walk.advance() == [0]
    (later,) = ORDER[20]
    assert not walk.is_needed("web", later)
    assert walk.is_needed("ci", later)
    assert walk.is_needed("base", later)
    assert walk.is_needed("of no contrast", later)
    assert not walk.is_needed("ci", row)
    assert not walk.is_needed("ci", 99)


def test_a_sample_that_failed_is_left_out_and_holds_nothing_up() -> None:
    walk = Walk((contrast("web", "base"),), ORDER, StoppingRule())
    for (row,) in ORDER:
        walk.note("base", row, 0.0)
        walk.note("web", row, None if row == ORDER[0][0] else 1.0)
    assert walk.advance() == [0]
    assert walk.results()[0].looked == 8


def test_each_cluster_counts_once() -> None:
    walk = Walk((contrast("web", "base"),), ((0, 1, 2), (3,)), StoppingRule())
    for row in range(4):
        walk.note("base", row, 0.0)
        walk.note("web", row, float(row == 3))
    walk.advance()
    (result,) = walk.results()
    assert (result.plain_mean, result.looked, result.clusters) == (0.5, 4, 2)


def test_a_score_beyond_one_cannot_be_tested() -> None:
    walk = Walk((contrast("web", "base"),), ORDER, StoppingRule())
    with pytest.raises(ConfigError, match=r"a score of 3: .* a metric in \[0, 1\]"):
        walk.note("web", 0, 3.0)
