"""A small version of benchmarks/intervals.py: simulated runs whose truth is known."""

import numpy as np
import pytest

from agent_env.analysis.contrasts import PlannedContrast, measure
from agent_env.analysis.intervals import Means
from tests.analysis.simulated import Design, Plant, gains, held, pairs, rates

RUNS = 400
DESIGNS = [Design(12), Design(30), Design(60, 5), Design(30, 1, 4), Design(100, 5, 4)]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(design):
    """95 % of 400, less three standard errors."""
    rng = np.random.default_rng(3)
    for rate in (0.1, 0.5, 0.98):
        scores = rates(design, rate, RUNS, rng)
        assert held(Means(scores, design.clusters), "rate", rate)[0] >= 0.92
    for discordance in (0.0, 0.1, 0.5):
        before, after = pairs(design, discordance, 0.9, RUNS, rng)
        means = Means(after - before, design.clusters)
        assert held(means, "difference", 0.8 * discordance, ends=(-1, 1))[0] >= 0.91
    partial = rng.beta(0.8, 0.4, (design.samples, RUNS))
    assert held(Means(partial, design.clusters), "mean", 2 / 3)[0] >= 0.90


@pytest.mark.parametrize("plant", [Plant(30), Plant(60, 2, 20, spread=0.4)], ids=str)
def test_claims_and_simultaneous_intervals_keep_the_level_of_the_whole_table(plant):
    """5 % of 200, and three standard errors."""
    rng, plans = (
        np.random.default_rng(5),
        [PlannedContrast(str(k), "after", "before", ()) for k in range(6)],
    )
    claimed, all_held = list[bool](), list[bool]()
    for _ in range(200):
        table = measure(plans, *gains(plant, 6, rng), is_rate=True)
        claimed.append(any(c.is_shown for c in table))
        all_held.append(all(c.simultaneous[0] <= 0 <= c.simultaneous[1] for c in table))
    assert np.mean(claimed) <= 0.09
    assert np.mean(all_held) >= 0.90
