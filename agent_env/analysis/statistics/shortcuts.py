"""What answers without reasoning scores on the same samples."""

from __future__ import annotations

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import ORACLE
from agent_env.tasks.shortcuts import Shortcut


@Statistic("shortcuts", order=12, section="Results", is_main=True, in_score=True).of
def shortcuts(comparison: Comparison) -> ResultTable:
    """Each condition and shortcut by the main metric, with the difference from the best."""
    arms, baselines = comparison.study.arms, comparison.shortcut_arms
    rows = []
    best = best_shortcut(comparison)
    for group in (arms, baselines):
        estimates = comparison.estimates_over(group, comparison.metric) if baselines else []
        for arm, estimate in zip(group, estimates, strict=bool(baselines)):
            above = None
            if best is not None and group is arms and arm.condition.today is None:
                difference = comparison.column(arm, comparison.metric) - best[1]
                above = comparison.estimates(difference[:, None], share=False)[0].cell
            rows.append((arm.label, estimate.cell, estimate.samples, above))
    if not any(row[2] for row in rows[: len(arms)]):  # nothing to compare them with
        rows = []
    columns = (
        Column("answers by"), Column(comparison.metric), Column("n", 0),
        Column(f"above {best[0] if best else 'the best shortcut'}", signed=True),
    )  # fmt: skip
    rules = tuple(f"{arm.label}: {arm.model}." for arm in baselines)
    rules += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    if any(arm.condition.today is not None for arm in arms):
        rules += ("Shortcuts answer in the present; no condition on a day is compared with them.",)
    title = "Shortcuts on the same samples"
    brief = "" if best is None else _none_below(comparison, *best)
    return ResultTable("shortcuts", title, columns, tuple(rows), rules, brief)


def _none_below(comparison: Comparison, label: str, scores: np.ndarray) -> str:
    """That every plain condition scored above the best shortcut; "" where one did not."""
    best, values = float(np.nanmean(scores)), comparison.values_of(comparison.metric)
    sign = -1 if comparison.is_error else 1
    arms = comparison.study.arms
    plain = [
        i for i, arm in enumerate(arms)
        if arm.condition.disturbance is None and arm.condition.today is None
    ]  # fmt: skip
    known = [value for i in plain if (value := values[i]) is not None]
    if (arms and not plain) or any(sign * (value - best) <= 0 for value in known):
        return ""
    return (
        f"Shortcuts: every {'plain ' if len(plain) < len(arms) else ''}condition is above the best "
        f"one, {label.removeprefix(Shortcut.ROW)} ({comparison.metric} {best:.3f})."
    )


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
