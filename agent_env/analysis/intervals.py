"""Intervals at 95 %: of shares, of other means, of paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.analysis.resampling import (
    Floats,
    Ints,
    means,
    ratio,
    standard_errors,
    weight_chunks,
)
from agent_env.analysis.spread import FEWEST, Grouped, Interval, expanded_tail, share_interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; both None where nothing was measured."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was made, or why there is none."""
    samples: int = 0
    clusters: int = 0


def mean_estimates(values: Floats, clusters: Ints, drawn: Floats, share: bool) -> list[Estimate]:
    """The mean of each column. A `share` (of 0/1 outcomes) gets Wilson's interval at the effective
    number of samples, another mean the bootstrap's; `drawn` are the bootstrap means."""
    centre, errors = means(values), standard_errors(values, clusters)
    found = []
    for k in range(values.shape[1]):
        known = ~np.isnan(values[:, k])
        n, groups = int(known.sum()), len(np.unique(clusters[known]))
        if n == 0:
            found.append(Estimate(None, method="no finished episode"))
        elif groups < 2:
            found.append(Estimate(float(centre[k]), None, None, "one sample", n, groups))
        elif share:
            variance = float(errors[k]) ** 2 * (groups - 1) / groups
            low, high = share_interval(float(centre[k]), variance, groups)
            found.append(Estimate(float(centre[k]), low, high, "Wilson", n, groups))
        elif errors[k] <= 1e-12:
            found.append(Estimate(float(centre[k]), None, None, "all equal", n, groups))
        else:
            found.append(bootstrapped(float(centre[k]), drawn[:, k], n, groups))
    return found


def bootstrapped(value: float, drawn: Floats, samples: int, groups: int) -> Estimate:
    """With the interval of these draws, unless clusters are too few for one."""
    if groups < FEWEST:
        none = f"none for fewer than {FEWEST} clusters"
        return Estimate(value, None, None, none, samples, groups)
    low, high = expanded_percentiles(drawn, groups)
    return Estimate(value, low, high, "cluster bootstrap", samples, groups)


def expanded_percentiles(drawn: Floats, groups: int) -> Interval:
    """Percentiles of the bootstrap means, see `expanded_tail`."""
    tail = expanded_tail(groups)
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_intervals(columns: Sequence[Grouped], names: Sequence[str]) -> list[Interval]:
    """Of each column's mean; the clusters in `names` are drawn as in a comparison of theirs."""
    place = {name: k for k, name in enumerate(names)}
    sums, counts = (np.zeros((len(names), len(columns))) for _ in range(2))
    for k, own in enumerate(columns):
        rows = np.array([place[name] for name, _ in own])
        np.add.at(sums[:, k], rows, [value for _, value in own])
        np.add.at(counts[:, k], rows, 1.0)
    chunks = weight_chunks(len(names))
    drawn = np.concatenate([ratio(weights @ sums, weights @ counts) for weights in chunks])
    groups = (counts > 0).sum(axis=0)
    return [expanded_percentiles(drawn[:, k], int(n)) for k, n in enumerate(groups)]
