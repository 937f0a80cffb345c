"""What the analysis costs, and whether its intervals and tests hold: python benchmarks/analysis.py

Prints the time and memory of the largest comparison the project aims at (6 conditions, 2 models,
600 samples, 3 repeats, 10,000 resamples), then, over 1,000 simulated runs for each kind of study,
how often 95 % intervals hold the planted effect and how often the tests reject a true null at 5 %;
for six contrasts of one table also how often all simultaneous intervals hold, and TOST's level.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, ContrastValues, PlannedContrast, Scale, measure
from agent_env.analysis.intervals import mean_estimates
from agent_env.analysis.resampling import cluster_count, draw_weights
from agent_env.analysis.statistics import statistics_of, tables_of
from tests.analysis.simulated import Plant, gains, scores, study

PLAN = PlannedContrast("after − before", "after", "before", (("after", 1.0), ("before", -1.0)))
FAMILY = 6
"""Contrasts of one table."""
STUDIES = {
    "100 samples": Plant(samples=100),
    "100 samples, 3 repeats": Plant(samples=100, repeats=3),
    "200 samples of 60 events": Plant(samples=200, events=60, spread=0.4),
    "200 samples of 60 events, 3 repeats": Plant(samples=200, events=60, repeats=3, spread=0.4),
    "40 samples": Plant(samples=40),
}


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cost()
    print(f"\n{runs} simulations of each study; effect +0.10 for coverage, 0 for the tests")
    heads = ("difference held", "share held", "p < 5 %", "exact McNemar", "mid-p McNemar")
    print(f"{'':38}" + "".join(f"{head:>17}" for head in heads))
    for name, plant in STUDIES.items():
        print(f"{name:38}" + "".join(f"{x:>17}" for x in calibration(plant, runs)))
    print(f"\n{FAMILY} contrasts with one baseline, effect +0.10; margin 0.10")
    columns = ("each held", "all held", "TOST < 5 %", "any by Holm")
    print(f"{'':38}" + "".join(f"{head:>17}" for head in columns))
    for name, plant in STUDIES.items():
        print(f"{name:38}" + "".join(f"{x:>17}" for x in family(plant, runs)))


def family(plant: Plant, runs: int) -> list[str]:
    """How often the effect lies in single intervals, in all simultaneous ones; how often a
    difference as large as the margin is called equivalent: alone, and any of all by Holm."""
    effect = replace(plant, effect=0.10)
    rng = np.random.default_rng(8)
    plans = [replace(PLAN, name=str(k)) for k in range(FAMILY)]
    scale = Scale(True, plant.repeats == 1, 0.05, margin=0.10)
    figures = np.zeros(4)
    for number in range(runs):
        values, clusters = gains(effect, FAMILY, rng)
        weights = draw_weights(cluster_count(clusters), 2000, number)
        table = measure(
            plans, ContrastValues(values, np.ones_like(values)), clusters, scale, weights, number
        )
        single = [c.difference.low <= 0.10 <= c.difference.high for c in table]  # type: ignore[operator]
        every = [c.simultaneous[0] <= 0.10 <= c.simultaneous[1] for c in table]  # type: ignore[index]
        alone = [(c.p_equivalence or 0.0) < 0.05 for c in table]
        any_equivalent = any(c.is_equivalent for c in table)
        figures += np.array([np.mean(single), all(every), np.mean(alone), any_equivalent])
    return [f"{100 * x / runs:.1f} %" for x in figures]


def cost() -> None:
    effects = {
        "base": 0.0,
        "web": 0.1,
        "python": 0.0,
        "web+python": 0.12,
        "explicit": 0.2,
        "cal": 0.02,
    }
    planted = study(Plant(samples=600, repeats=3), effects, ("a", "b"), seed=1)
    before, cpu = time.perf_counter(), time.process_time()
    comparison = Comparison(planted)
    tables = tables_of(comparison, statistics_of(comparison))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    wall, used = time.perf_counter() - before, time.process_time() - cpu
    episodes = sum(len(arm.observations) for arm in planted.arms)
    print(
        f"{len(tables)} tables of {episodes} episodes, 10,000 resamples: {wall:.1f} s wall, "
        f"{used:.1f} s CPU, peak {peak:.0f} MB"
    )


def calibration(plant: Plant, runs: int) -> list[str]:
    """Shares of simulations, as printed."""
    effect = Plant(plant.samples, plant.repeats, plant.events, plant.base, 0.10, plant.spread)
    rng = np.random.default_rng(7)
    held = shares = 0
    for number in range(runs):
        before, after, clusters = scores(effect, rng)
        found = contrast(before, after, clusters, plant.repeats == 1, number).difference
        held += found.low <= 0.10 <= found.high  # type: ignore[operator]
        (share,) = mean_estimates(before[:, None], clusters, np.empty((0, 1)), True)
        shares += share.low <= plant.base <= share.high  # type: ignore[operator]
    rejected = np.zeros(3)
    for number in range(runs):
        before, after, clusters = scores(plant, rng)
        null = contrast(before, after, clusters, plant.repeats == 1, number)
        ps = (null.p_value, null.p_mcnemar, null.p_mcnemar_mid)
        rejected += [p is not None and p < 0.05 for p in ps]
    told = [f"{100 * x / runs:.1f} %" for x in (held, shares, *rejected)]
    return told if plant.repeats == 1 else [*told[:3], "–", "–"]


def contrast(
    before: np.ndarray, after: np.ndarray, clusters: np.ndarray, single: bool, seed: int
) -> Contrast:
    deltas = (after - before)[:, None]
    (found,) = measure(
        [PLAN], ContrastValues(deltas, np.ones_like(deltas)), clusters, Scale(True, single, 0.05),
        draw_weights(cluster_count(clusters), 2000, seed), seed,
    )  # fmt: skip
    return found


if __name__ == "__main__":
    main()
