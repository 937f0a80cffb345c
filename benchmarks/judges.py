"""Coverage of the intervals of a judge's corrected share, by simulation.

    python benchmarks/judges.py [--times 10000] [--seed 1]

Of N answers, each right with chance p, a judge calls the right ones right with chance `se` and the
wrong ones wrong with chance `sp`; L of them, drawn at random, have a person's label. Coverage is
the share of 95 % intervals that hold p; a width is the mean of them.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from agent_env.analysis.intervals import Estimate
from agent_env.analysis.judge_correction import Share, prediction_powered, rogan_gladen

SIZES = ((60, 30), (200, 60), (400, 125), (1000, 125))
RATES = (0.1, 0.5, 0.9)
JUDGES = ((0.9, 0.9), (0.95, 0.7), (0.7, 0.8), (0.99, 0.99))
KINDS = ("judge alone", "labels alone", "Rogan-Gladen", "prediction-powered")


def main() -> None:
    """Prints a line for each setting, and the least and the mean coverage of each interval."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, every = np.random.default_rng(options.seed), []
    for (n, labels), p, (se, sp) in product(SIZES, RATES, JUDGES):
        covered, widths, known = np.zeros(4), np.zeros(4), np.zeros(4)
        for _ in range(options.times):
            for kind, estimate in enumerate(estimates(rng, n, labels, p, se, sp)):
                if estimate.low is not None and estimate.high is not None:
                    known[kind] += 1
                    covered[kind] += estimate.low <= p <= estimate.high
                    widths[kind] += estimate.high - estimate.low
        every.append(covered / known)
        figures = zip(KINDS, covered / known, widths / known, strict=True)
        texts = [f"{name} {share:.3f} (width {width:.3f})" for name, share, width in figures]
        print(f"N {n} L {labels} p {p} se {se} sp {sp}: {', '.join(texts)}", flush=True)
    for kind, name in enumerate(KINDS):
        column = [row[kind] for row in every]
        print(
            f"{name}: least {min(column):.3f}, mean {np.mean(column):.3f}, most {max(column):.3f}"
        )


def estimates(
    rng: np.random.Generator, n: int, labels: int, p: float, se: float, sp: float
) -> list[Estimate]:
    """Of one draw, in the order of KINDS."""
    true = rng.random(n) < p
    called = np.where(true, rng.random(n) < se, rng.random(n) >= sp)
    right, says = true[:labels], called[:labels]
    sides = ((says, right), (says, ~right), (~says, right), (~says, ~right))
    cells = [float((one & other).sum()) for one, other in sides]
    judge = Share(float(called.mean()), n)
    both, judge_only, people_only, neither = cells
    corrected = Estimate(None)
    if both + people_only and judge_only + neither:
        found = Share(both / (both + people_only), both + people_only)
        passed = Share(neither / (judge_only + neither), judge_only + neither)
        corrected = rogan_gladen(judge, found, passed)
    rest = Share(float(called[labels:].mean()), n - labels)
    people = Share(float(right.mean()), labels)
    return [judge.estimate, people.estimate, corrected, prediction_powered(cells, rest)]


if __name__ == "__main__":
    main()
