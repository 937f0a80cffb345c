"""How the rankings of the models agree under different conditions."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.correlation import Correlation, divided, rank_correlations, shifted_estimate
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.resampling import Floats
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


def rankings(comparison: Comparison) -> ResultTable:
    """Rank correlations between the orders of the models; no rows below three models."""
    rows = tuple(
        (f"{c.first} and {c.second}", c.spearman.cell, c.kendall.cell, c.n)
        for c in between_rankings(comparison)
    )
    columns = (Column("conditions"), Column("Spearman"), Column("Kendall tau-b"),
               Column("models", 0))  # fmt: skip
    return ResultTable("rankings", "How the rankings of the models agree", columns, rows)


def between_rankings(comparison: Comparison) -> list[Correlation]:
    """The order of the models (runs) under each pair of conditions, for three models or more."""
    arms = comparison.study.arms
    runs = list(dict.fromkeys(arm.run for arm in arms))
    if len(runs) < 3:
        return []
    place = {(arm.run, arm.condition.name): i for i, arm in enumerate(arms)}
    names = [
        name
        for name in dict.fromkeys(arm.condition.name for arm in arms)
        if all((run, name) in place for run in runs)
    ]
    draws = comparison.draws(comparison.columns(comparison.metric))
    values = np.array([m.value for m in comparison.means[comparison.metric]], dtype=float)
    rankings = []
    for a, b in combinations(names, 2):
        first, second = ([place[run, name] for run in runs] for name in (a, b))
        pairs = (values[first], values[second], draws[:, first], draws[:, second])
        rankings.append(_ranking((a, b), *pairs, comparison.cluster_count))
    return rankings


def _ranking(
    names: tuple[str, str], x: Floats, y: Floats, xs: Floats, ys: Floats, groups: int
) -> Correlation:
    if np.isnan([x, y]).any() or np.ptp(x) == 0 or np.ptp(y) == 0:
        none = Estimate(None, method="all equal or unknown")
        return Correlation(*names, none, none, len(x))
    rho, tau = rank_correlations(x, y)
    if groups < 2:
        estimates = [Estimate(v, method="one sample", samples=len(x)) for v in (rho, tau)]
        return Correlation(*names, estimates[0], estimates[1], len(x))
    from scipy.stats import rankdata

    a, b = rankdata(xs, axis=1), rankdata(ys, axis=1)
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    rho_drawn = divided((a * b).sum(axis=1), np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1)))
    sx = np.sign(xs[:, :, None] - xs[:, None, :])
    sy = np.sign(ys[:, :, None] - ys[:, None, :])
    untied = np.sqrt(np.abs(sx).sum(axis=(1, 2)) * np.abs(sy).sum(axis=(1, 2)))
    tau_drawn = divided((sx * sy).sum(axis=(1, 2)), untied)
    estimates = [
        shifted_estimate(rho, rho_drawn, len(x), groups),
        shifted_estimate(tau, tau_drawn, len(x), groups),
    ]
    return Correlation(*names, estimates[0], estimates[1], len(x))


RANKINGS = Statistic(
    "rankings", rankings, order=90, needs=("scipy",),
    without_rows="Rankings need at least three models and two conditions that all of them have.",
)  # fmt: skip
