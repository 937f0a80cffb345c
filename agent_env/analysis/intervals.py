"""95 % confidence intervals of means and shares; samples of one cluster are never taken apart.

A share of 0/1 outcomes has Wilson's interval at the effective number of samples; another mean has
the percentiles of a cluster bootstrap; a paired difference of shares has Bonett and Price's
interval where all pairs agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean
from typing import Self

import numpy as np

from agent_env.analysis.resampling import (
    Floats,
    Ints,
    means,
    ratio,
    standard_errors,
    weight_chunks,
)
from agent_env.analysis.result_tables import Cell
from agent_env.analysis.significance import student_quantile

LEVEL = 0.95
FEWEST = 5
"""With fewer clusters a bootstrap draws hardly anything else than the data: means have no interval,
shares that of as many samples as there are clusters."""
Interval = tuple[float, float]
Grouped = Sequence[tuple[str, float]]
"""The name of a sample's cluster, and the sample's value."""


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

    @property
    def cell(self) -> Cell:
        """Value and interval for a table."""
        return self.value, self.low, self.high

    def of_equal_pairs(self) -> Estimate:
        """Of paired shares: with Bonett and Price's interval where all pairs agree."""
        value, groups = self.value, self.clusters
        if self.low is not None or value not in (-1.0, 0.0, 1.0) or groups < 2:
            return self
        low, high = paired_share_interval(groups * (value > 0), groups * (value < 0), groups)
        method = "Bonett-Price, as all pairs agree"
        return Estimate(value, low, high, method, self.samples, groups)

    def times(self, factor: float) -> Estimate:
        """The same in another unit, such as percent."""
        value, low, high = (
            None if each is None else each * factor for each in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high, self.method, self.samples, self.clusters)

    @classmethod
    def of_mean(cls, values: Grouped, share: bool = False) -> Self:
        """The mean of a column with the interval of `mean_intervals`; no value where empty."""
        if not values:
            return cls(None)
        low, high = mean_intervals([values], [share])[0] or (None, None)
        return cls(fmean(value for _, value in values), low, high, samples=len(values))

    @classmethod
    def of_share(cls, values: Grouped) -> Self:
        """A share of 0/1 outcomes, with their clusters' names; one cluster counts as one sample."""
        names = {name: k for k, name in enumerate(dict.fromkeys(name for name, _ in values))}
        column = np.array([value for _, value in values])[:, None]
        clusters, groups = np.array([names[name] for name, _ in values]), len(names)
        error = float(standard_errors(column, clusters)[0]) if groups > 1 else 0.0
        share = fmean(value for _, value in values)
        low, high = share_interval(share, error**2 * (groups - 1) / groups, groups)
        return cls(share, low, high, samples=len(values))

    @classmethod
    def of_ratio(cls, values: Sequence[tuple[str, tuple[float, float]]]) -> Estimate:
        """The sum of the first numbers over that of the second, which is not 0, by the clusters'
        names; with Wilson's interval where every ratio is 0 or 1, else with the percentiles of a
        cluster bootstrap."""
        pairs = [pair for _, pair in values]
        numbers = {name: k for k, name in enumerate(dict.fromkeys(name for name, _ in values))}
        clusters = np.array([numbers[name] for name, _ in values], dtype=np.int64)
        if all(pair in ((0.0, 1.0), (1.0, 1.0)) for pair in pairs):
            column = np.array([[pair[0]] for pair in pairs])
            return mean_estimates(column, clusters, np.empty((0, 1)), share=True)[0]
        sums = np.zeros((len(numbers), 2))
        np.add.at(sums, clusters, np.array(pairs, dtype=float))
        value = sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs)
        if np.ptp(sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1)) < 1e-12:
            return cls(value, None, None, "all equal", len(pairs), len(numbers))
        draws = [ratio(w @ sums[:, :1], w @ sums[:, 1:]) for w in weight_chunks(len(sums))]
        return bootstrap_estimate(value, np.concatenate(draws)[:, 0], len(pairs), len(numbers))


def mean_estimates(values: Floats, clusters: Ints, draws: Floats, share: bool) -> list[Estimate]:
    """The mean of each column; `draws`: its bootstrap means, not needed for a `share`."""
    centre, errors = means(values), standard_errors(values, clusters)
    estimates = []
    for k in range(values.shape[1]):
        has_value = ~np.isnan(values[:, k])
        n, groups = int(has_value.sum()), len(np.unique(clusters[has_value]))
        value, error = float(centre[k]), float(errors[k])
        if n == 0:
            estimates.append(Estimate(None, method="no value"))
        elif groups < 2:
            estimates.append(Estimate(value, None, None, "one sample", n, groups))
        elif share:
            low, high = share_interval(value, error**2 * (groups - 1) / groups, groups)
            estimates.append(Estimate(value, low, high, "Wilson", n, groups))
        elif error <= 1e-12:
            estimates.append(Estimate(value, None, None, "all equal", n, groups))
        else:
            estimates.append(bootstrap_estimate(value, draws[:, k], n, groups))
    return estimates


