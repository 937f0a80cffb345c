"""Two conditions on the same samples: the difference, its interval, and a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from random import Random
from statistics import NormalDist, fmean

LEVEL = 0.95
RESAMPLES = 4000
SEED = 20261121


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of `after` minus mean of `before`, over the samples that both have."""

    pairs: int
    unpaired: int
    """Samples that only one of the two has; they are left out, and counted here."""
    mean: float
    interval: tuple[float, float] | None
    """At 95 %: bootstrap, samples drawn whole; where all pairs agree Bonett and Price's for 0/1
    scores, and None for others and for one sample."""
    better: int
    worse: int
    p_value: float | None
    """Exact two-sided sign test on the samples that differ (McNemar's for 0/1 scores); None where
    none differs, or there is one sample."""


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> Difference | None:
    """The paired difference of scores by sample; None where no sample is in both."""
    common = sorted(before.keys() & after.keys())
    if not common:
        return None
    deltas = [after[sample] - before[sample] for sample in common]
    are_shares = {*before.values(), *after.values()} <= {0.0, 1.0}
    better, worse = sum(d > 0 for d in deltas), sum(d < 0 for d in deltas)
    return Difference(
        pairs=len(common),
        unpaired=len(before.keys() ^ after.keys()),
        mean=fmean(deltas),
        interval=_interval(deltas, better, worse, are_shares),
        better=better,
        worse=worse,
        p_value=sign_test(better, worse) if len(deltas) > 1 and better + worse else None,
    )


def _interval(
    deltas: list[float], better: int, worse: int, are_shares: bool
) -> tuple[float, float] | None:
    if len(deltas) < 2:
        return None
    if len(set(deltas)) > 1:
        return bootstrap(deltas)
    return paired_share_interval(better, worse, len(deltas)) if are_shares else None


def bootstrap(values: list[float], level: float = LEVEL) -> tuple[float, float]:
    """Percentile interval of the mean; the same values give the same interval."""
    rng = Random(SEED)
    means = sorted(fmean(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - level) / 2
    return means[round(tail * (RESAMPLES - 1))], means[round((1 - tail) * (RESAMPLES - 1))]


def sign_test(better: int, worse: int) -> float:
    """Exact two-sided p of so uneven a split, if either way were as likely."""
    n, k = better + worse, min(better, worse)
    tail = sum(comb(n, i) for i in range(k + 1)) / float(2**n)
    return min(1.0, 2 * tail)


def paired_share_interval(better: int, worse: int, pairs: int) -> tuple[float, float]:
    """Bonett and Price's interval (2012) for a difference of paired shares; it says something
    where all pairs agree and the bootstrap would give a point."""
    up, down = (better + 1) / (pairs + 2), (worse + 1) / (pairs + 2)
    half = (
        NormalDist().inv_cdf(0.5 + LEVEL / 2)
        * ((up + down - (up - down) ** 2) / (pairs + 2)) ** 0.5
    )
    return max(-1.0, up - down - half), min(1.0, up - down + half)
