"""What repeats show: how often all of them are right (pass^k)."""

from __future__ import annotations

from math import comb

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, Floats
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


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


def pass_hat(comparison: Comparison) -> dict[int, list[Estimate]]:
    """pass^k by k: the chance that k episodes of one sample are all right (Yao et al. 2024), one
    estimate per arm; an episode is right where it scores 1, or has an error of 0. Samples with
    fewer than k finished episodes are left out."""
    scores = [
        [[float(s == 0 if comparison.is_error else s >= 1) for s in repeats] for repeats in samples]
        for samples in (comparison.scores(arm) for arm in comparison.study.arms)
    ]
    most = max((len(repeats) for arm in scores for repeats in arm), default=0)
    return {
        k: comparison.estimates(np.column_stack([_all_right(arm, k) for arm in scores]), "rate")
        for k in range(1, most + 1)
    }


def _all_right(right: list[list[float]], k: int) -> Floats:
    return np.array(
        [comb(int(sum(repeats)), k) / comb(len(repeats), k) if len(repeats) >= k else np.nan
         for repeats in right]
    )  # fmt: skip
