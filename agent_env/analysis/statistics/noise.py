"""What repeats show: how much of a difference is chance, and reliability (pass^k)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, Floats
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


@Statistic(
    "noise", order=60,
    without_rows="No sample has two finished episodes of one condition; run --repeats makes them.",
).of  # fmt: skip
def noise(comparison: Comparison) -> ResultTable:
    """How often two episodes of one sample score differently; no rows without repeats."""
    rows = []
    for arm in comparison.study.arms:
        flips = np.array([_flip_rate(scores) for scores in comparison.scores(arm)])
        if not np.isnan(flips).all():
            rows.append((arm.label, comparison.estimates(flips[:, None], "rate")[0].cell))
    columns = (Column("condition"), Column("flip rate"))
    note = "Flip rate: the chance that two episodes of one sample score differently."
    title = "Does a repeat score the same?"
    return ResultTable("noise", title, columns, tuple(rows), (note,))


def _flip_rate(scores: Sequence[float]) -> float:
    if len(scores) < 2:
        return np.nan
    same = sum(comb(n, 2) for n in Counter(scores).values())
    return 1 - same / comb(len(scores), 2)


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
    return ResultTable("reliability", "How often are all repeats right?", columns, many, notes)


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
        by_k[k] = comparison.estimates(values, "rate")
    return by_k


def _all_right(right: list[list[float]], k: int) -> Floats:
    return np.array(
        [comb(int(sum(repeats)), k) / comb(len(repeats), k) if len(repeats) >= k else np.nan
         for repeats in right]
    )  # fmt: skip
