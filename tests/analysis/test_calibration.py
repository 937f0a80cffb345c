"""A small version of benchmarks/analysis.py: 300 simulated runs with known effects."""

from __future__ import annotations

import numpy as np
import pytest

from agent_env.analysis.contrast_estimates import ContrastValues, Scale, measure
from agent_env.analysis.contrasts import Contrast, PlannedContrast
from agent_env.analysis.resampling import cluster_count, draw_weights
from agent_env.analysis.simulated import Plant, scores

PLAN = PlannedContrast("after − before", "after", "before", (("after", 1.0), ("before", -1.0)))
RUNS = 300


def contrasts(plant: Plant, seed: int) -> list[Contrast]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(RUNS):
        before, after, clusters = scores(plant, rng)
        weights = draw_weights(cluster_count(clusters), 1000, number)
        deltas = (after - before)[:, None]
        single = plant.repeats == 1
        values = ContrastValues(deltas, np.ones_like(deltas))
        found += measure([PLAN], values, clusters, Scale(True, single, 0.05), weights, number)
    return found


@pytest.mark.parametrize("plant", [
    Plant(samples=100, effect=0.1),
    Plant(samples=120, repeats=3, events=40, effect=0.1, spread=0.4),
])  # fmt: skip
def test_intervals_hold_the_planted_effect(plant: Plant) -> None:
    """95 % of 300, give or take three standard errors."""
    held = [c.difference.low <= 0.1 <= c.difference.high for c in contrasts(plant, 11)]  # type: ignore[operator]
    assert 0.91 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("plant", [
    Plant(samples=100),
    Plant(samples=120, repeats=3, events=40, spread=0.4),
])  # fmt: skip
def test_true_nulls_are_rejected_about_as_often_as_said(plant: Plant) -> None:
    wrong = [c.p_value is not None and c.p_value < 0.05 for c in contrasts(plant, 12)]
    assert 0.015 <= np.mean(wrong) <= 0.09
