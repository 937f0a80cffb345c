"""Rank correlations with cluster-bootstrap intervals: between metrics, and between the rankings of
models under different conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, bootstrap_estimate
from agent_env.analysis.resampling import CHUNK, Floats, Ints
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic

MOST_CELLS = 500
"""More distinct pairs of values than this are rounded to two decimals for the interval."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two orders agree."""

    first: str
    second: str
    spearman: Estimate
    kendall: Estimate
    """Tau-b."""
    n: int


def correlate(
    names: tuple[str, str], x: Floats, y: Floats, clusters: Ints, weights: Floats
) -> Correlation:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        none = Estimate(None, method="all equal" if len(x) > 1 else "too few", samples=len(x))
        return Correlation(*names, none, none, len(x))
    rho, tau = rank_correlations(x, y)
    groups = len(np.unique(clusters))
    if groups < 2:
        one = "one sample"
        estimates = [Estimate(v, None, None, one, len(x), groups) for v in (rho, tau)]
        return Correlation(*names, estimates[0], estimates[1], len(x))
    return _shifted(names, (rho, tau), _resampled(x, y, clusters, weights), len(x), groups)


def rank_correlations(x: Floats, y: Floats) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b."""
    from scipy.stats import kendalltau, spearmanr

    return float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)


def _shifted(
    names: tuple[str, str],
    values: tuple[float, float],
    draws: tuple[Floats, Floats],
    n: int,
    groups: int,
) -> Correlation:
    """A draw has the same sample twice, and so ties that the data have not: they move a rank
    correlation, all draws alike. So the draws are moved to have their median at the value."""
    moved = (draw + value - np.nanmedian(draw) for value, draw in zip(values, draws, strict=True))
    rho, tau = (
        bootstrap_estimate(value, np.clip(draw, -1.0, 1.0), n, groups)
        for value, draw in zip(values, moved, strict=True)
    )
    return Correlation(*names, rho, tau, n)


def _resampled(x: Floats, y: Floats, clusters: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """Spearman and Kendall of cluster resamples, from the counts of distinct pairs of values."""
    pairs = np.column_stack([x, y])
    cells, place = np.unique(pairs, axis=0, return_inverse=True)
    if len(cells) > MOST_CELLS:
        cells, place = np.unique(np.round(pairs, 2), axis=0, return_inverse=True)
    counts = np.zeros((weights.shape[1], len(cells)))
    np.add.at(counts, (clusters, place.ravel()), 1.0)
    rho, tau = [], []
    for first in range(0, len(weights), CHUNK):
        draws = weights[first : first + CHUNK] @ counts
        rho.append(_spearman(cells, draws))
        tau.append(_kendall(cells, draws))
    return np.concatenate(rho), np.concatenate(tau)


def _spearman(cells: Floats, counts: Floats) -> Floats:
    """Pearson's correlation of the midranks, one for each row of counts."""
    total = counts.sum(axis=1, keepdims=True)
    ranks = [_midranks(column, counts) for column in cells.T]
    centred = [r - divided((counts * r).sum(axis=1, keepdims=True), total) for r in ranks]
    spread = [(counts * c**2).sum(axis=1) for c in centred]
    both = (counts * centred[0] * centred[1]).sum(axis=1)
    return divided(both, np.sqrt(spread[0] * spread[1]))


def _midranks(values: Floats, counts: Floats) -> Floats:
    levels, place = np.unique(values, return_inverse=True)
    sums = np.zeros((len(counts), len(levels)))
    np.add.at(sums.T, place, counts.T)
    ranks: Floats = (np.cumsum(sums, axis=1) - sums / 2 + 0.5)[:, place]
    return ranks


def _kendall(cells: Floats, counts: Floats) -> Floats:
    """Tau-b, one for each row of counts."""
    signs = [np.sign(column[:, None] - column[None, :]) for column in cells.T]
    both = ((counts @ (signs[0] * signs[1])) * counts).sum(axis=1)
    untied = [((counts @ np.abs(sign)) * counts).sum(axis=1) for sign in signs]
    return divided(both, np.sqrt(untied[0] * untied[1]))


def divided(above: Floats, below: Floats) -> Floats:
    out: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 1e-12)
    return out


@Statistic("correlations", order=80, needs=("scipy",)).of
def correlations(comparison: Comparison) -> ResultTable:
    """Rank correlations between the metrics."""
    rows = tuple(
        (f"{c.first} and {c.second}", c.spearman.cell, c.kendall.cell, c.n)
        for c in between_metrics(comparison)
    )
    columns = (Column("metrics"), Column("Spearman"), Column("Kendall tau-b"), Column("n", 0))
    notes = ("Over all finished episodes; cluster bootstrap intervals. A dash: one is constant.",)
    return ResultTable("correlations", "How the metrics agree", columns, rows, notes)


def between_metrics(comparison: Comparison) -> list[Correlation]:
    """Each pair of metrics over the finished episodes of all arms for which both
    are defined; none where there is no such episode."""
    row = {sample.id: i for i, sample in enumerate(comparison.study.samples)}
    observations = [o for arm in comparison.study.arms for o in arm.finished]
    clusters = comparison.clusters[np.array([row[o.sample] for o in observations], dtype=np.int64)]
    correlations = []
    for a, b in combinations(comparison.study.metrics, 2):
        both = np.array([a in o.metrics and b in o.metrics for o in observations], dtype=bool)
        both_known = [o for o, defined in zip(observations, both, strict=True) if defined]
        if both_known:
            x = np.array([o.metrics[a] for o in both_known])
            y = np.array([o.metrics[b] for o in both_known])
            correlations.append(correlate((a, b), x, y, clusters[both], comparison.weights))
    return correlations


@Statistic(
    "rankings", order=90, needs=("scipy",),
    without_rows="Rankings need at least three models and two conditions that all of them have.",
).of  # fmt: skip
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
    draws = comparison.resampled_means(comparison.columns(comparison.metric))
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
    return _shifted(names, (rho, tau), (rho_drawn, tau_drawn), len(x), groups)