def bootstrap_estimate(value: float, draws: Floats, samples: int, groups: int) -> Estimate:
    """With the interval of these draws, unless clusters are too few for one."""
    if groups < FEWEST:
        none = f"none for fewer than {FEWEST} clusters"
        return Estimate(value, None, None, none, samples, groups)
    known = draws[~np.isnan(draws)]
    if not known.size:
        return Estimate(value, None, None, "none: its sums are no numbers", samples, groups)
    tail = expanded_tail(groups)
    low, high = np.quantile(known, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), "cluster bootstrap", samples, groups)


def mean_intervals(
    columns: Sequence[Grouped], shares: Sequence[bool], names: Sequence[str] = ()
) -> list[Interval | None]:
    """Of the mean of each column of cluster names and values; `shares` says which columns hold
    outcomes that are 0 or 1. `names` are the clusters that could be drawn, where the columns may
    lack some. None where there is no interval."""
    every = list(dict.fromkeys([*names, *(name for pairs in columns for name, _ in pairs)]))
    place = {name: k for k, name in enumerate(every)}
    rows = [np.array([place[name] for name, _ in pairs], dtype=np.int64) for pairs in columns]
    values = [np.array([value for _, value in pairs])[:, None] for pairs in columns]
    draws = _bootstrap(rows, values, len(every)) if not all(shares) else None
    intervals: list[Interval | None] = []
    for k, share in enumerate(shares):
        column = draws[:, k : k + 1] if draws is not None else np.empty((0, 1))
        (estimate,) = mean_estimates(values[k], rows[k], column, share)
        has_ends = estimate.low is not None and estimate.high is not None
        intervals.append((estimate.low, estimate.high) if has_ends else None)  # type: ignore[arg-type]
    return intervals


def _bootstrap(rows: Sequence[Ints], values: Sequence[Floats], clusters: int) -> Floats:
    """Bootstrap means, resamples by columns; all columns share the draws."""
    sums, counts = (np.zeros((clusters, len(rows))) for _ in range(2))
    for k, (indices, column) in enumerate(zip(rows, values, strict=True)):
        np.add.at(sums[:, k], indices, column[:, 0])
        np.add.at(counts[:, k], indices, 1.0)
    return np.concatenate([ratio(w @ sums, w @ counts) for w in weight_chunks(clusters)])


def share_interval(share: float, variance: float, groups: int) -> Interval:
    """Wilson's interval at n = p(1-p)/variance, which takes in repeats and clusters (Korn and
    Graubard 1998 do so for surveys); n is the number of clusters at 0 and 1, where the variance
    says nothing, and at most that where they are few."""
    share = min(max(share, 0.0), 1.0)
    if variance <= 1e-24 or not 0 < share < 1:
        return wilson(share, groups)
    n = share * (1 - share) / variance
    return wilson(share, min(n, groups) if groups < FEWEST else n)


def wilson(share: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval for a share seen on n independent samples."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def paired_share_interval(better: int, worse: int, pairs: int, level: float = LEVEL) -> Interval:
    """Bonett and Price's interval (2012) for a difference of paired shares."""
    up, down = (better + 1) / (pairs + 2), (worse + 1) / (pairs + 2)
    half = (
        NormalDist().inv_cdf(0.5 + level / 2)
        * ((up + down - (up - down) ** 2) / (pairs + 2)) ** 0.5
    )
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def expanded_tail(groups: int) -> float:
    """The lower quantile to take of bootstrap means: somewhat below 0.025, so that few clusters do
    not make the interval too narrow (Hesterberg 2015, section 5.2)."""
    return NormalDist().cdf(-student_quantile(0.025, groups - 1) * sqrt(groups / (groups - 1)))


@dataclass(frozen=True, slots=True)
class Measurement:
    row: str
    """What it is of: a condition, a model, a row of a paper's table."""
    quantity: str
    estimate: Estimate
    remark: str = ""
    """What a reader must know of this figure."""
    model: str = ""
    """The model, where the row is not one."""
    incomparable: str = ""
    """Why it cannot be compared with a paper's, where this figure has a reason of its own."""
    setup: str = ""
    """The only setup of a reproduction that it comes from; "" for all of the experiment's."""
