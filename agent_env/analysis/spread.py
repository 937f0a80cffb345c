"""How sure the means of one run's table are, where samples of one cluster stand and fall together;
needs no further package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from statistics import fmean

RESAMPLES = 1000
SEED = 20261121
Grouped = Sequence[tuple[str, float]]
"""The name of a sample's cluster, and the sample's value."""


def bootstrap_interval(values: Grouped) -> tuple[float, float] | None:
    """95 % percentiles of the mean, clusters drawn whole; None where there is one cluster only, or
    where all values are equal, so that nothing could be drawn otherwise."""
    groups = list(_by_cluster(values).values())
    if len(groups) < 2 or len({value for _, value in values}) < 2:
        return None
    sums = [(sum(own), len(own)) for own in groups]
    rng = Random(SEED)
    means = []
    for _ in range(RESAMPLES):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(s for s, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    return means[round(0.025 * (RESAMPLES - 1))], means[round(0.975 * (RESAMPLES - 1))]


def effective_samples(values: Grouped) -> float:
    """How many independent samples tell as much of a share as these: p(1-p)/SE² with the
    cluster-robust standard error, or the number of clusters where that says nothing."""
    groups = list(_by_cluster(values).values())
    if len(groups) == len(values):
        return len(values)
    share = fmean(value for _, value in values)
    squares = sum(sum(value - share for value in own) ** 2 for own in groups)
    variance = squares / len(values) ** 2
    if len(groups) < 2 or variance <= 1e-24 or not 0 < share < 1:
        return len(groups)
    return share * (1 - share) / variance


def _by_cluster(values: Grouped) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for cluster, value in values:
        groups[cluster].append(value)
    return groups
