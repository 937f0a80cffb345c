"""Do intervals and tests hold what they promise? python benchmarks/intervals.py [RUNS] [cost]

Prints the table of docs/analysis.md: by design, the lowest and highest coverage of 95 % intervals
over rates of .02 to .98 and discordances of 0 to .5, ours and those that peers print (a standard
error of independent episodes, without pairing); then the family-wise error of the claims of six
contrasts without any effect, and how often six simultaneous intervals hold. `cost`: the time and
memory of the largest comparison that the project aims at.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterable

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import PlannedContrast, measure
from agent_env.analysis.intervals import Means
from agent_env.analysis.statistics import statistics_of, tables_of
from tests.analysis.simulated import Design, Plant, gains, held, pairs, rates, study

SIZES, CLUSTERS, REPEATS = (6, 12, 30, 100, 300), (1, 5), (1, 4)
RATES, DISCORDANCES, GAINS = (0.02, 0.1, 0.5, 0.9, 0.98), (0.0, 0.02, 0.1, 0.3, 0.5), (0.5, 0.9)
FAMILY = 6
Z = 1.959964


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    if "cost" in sys.argv:
        cost()
    print("| n | cluster | repeats | rate | difference | interaction | mean | peers: rate "
          "| peers: difference | width of the difference, ours / peers |")  # fmt: skip
    print("|" + "---|" * 10)
    for samples in SIZES:
        for cluster in CLUSTERS:
            for repeats in REPEATS if samples // cluster > 1 else ():
                row = coverage(Design(samples, cluster, repeats), runs)
                print(
                    f"| {samples} | {cluster} | {repeats} | " + " | ".join(row) + " |", flush=True
                )
    print(f"\n{FAMILY} contrasts with one baseline: any claim without an effect; all simultaneous "
          "intervals hold an effect of 0.1")  # fmt: skip
    for plant in (Plant(12), Plant(30), Plant(100), Plant(100, 4), Plant(200, 1, 40, spread=0.4)):
        print(plant.samples, plant.repeats, plant.events, *family(plant, runs))


def coverage(design: Design, runs: int) -> list[str]:
    rng = np.random.default_rng(1)
    ours, theirs = [], []
    for rate in RATES:
        scores = rates(design, rate, runs, rng)
        ours.append(held(Means(scores, design.clusters), "rate", rate)[0])
        theirs.append(_near(scores.mean(axis=0), _error(scores, design), rate))
    differences, unpaired, widths = [], [], []
    for discordance in DISCORDANCES:
        for share in GAINS:
            before, after = pairs(design, discordance, share, runs, rng)
            truth = discordance * (2 * share - 1)
            found = held(Means(after - before, design.clusters), "difference", truth,
                         ends=(-1.0, 1.0))  # fmt: skip
            error = np.hypot(_error(before, design), _error(after, design))
            differences.append(found[0])
            unpaired.append(_near((after - before).mean(axis=0), error, truth))
            widths.append(found[1] / (2 * Z * error.mean()))
    both = [pairs(design, 0.3, share, runs, rng) for share in (0.9, 0.5)]
    apart = (both[0][1] - both[0][0]) - (both[1][1] - both[1][0])
    interaction = held(Means(apart, design.clusters), "difference", 0.24, ends=(-2.0, 2.0))[0]
    mean = np.mean([_of_means(design, 250, rng) for _ in range(max(runs // 250, 1))])
    return [_span(ours), _span(differences), _span([interaction]), _span([mean]), _span(theirs),
            _span(unpaired), f"{min(widths):.2f}–{max(widths):.2f}"]  # fmt: skip


def _of_means(design: Design, count: int, rng: np.random.Generator) -> float:
    """The coverage of so many means of skewed scores; few at a time, as each draws resamples."""
    partial = rng.beta(0.8, 0.4, (design.repeats, design.samples, count)).mean(axis=0)
    partial += 0.2 * (rng.random((design.clusters[-1] + 1, count)) - 0.5)[design.clusters]
    return held(Means(partial, design.clusters), "mean", 2 / 3)[0]


def _error(scores: np.ndarray, design: Design) -> np.ndarray:
    """Of a mean, as if all episodes were independent."""
    rate, episodes = scores.mean(axis=0), design.samples * design.repeats
    return np.sqrt(rate * (1 - rate) / max(episodes - 1, 1))


def _near(values: np.ndarray, error: np.ndarray, truth: float) -> float:
    return float((np.abs(values - truth) <= Z * error + 1e-9).mean())


def _span(shares: Iterable[float]) -> str:
    values = [100 * share for share in shares]
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return low if low == high else f"{low}–{high}"


def family(plant: Plant, runs: int) -> tuple[str, str]:
    """How often any of six true nulls is claimed, and how often six intervals hold their effect."""
    plans = [PlannedContrast(str(k), "after", "before", ()) for k in range(FAMILY)]
    rng, claims, holds = np.random.default_rng(2), 0, 0
    for effect, count in ((0.0, False), (0.1, True)):
        planted = Plant(plant.samples, plant.repeats, plant.events, 0.45, effect, plant.spread)
        for _ in range(runs):
            values, clusters = gains(planted, FAMILY, rng)
            table = measure(plans, values, clusters, is_rate=True)
            ends = [c.simultaneous for c in table if c.simultaneous is not None]
            claims += not count and any(c.is_shown for c in table)
            holds += count and all(low <= effect <= high for low, high in ends)
    return f"{100 * claims / runs:.1f} %", f"{100 * holds / runs:.1f} %"


def cost() -> None:
    names = ("base", "web", "python", "web+python", "explicit", "cal")
    effects = dict(zip(names, (0.0, 0.1, 0.0, 0.12, 0.2, 0.02), strict=True))
    planted = study(Plant(samples=600, repeats=3), effects, ("a", "b"), seed=1)
    clock: Callable[[], float] = time.process_time
    before = clock()
    comparison = Comparison(planted)
    tables = tables_of(comparison, statistics_of(comparison))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    episodes = sum(len(arm.observations) for arm in planted.arms)
    print(f"{len(tables)} tables of {episodes} episodes: {clock() - before:.1f} s CPU, "
          f"peak {peak:.0f} MB\n")  # fmt: skip


if __name__ == "__main__":
    main()
