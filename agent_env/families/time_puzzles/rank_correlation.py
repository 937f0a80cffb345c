"""Spearman's rank correlation with a cluster-bootstrap interval, for the paper's Table 3."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agent_env.sdk.results import Estimate, bootstrap_estimate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_CELLS = 500
"""More distinct pairs of values than this are rounded to two decimals for the interval."""
CHUNK = 1000
"""Resamples at once."""


def spearman(x: Floats, y: Floats, clusters: Ints, weights: Floats) -> Estimate:
    """Of two metrics of the same episodes; `weights`: how often each cluster is drawn, by
    resample."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(None, method="all equal" if len(x) > 1 else "too few", samples=len(x))
    once = np.ones((1, len(x)))
    ranks = np.column_stack([_midranks(column, once)[0] for column in (x, y)])
    rho = float(np.corrcoef(ranks, rowvar=False)[1, 0])
    groups = len(np.unique(clusters))
    if groups < 2:
        return Estimate(rho, method="one sample", samples=len(x), clusters=groups)
    # a draw has the same sample twice, and so ties that the data have not: they move the
    # correlation, all draws alike
    # of cluster resamples, from the counts of distinct pairs of values
    pairs = np.column_stack([x, y])
    cells, place = np.unique(pairs, axis=0, return_inverse=True)
    if len(cells) > MOST_CELLS:
        cells, place = np.unique(np.round(pairs, 2), axis=0, return_inverse=True)
    counts = np.zeros((weights.shape[1], len(cells)))
    np.add.at(counts, (clusters, place.ravel()), 1.0)
    chunks = (weights[first : first + CHUNK] for first in range(0, len(weights), CHUNK))
    draws = np.concatenate([from_counts(cells, chunk @ counts) for chunk in chunks])
    draws = np.clip(draws + rho - np.nanmedian(draws), -1.0, 1.0)
    return bootstrap_estimate(rho, draws, len(x), groups)


def from_counts(cells: Floats, counts: Floats) -> Floats:
    """Pearson's correlation of the midranks, one for each row of counts of the distinct pairs."""
    total = counts.sum(axis=1, keepdims=True)
    ranks = [_midranks(column, counts) for column in cells.T]
    centred = [r - _divided((counts * r).sum(axis=1, keepdims=True), total) for r in ranks]
    spread = [(counts * c**2).sum(axis=1) for c in centred]
    both = (counts * centred[0] * centred[1]).sum(axis=1)
    return _divided(both, np.sqrt(spread[0] * spread[1]))


def _midranks(values: Floats, counts: Floats) -> Floats:
    levels, place = np.unique(values, return_inverse=True)
    sums = np.zeros((len(counts), len(levels)))
    np.add.at(sums.T, place, counts.T)
    ranks: Floats = (np.cumsum(sums, axis=1) - sums / 2 + 0.5)[:, place]
    return ranks


def _divided(above: Floats, below: Floats) -> Floats:
    out: Floats = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 1e-12)
    return out
