"""What repeats show: how much of a difference is chance, and reliability (pass^k)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from statistics import NormalDist

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.resampling import Floats
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


@dataclass(frozen=True, slots=True)
class Noise:
    label: str
    flips: Estimate
    """Chance that two episodes of the same sample score differently; None without repeats."""
    floor: float | None
    """Two single runs of this same condition differ by no more than this in 95 % of cases."""


def noise_of(comparison: Comparison) -> list[Noise]:
    noises = []
    for arm in comparison.study.arms:
        scores = comparison.scores(arm)
        flips = np.full((len(scores), 1), np.nan)
        variances = []
        for row, row_scores in enumerate(scores):
            if len(row_scores) >= 2:
                pairs = comb(len(row_scores), 2)
                same = sum(comb(n, 2) for n in np.unique(row_scores, return_counts=True)[1])
                flips[row, 0] = 1 - same / pairs
                variances.append(float(np.var(row_scores, ddof=1)))
        estimate, floor = Estimate(None, method="no repeats"), None
        if variances:
            (estimate,) = comparison.estimates(flips, share=True)
            error = (2 * float(np.mean(variances)) / len(variances)) ** 0.5
            floor = NormalDist().inv_cdf(0.975) * error
        noises.append(Noise(arm.label, estimate, floor))
    return noises


LITERATURE = (0.05, 0.15)
"""Accuracy that moved between ten runs of one model at temperature 0, over eight tasks and five
models (Atil et al. 2024, arXiv 2408.04667, abstract and table 1); at least so many verdicts did."""


def noise_notes(comparison: Comparison) -> Iterator[str]:
    """For tables over one episode of each sample: the smallest difference that they can show, and
    how many verdicts another run would turn; nothing where repeats show that."""
    noises, study = noise_of(comparison), comparison.study
    if any(each.flips.value is not None for each in noises) or not any(
        arm.finished for arm in study.arms
    ):
        return
    sizes = [each.detectable for each in comparison.contrasts if each.detectable is not None]
    if sizes:
        yield (
            f"One episode of each sample: a difference below {max(sizes):.2f} can be missed "
            f"(80 % power at 5 %, n = {len(study.samples)})."
        )
    if any("/" in arm.model for arm in study.arms) and not comparison.is_error:  # no script
        low, high = (f"{100 * share:.0f}" for share in LITERATURE)
        yield (
            f"Another run may turn {low} to {high} % of the verdicts (range of the literature, "
            "not measured here; --repeats 3 measures it)."
        )


@Statistic(
    "noise", order=60,
    without_rows="No sample has two finished episodes of one condition; run --repeats makes them.",
).of  # fmt: skip
def noise(comparison: Comparison) -> ResultTable:
    floors = [each for each in noise_of(comparison) if each.flips.value is not None]
    rows = tuple((each.label, each.flips.cell, each.floor) for each in floors)
    columns = (Column("condition"), Column("flip rate"), Column("noise floor"))
    notes = (
        "Flip rate: the chance that two episodes of one sample score differently.",
        "Noise floor: two single runs of the same condition differ by no more than this in 95 % of "
        "cases.",
    )
    return ResultTable("noise", "Noise between repeats", columns, rows, notes)


@Statistic(
    "reliability", order=70,
    without_rows="No sample has two finished episodes of one condition; run --repeats makes them.",
).of  # fmt: skip
def reliability(comparison: Comparison) -> ResultTable:
    """pass^k; no rows without repeats."""
    by_k = pass_hat(comparison)
    labels = [arm.label for arm in comparison.study.arms]
    rows = [(label, *(by[i].cell for by in by_k.values())) for i, label in enumerate(labels)]
    columns = (Column("condition"), *(Column(f"pass^{k}") for k in by_k))
    notes = ("pass^k: the chance that k episodes of one sample are all exactly right.",)
    many = tuple(rows) if len(by_k) > 1 else ()
    return ResultTable("reliability", "Reliability over repeats", columns, many, notes)


def pass_hat(comparison: Comparison, most: int | None = None) -> dict[int, list[Estimate]]:
    """pass^k by k: the chance that k episodes of one sample are all right (Yao et al. 2024), one
    estimate per arm; an episode is right where it scores 1, or has an error of 0. Samples with
    fewer than k finished episodes are left out."""
    scores = [
        [[float(s == 0 if comparison.is_error else s >= 1) for s in repeats] for repeats in samples]
        for samples in (comparison.scores(arm) for arm in comparison.study.arms)
    ]
    most = most or max((len(repeats) for arm in scores for repeats in arm), default=0)
    by_k: dict[int, list[Estimate]] = {}
    for k in range(1, most + 1):
        values = np.column_stack([_all_right(arm, k) for arm in scores])
        by_k[k] = comparison.estimates(values, share=True)
    return by_k


def _all_right(right: list[list[float]], k: int) -> Floats:
    return np.array(
        [comb(int(sum(repeats)), k) / comb(len(repeats), k) if len(repeats) >= k else np.nan
         for repeats in right]
    )  # fmt: skip
