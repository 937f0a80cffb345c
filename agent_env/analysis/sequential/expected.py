"""How many samples a sequential test will ask, by simulation of samples that all stand alone.

A guess, as the share of samples on which two conditions differ is not known before, and samples of
one cluster go together: those of the second stage say less than is assumed here.
"""

from __future__ import annotations

import numpy as np

from agent_env.analysis.forecast import DISAGREEMENT
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.betting import REACHED, Capital
from agent_env.analysis.sequential.rule import SHARES
from agent_env.analysis.sequential.walk import Order
from agent_env.records.forecast import ExpectedSamples

DIFFERENCES = (0.2, 0.1)
"""For which a run says how many samples it will ask."""
SIMULATED = 200
"""Simulated runs for each."""


def expected_samples(
    contrast: str, order: Order, alpha: float, effect: float | None = None
) -> tuple[ExpectedSamples, ...]:
    """For each difference, the median of samples asked until it is decided. `alpha`: what the
    contrast alone has. `effect`: as in `StoppingRule`."""
    expected, planned = [], len(order.rows)
    for difference in DIFFERENCES if effect is None else (effect,):
        values = independent(difference, DISAGREEMENT, max(order.rows) + 1)
        median = int(np.median(ends(values, order, alpha, effect)))
        expected.append(
            ExpectedSamples(
                contrast=contrast, difference=difference, planned=planned, differing=DISAGREEMENT,
                samples=median if median <= planned else None,
            )
        )  # fmt: skip
    return tuple(expected)


def independent(difference: float, differing: float, samples: int) -> Floats:
    """Differences of independent samples, simulated runs by samples. On a share `differing` of them
    one condition is right and the other wrong."""
    gain, loss = (differing + difference) / 2, (differing - difference) / 2
    chances = [gain, 1 - differing, loss]
    values: Floats = np.random.default_rng(1).choice(
        [1.0, 0.0, -1.0], size=(SIMULATED, samples), p=chances
    )
    return values


def ends(values: Floats, order: Order, alpha: float, effect: float | None = None) -> list[int]:
    """By run, the samples asked until a difference is decided, or one more than all. `values`: of
    each run the differences of all rows."""
    place = {row: number for number, row in enumerate(order.rows)}
    counts = np.full(len(values), len(place) + 1)
    asked = looks = 0
    horizons = order.horizons(effect)
    for horizon, share in zip(horizons, SHARES[len(horizons)], strict=True):
        capital = Capital(np.array(0.0), 1 / alpha / share, horizon, (len(values),))
        for rows in order.looks[looks : looks + len(horizon.information)]:
            asked = max(asked, *(place[row] + 1 for row in rows))
            capital.add(values[:, list(rows)].mean(axis=1))
            decided = capital.sides.sum(axis=0) >= REACHED
            counts[decided & (counts > len(place))] = asked
        looks += len(horizon.information)
    return [int(end) for end in counts]


def in_words(expected: tuple[ExpectedSamples, ...]) -> str:
    """A line for the user."""
    parts = [
        f"{each.difference:.2f} after about {each.samples}"
        if each.samples is not None
        else f"{each.difference:.2f} probably not"
        for each in expected
    ]
    first = expected[0]
    return (
        f"{first.contrast}: of {first.planned} samples at most, a difference of "
        f"{' and one of '.join(parts)} (forecast: the median, if {100 * first.differing:.0f} % of "
        "samples differ)"
    )
