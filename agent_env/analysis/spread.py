"""The one way to 95 % intervals of means, of a run's own table, of response files and of
comparisons: samples of one cluster stand and fall together.

Draws are numpy's where that is installed, the same for all; else fewer of the standard library's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import exp, lgamma, log1p, pi, sqrt
from random import Random
from statistics import NormalDist, fmean

RESAMPLES = 1000
"""Without numpy."""
SEED = 20261121
FEWEST = 5
"""With fewer clusters a bootstrap draws hardly anything else than the data: means have no interval,
shares that of as many samples as there are clusters."""
Grouped = Sequence[tuple[str, float]]
"""The name of a sample's cluster, and the sample's value."""
Interval = tuple[float, float]


def mean_intervals(
    columns: Sequence[Grouped], shares: Sequence[bool], names: Sequence[str] = ()
) -> list[Interval | None]:
    """Of each column's mean; `shares` says which are of outcomes that are 0 or 1. `names` are the
    clusters that could be drawn, where the columns may lack some. None for a single cluster, and
    for a mean that is no share where clusters do not differ or are fewer than FEWEST."""
    every = list(dict.fromkeys([*names, *(name for own in columns for name, _ in own)]))
    found = [_share(own) if share else None for own, share in zip(columns, shares, strict=True)]
    drawn = [
        k for k, own in enumerate(columns)
        if not shares[k] and _count(own) >= FEWEST and variance(own) > 1e-24
    ]  # fmt: skip
    if drawn:
        ends = _drawn([columns[k] for k in drawn], every)
        for k, interval in zip(drawn, ends, strict=True):
            found[k] = interval
    return found


def mean_interval(values: Grouped, share: bool = False) -> Interval | None:
    """The same for one column."""
    return mean_intervals([values], [share])[0]


def share_interval(share: float, variance: float, groups: int) -> Interval:
    """Wilson's interval at n = p(1-p)/variance, which takes in repeats and clusters (Korn and
    Graubard 1998 do so for surveys); n is the number of clusters at 0 and 1, where the variance
    says nothing, and at most that where they are few."""
    share = min(max(share, 0.0), 1.0)
    if variance <= 1e-24 or not 0 < share < 1:
        return wilson(share, groups)
    n = share * (1 - share) / variance
    return wilson(share, min(n, groups) if groups < FEWEST else n)


def variance(values: Grouped) -> float:
    """Cluster-robust, of the mean; without the factor C/(C-1)."""
    mean = fmean(value for _, value in values)
    sums = [sum(value - mean for value in own) for own in _by_cluster(values).values()]
    return sum(own * own for own in sums) / len(values) ** 2


def wilson(share: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's score interval for a share seen on n independent samples."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def expanded_tail(groups: int) -> float:
    """The lower quantile to take of bootstrap means: somewhat below 0.025, so that few clusters do
    not make the interval too narrow (Hesterberg 2015, section 5.2)."""
    return NormalDist().cdf(-_student(groups - 1) * sqrt(groups / (groups - 1)))


def _student(df: int) -> float:
    """The 0.975 quantile of Student's t, by Newton's method on Simpson's rule."""
    scale = exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi)

    def density(x: float) -> float:
        return scale * exp(-(df + 1) / 2 * log1p(x * x / df))

    x = 1.96
    for _ in range(20):
        step = x / 100
        inner = sum((4 if k % 2 else 2) * density(k * step) for k in range(1, 100))
        x += (0.475 - (density(0) + inner + density(x)) * step / 3) / density(x)
    return x


def _share(values: Grouped) -> Interval | None:
    groups = _count(values)
    if groups < 2:
        return None
    return share_interval(fmean(value for _, value in values), variance(values), groups)


def _drawn(columns: Sequence[Grouped], names: Sequence[str]) -> list[Interval]:
    try:
        from agent_env.analysis.intervals import bootstrap_intervals
    except ModuleNotFoundError:
        return [_plain_bootstrap(own) for own in columns]
    return bootstrap_intervals(columns, names)


def _plain_bootstrap(values: Grouped) -> Interval:
    sums = [(sum(own), len(own)) for own in _by_cluster(values).values()]
    rng = Random(SEED)
    means = []
    for _ in range(RESAMPLES):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(s for s, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    place = round(expanded_tail(len(sums)) * (RESAMPLES - 1))
    return means[place], means[-1 - place]


def _count(values: Grouped) -> int:
    return len({name for name, _ in values})


def _by_cluster(values: Grouped) -> dict[str, list[float]]:
    groups: dict[str, list[float]] = defaultdict(list)
    for cluster, value in values:
        groups[cluster].append(value)
    return groups
