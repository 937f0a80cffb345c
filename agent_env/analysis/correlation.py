"""Rank correlations with cluster-bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agent_env.analysis.intervals import Estimate, bootstrap_estimate
from agent_env.analysis.resampling import CHUNK, Floats, Ints

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
    draws = _resampled(x, y, clusters, weights)
    estimates = [
        shifted_estimate(value, column, len(x), groups)
        for value, column in zip((rho, tau), draws, strict=True)
    ]
    return Correlation(*names, estimates[0], estimates[1], len(x))


def rank_correlations(x: Floats, y: Floats) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b."""
    from scipy.stats import kendalltau, spearmanr

    return float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)


def shifted_estimate(value: float, draws: Floats, n: int, groups: int) -> Estimate:
    """A draw has the same sample twice, and so ties that the data have not: they move a rank
    correlation, all draws alike. So the draws are moved to have their median at the value."""
    moved = draws + value - np.nanmedian(draws)
    return bootstrap_estimate(value, np.clip(moved, -1.0, 1.0), n, groups)


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
