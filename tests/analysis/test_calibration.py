"""A small version of benchmarks/analysis.py: 300 simulated runs with known effects."""

from dataclasses import replace

import numpy as np

from agent_env.analysis.contrasts import Contrast, ContrastValues, PlannedContrast, Scale, measure
from agent_env.analysis.resampling import cluster_count, draw_weights
from tests.analysis.simulated import Plant, gains, scores

PLAN = PlannedContrast("after − before", "after", "before", (("after", 1.0), ("before", -1.0)))
RUNS = 300


def contrasts(plant, seed):
    rng = np.random.default_rng(seed)
    found = list[Contrast]()
    for number in range(RUNS):
        before, after, clusters = scores(plant, rng)
        weights = draw_weights(cluster_count(clusters), 1000, number)
        deltas = (after - before)[:, None]
        single = plant.repeats == 1
        values = ContrastValues(deltas, np.ones_like(deltas))
        found += measure([PLAN], values, clusters, Scale(True, single, 0.05), weights, number)
    return found


CLUSTERED = Plant(samples=120, repeats=3, events=40, spread=0.4)


def test_intervals_hold_the_planted_effect_and_true_nulls_are_rejected_as_often_as_said():
    """95 % of 300, give or take three standard errors."""
    plant = replace(CLUSTERED, effect=0.1)
    held = [c.difference.low <= 0.1 <= c.difference.high for c in contrasts(plant, 11)]
    assert 0.91 <= np.mean(held) <= 0.99
    wrong = [c.p_value is not None and c.p_value < 0.05 for c in contrasts(CLUSTERED, 12)]
    assert 0.015 <= np.mean(wrong) <= 0.09


def test_simultaneous_intervals_hold_all_six_effects_and_tost_keeps_its_level():
    """95 % and 5 % of 100, give or take three standard errors."""
    plant, rng = Plant(samples=120, events=40, effect=0.1, spread=0.4), np.random.default_rng(13)
    held, equivalent = list[bool](), list[bool]()
    plans = [replace(PLAN, name=str(k)) for k in range(6)]
    for number in range(100):
        deltas, clusters = gains(plant, 6, rng)
        values = ContrastValues(deltas, np.ones_like(deltas))
        weights = draw_weights(cluster_count(clusters), 1000, number)
        table = measure(plans, values, clusters, Scale(True, True, 0.05, margin=0.1), weights, 1)
        held.append(all(c.simultaneous[0] <= 0.1 <= c.simultaneous[1] for c in table))
        equivalent.append(any(c.is_equivalent for c in table))
    assert np.mean(held) >= 0.88
    assert np.mean(equivalent) <= 0.12
