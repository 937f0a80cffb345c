"""What shortcuts score on the same samples: the baseline that a condition has to exceed."""

from __future__ import annotations

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


def shortcuts(comparison: Comparison) -> ResultTable:
    """Each condition and each shortcut by the main metric, with the difference from the best
    shortcut that sees no gold."""
    arms, baselines = comparison.study.arms, comparison.shortcut_arms
    rows = []
    best = best_shortcut(comparison)
    for group in (arms, baselines):
        estimates = comparison.estimates_over(group, comparison.metric) if baselines else []
        for arm, estimate in zip(group, estimates, strict=bool(baselines)):
            above = None
            if best is not None and group is arms:
                difference = comparison.column(arm, comparison.metric) - best[1]
                above = comparison.estimates(difference[:, None], share=False)[0].cell
            rows.append((arm.label, estimate.cell, estimate.samples, above))
    columns = (
        Column("answers by"), Column(comparison.metric), Column("n", 0),
        Column(f"above {best[0] if best else 'the best shortcut'}", signed=True),
    )  # fmt: skip
    rules = tuple(f"{arm.label}: {arm.model}." for arm in baselines)
    rules += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    title = "Shortcuts on the same samples"
    return ResultTable("shortcuts", title, columns, tuple(rows), rules)


def best_shortcut(comparison: Comparison) -> tuple[str, np.ndarray] | None:
    """The best one that sees no gold, and its column of scores; None where there is none."""
    by_score = {}
    for arm in comparison.shortcut_arms:
        column = comparison.column(arm, comparison.metric)
        if arm.run != ORACLE and not np.isnan(column).all():
            by_score[arm.label] = column
    if not by_score:
        return None
    sign = -1 if comparison.is_error else 1
    label = max(by_score, key=lambda name: sign * float(np.nanmean(by_score[name])))
    return label, by_score[label]


ORACLE = "sees gold"
"""The run's name of a shortcut that sees the gold."""
SHORTCUTS = Statistic(
    "shortcuts", shortcuts, order=12, section="Results", is_main=True, in_score=True
)
