"""How much of a difference is chance: flips between repeats."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import NormalDist

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise floor of one arm."""

    label: str
    flips: Estimate
    """Chance that two episodes of the same sample score differently; None without repeats."""
    floor: float | None
    """Two single runs of this same condition differ by no more than this in 95 % of cases."""


def noise_of(comparison: Comparison) -> list[Noise]:
    """The noise floor of every arm, of the main metric, 0/1 or not."""
    return [_noise(comparison, arm) for arm in comparison.study.arms]


def _noise(comparison: Comparison, arm: Arm) -> Noise:
    scores = comparison.scores(arm)
    flips = np.full((len(scores), 1), np.nan)
    variances = []
    for row, own in enumerate(scores):
        if len(own) >= 2:
            pairs = comb(len(own), 2)
            same = sum(comb(n, 2) for n in np.unique(own, return_counts=True)[1])
            flips[row, 0] = 1 - same / pairs
            variances.append(float(np.var(own, ddof=1)))
    if not variances:
        return Noise(arm.label, Estimate(None, method="no repeats"), None)
    (estimate,) = comparison.estimates(flips, share=True)
    error = (2 * float(np.mean(variances)) / len(variances)) ** 0.5
    return Noise(arm.label, estimate, NormalDist().inv_cdf(0.975) * error)


def noise(comparison: Comparison) -> ResultTable:
    """Flips between repeats; no rows without repeats."""
    floors = [each for each in noise_of(comparison) if each.flips.value is not None]
    rows = tuple((each.label, each.flips.cell, each.floor) for each in floors)
    columns = (Column("condition"), Column("flip rate"), Column("noise floor"))
    notes = (
        "Flip rate: the chance that two episodes of one sample score differently. Noise floor: two "
        "single runs of the same condition differ by no more than this in 95 % of cases.",
    )
    return ResultTable("noise", "Noise between repeats", columns, rows, notes)


NOISE = Statistic(
    "noise", noise, order=60,
    without_rows="No sample has two finished episodes of one condition; run --repeats makes them.",
)  # fmt: skip
