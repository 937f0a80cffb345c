"""Two conditions on the same samples: the difference, its interval, and a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from random import Random
from statistics import fmean

RESAMPLES = 4000
SEED = 20261121


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of `after` minus mean of `before`, over the samples that both have."""

    pairs: int
    unpaired: int
    """Samples that only one of the two has; they are left out, and counted here."""
    mean: float
    low: float
    high: float
    """Bounds of the 95 % bootstrap interval, samples drawn whole."""
    better: int
    worse: int
    p_value: float
    """Exact two-sided sign test on the samples that differ (McNemar's for 0/1 scores)."""


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> Difference | None:
    """The paired difference of scores by sample; None where no sample is in both."""
    common = sorted(before.keys() & after.keys())
    if not common:
        return None
    deltas = [after[sample] - before[sample] for sample in common]
    low, high = bootstrap(deltas)
    better, worse = sum(d > 0 for d in deltas), sum(d < 0 for d in deltas)
    return Difference(
        pairs=len(common),
        unpaired=len(before.keys() ^ after.keys()),
        mean=fmean(deltas),
        low=low,
        high=high,
        better=better,
        worse=worse,
        p_value=sign_test(better, worse),
    )


def bootstrap(values: list[float], level: float = 0.95) -> tuple[float, float]:
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
