"""How many samples a sequential test will ask, by simulation of samples that all stand alone.

A guess, as the share of samples on which two conditions differ is not known before, and samples of
one cluster go together: those of the second stage say less than is assumed here.
"""

from __future__ import annotations

from math import log

import numpy as np

from agent_env.analysis.forecast import DISAGREEMENT
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.rule import FRACTIONS, LOG_SHARES, ONE_STAGE, TWO_STAGES
from agent_env.analysis.sequential.walk import Order
from agent_env.records.forecast import ExpectedSamples

DIFFERENCES = (0.2, 0.1)
"""For which a run says how many samples it will ask."""
SIMULATED = 200
"""Simulated runs for each."""


def expected_samples(
    contrast: str, order: Order, alpha: float, differences: tuple[float, ...] = DIFFERENCES
) -> tuple[ExpectedSamples, ...]:
    """For each difference, the median of samples asked until it is decided. `alpha`: what the
    contrast alone has."""
    expected, planned = [], len(order.rows)
    for difference in differences:
        values = independent(difference, DISAGREEMENT, max(order.rows) + 1)
        median = int(np.median(ends(values, order, alpha)))
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


def ends(values: Floats, order: Order, alpha: float) -> list[int]:
    """By run, the samples asked until a difference is decided, or one more than all. `values`: of
    each run the differences of all rows."""
    place = {row: number for number, row in enumerate(order.rows)}
    asked = np.maximum.accumulate([max(map(place.__getitem__, rows)) + 1 for rows in order.looks])
    looks = np.stack([values[:, list(rows)].mean(axis=1) for rows in order.looks], axis=1)
    shares = ONE_STAGE if order.first is None else TWO_STAGES
    stages = [looks] if order.first is None else [looks[:, : order.first], looks[:, order.first :]]
    crossed = np.hstack(
        [
            np.maximum(log_capital(stage), log_capital(-stage)) >= -log(alpha * share)
            for stage, share in zip(stages, shares, strict=True)
        ]
    )
    counts = np.where(crossed.any(axis=1), asked[crossed.argmax(axis=1)], len(place) + 1)
    return [int(end) for end in counts]


def log_capital(values: Floats) -> Floats:
    """Runs by looks, of the gambler who bets against the mean 0 on a higher one; as `Capital`, for
    all runs at once."""
    total = np.zeros((len(values), len(FRACTIONS)))
    capital = np.empty(values.shape)
    for look in range(values.shape[1]):
        total += np.log1p(values[:, look, None] * FRACTIONS)
        top = total.max(axis=1)
        capital[:, look] = top + np.log(np.exp(total - top[:, None] + LOG_SHARES).sum(axis=1) / 2)
    return capital


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
