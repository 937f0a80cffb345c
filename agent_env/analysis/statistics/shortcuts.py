"""What answers without reasoning score on the same samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, PlannedContrast, measure
from agent_env.analysis.intervals import Floats
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import ORACLE, Arm
from agent_env.tasks.shortcuts import Shortcut


@Statistic("shortcuts", order=12, section="Results").of
def shortcuts(comparison: Comparison) -> ResultTable:
    """Each condition and shortcut by the main metric, with the difference from the best."""
    arms, baselines = comparison.study.arms, comparison.shortcut_arms
    best, above = best_shortcut(comparison), above_best(comparison)
    rows: list[tuple[Cell, ...]] = []
    for group in (arms, baselines) if baselines else ():
        estimates = comparison.estimates_over(group, comparison.metric)
        for arm, estimate in zip(group, estimates, strict=True):
            gain = above.get(arm.label)
            paired = (None, None) if gain is None else (gain.difference.cell, gain.p_holm)
            rows.append((arm.label, estimate.cell, estimate.samples, *paired))
    if not any(row[2] for row in rows[: len(arms)]):  # nothing to compare them with
        rows = []
    name = None if best is None else best[0]
    columns = (
        Column("answers by"), Column(comparison.metric), Column("n", 0),
        Column(f"difference from {name}", signed=True, key="difference"),
        Column("p (Holm)"),
    )  # fmt: skip
    rules = tuple(f"{arm.label}: {arm.model}." for arm in baselines)
    rules += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    title = "Is the score above that of a policy without reasoning?"
    return ResultTable("shortcuts", title, columns, tuple(rows), rules, name)


def above_best(comparison: Comparison) -> dict[str, Contrast]:
    """By label of the condition, its difference from the best shortcut; without those on a day and
    disturbed ones, as shortcuts answer in the present of the plain world."""
    best = best_shortcut(comparison)
    if best is None:
        return {}
    arms = [
        arm for arm in comparison.study.arms
        if arm.condition.today is None and arm.condition.disturbance is None and arm.finished
    ]  # fmt: skip
    if not arms:
        return {}
    values = comparison.columns(comparison.metric, arms) - best[1][:, None]
    plans = [PlannedContrast(arm.label, arm.label, best[0], ()) for arm in arms]
    is_rate = comparison.is_rate(comparison.metric, [*arms, _arm_of(comparison, best[0])])
    contrasts = measure(plans, values, comparison.clusters, is_rate)
    return {contrast.name: contrast for contrast in contrasts}


def _arm_of(comparison: Comparison, label: str) -> Arm:
    return next(arm for arm in comparison.shortcut_arms if arm.label == label)


APART = "cannot be told apart from it"


def shortcut_sentence(comparison: Comparison) -> Iterator[str]:
    """Which conditions are shown to be better or worse than the best shortcut, and which not."""
    best, above = best_shortcut(comparison), above_best(comparison)
    if best is None or not above:
        return
    sign = -1 if comparison.is_error else 1
    groups: dict[str, list[str]] = {"better than it": [], "worse than it": [], APART: []}
    sizes = []
    for label, contrast in above.items():
        kind, value = APART, contrast.difference.value or 0.0
        if contrast.is_shown:
            kind = "better than it" if sign * value > 0 else "worse than it"
        else:
            sizes.append(contrast.detectable or 0.0)
        figure = Column("", 2, signed=True).text(contrast.difference.cell)
        groups[kind].append(f"{label} {figure}")
    parts = [f"{kind}: {', '.join(own)}" for kind, own in groups.items() if own]
    every = [contrast.pairs for contrast in above.values()]
    pairs = sorted({min(every), max(every)})
    missed = f"; a difference below {max(sizes):.2f} can be missed" if any(sizes) else ""
    score, metric = float(np.nanmean(best[1])), comparison.metric.replace("_", " ")
    yield (
        f"The best shortcut, {best[0].removeprefix(Shortcut.ROW)}, has {metric} {score:.3f} "
        f"without a model; {'; '.join(parts)} (n = {' to '.join(map(str, pairs))}{missed})."
    )


def best_shortcut(comparison: Comparison) -> tuple[str, Floats] | None:
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
