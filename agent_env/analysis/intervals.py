"""Confidence intervals and tests: one method for each quantity, stated in docs/analysis.md.

- A rate, of episodes that score 0 or 1: Wilson's score interval (1927) at the effective n.
- A difference of rates of the same samples, an interaction: Tango's score interval (1998) at the
  effective n; it has a width where all pairs agree, too.
- A mean, a difference of means, a ratio of sums: the studentised bootstrap of whole clusters (Efron
  and Tibshirani 1993, ch. 12), with fewer than ten clusters Student's t; within the scale's ends.
- p: the exact sign-flip test of clusters, two-sided, for 0/1 scores exact McNemar; Holm (1979).

The effective n is that of independent samples with the same standard error, which is robust to
clusters and repeats (Korn and Graubard 1998). Samples of one cluster are never taken apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import atan, atanh, ceil, comb, cos, inf, pi, sin, sqrt, tanh
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from agent_env.analysis.result_tables import Cell

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Interval = tuple[float, float]
Kind = Literal["rate", "difference", "mean"]
"""`difference`: of rates, or a weighted sum of such."""
Grouped = Sequence[tuple[str, float]]
"""The name of a sample's cluster, and the sample's value."""
LEVEL, POWER = 0.95, 0.8
FEWEST = 10
"""With fewer clusters a bootstrap draws hardly anything else than the data."""
FEW_EVENTS = 6
"""With fewer clusters that differ, their variance says nothing; clusters count as samples then."""
RESAMPLES, CHUNK, SEED = 10_000, 1_000, 20261121
_NOTHING = 1e-12
Z, _Z_POWER = NormalDist().inv_cdf(0.5 + LEVEL / 2), NormalDist().inv_cdf(POWER)


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
    effective: float | None = None
    """Of rates: as many independent samples have the same standard error."""

    @property
    def cell(self) -> Cell:
        """Value and interval for a table."""
        return self.value, self.low, self.high

    @property
    def excludes_zero(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def times(self, factor: float) -> Estimate:
        """The same in another unit, such as percent."""
        value, low, high = (
            None if each is None else each * factor for each in (self.value, self.low, self.high)
        )
        return Estimate(value, low, high, self.method, self.samples, self.clusters, self.effective)

    @classmethod
    def of_mean(cls, values: Grouped, share: bool = False) -> Estimate:
        """The mean of a column; `share`: of outcomes that are 0 or 1. No value where empty."""
        return cls.of_ratio([(name, (value, 1.0)) for name, value in values], share)

    @classmethod
    def of_ratio(
        cls, values: Sequence[tuple[str, tuple[float, float]]], share: bool = False
    ) -> Estimate:
        """The sum of the first numbers over that of the second, which is not 0, by the clusters'
        names; a rate where every ratio is 0 or 1."""
        if not values:
            return cls(None, method="no value")
        numbers = {name: k for k, name in enumerate(dict.fromkeys(name for name, _ in values))}
        tops, bottoms = (np.array([[pair[i]] for _, pair in values], float) for i in (0, 1))
        is_rate = share or bool(((bottoms == 1) & np.isin(tops, (0.0, 1.0))).all())
        clusters = np.array([numbers[name] for name, _ in values], dtype=np.int64)
        return Means(tops, clusters, bottoms).estimate(0, "rate" if is_rate else "mean")


class Means:
    """The means of columns over clusters, each with a value per sample, NaN where there is none;
    with `bottoms` the ratios of two columns' sums."""

    @np.errstate(over="ignore", invalid="ignore")  # sums may be no numbers
    def __init__(self, tops: Floats, clusters: Ints, bottoms: Floats | None = None) -> None:
        bottoms = np.ones_like(tops) if bottoms is None else bottoms
        known = ~np.isnan(tops) & ~np.isnan(bottoms)
        self._tops, self._bottoms, self._known = tops, np.where(known, bottoms, np.nan), known
        self._sums, self._sizes, counts = (
            _by_cluster(each, clusters) for each in (np.where(known, tops, 0.0),
                                                     np.where(known, bottoms, 0.0), known)
        )  # fmt: skip
        self._total = self._sizes.sum(axis=0)
        self.values = ratio(self._sums.sum(axis=0), self._total)
        self.samples, self.clusters = known.sum(axis=0), (counts > 0).sum(axis=0)
        values = np.nan_to_num(self.values)
        self.errors = self._error(self._sums - values * self._sizes, self.clusters)
        """Standard errors, robust to clusters; NaN for fewer than two."""
        self._independent_errors = self._error(
            np.where(known, tops - values * bottoms, 0.0), self.samples
        )
        """Standard errors if the samples were independent."""

    def _error(self, rests: Floats, counts: Ints) -> Floats:
        n = counts.astype(np.float64)
        squares = (rests**2).sum(axis=0) * ratio(n, n - 1)
        return np.sqrt(ratio(squares, self._total**2))

    def estimate(
        self, k: int, kind: Kind, level: float = LEVEL, ends: Interval = (-inf, inf)
    ) -> Estimate:
        """Of a column; `ends`: the scale's, of a difference of rates the largest on either side."""
        value, samples, clusters = float(self.values[k]), int(self.samples[k]), self.clusters[k]
        if not samples or np.isnan(value):
            return Estimate(None, method="no value")
        if clusters < 2:
            method = "one sample" if samples == 1 else "one cluster of samples"
            return Estimate(value, None, None, method, samples, 1)
        effective = None
        if kind == "mean":
            if self.errors[k] <= _NOTHING:
                return Estimate(value, None, None, "all values equal", samples, int(clusters))
            if not np.isfinite(self.errors[k]):
                return Estimate(value, None, None, "sums are no numbers", samples, int(clusters))
            low, high, method = self._of_mean(k, 1 - level)
            low, high = min(value, max(low, ends[0])), max(value, min(high, ends[1]))
        elif kind == "rate":
            value = min(max(value, 0.0), 1.0)
            effective, z = self._effective(k, value * (1 - value), kind, 1 - level)
            (low, high), method = wilson(value, effective, z), "Wilson"
        else:
            reach = ends[1] if np.isfinite(ends[1]) else 1.0
            parts = [np.nansum(np.maximum(sign * self._tops[:, k], 0.0)) for sign in (1, -1)]
            up, down = (min(1.0, float(part / self._total[k]) / reach) for part in parts)
            spread = up + down - (up - down) ** 2
            effective, z = self._effective(k, spread * reach**2, kind, 1 - level)
            low, high = (reach * end for end in tango(up, down, effective, z))
            method = "Tango"
        return Estimate(value, low, high, method, samples, int(clusters), effective)

    def _effective(self, k: int, spread: float, kind: Kind, alpha: float) -> tuple[float, float]:
        """The effective n at this variance of a sample; and the quantile that goes with it. Samples
        that differ within their clusters count for no more than independent ones."""
        clusters, error = int(self.clusters[k]), float(self.errors[k])
        own = self._tops[self._known[:, k], k]
        is_plain = clusters == len(own) and bool(np.isin(own, (-1.0, 0.0, 1.0)).all())
        if is_plain or error <= _NOTHING or spread <= 0:
            return float(clusters), NormalDist().inv_cdf(1 - alpha / 2)
        sums, sizes = self._sums[:, k], self._sizes[:, k]
        events = int((np.abs(sums) > _NOTHING).sum())
        if kind == "rate":
            events = min(events, int((sums < sizes - _NOTHING).sum()))
        n = spread / max(error, float(self._independent_errors[k])) ** 2
        n = min(n, clusters) if events < FEW_EVENTS else n
        return n, student_quantile(alpha / 2, clusters - 1)

    def _of_mean(self, k: int, alpha: float) -> tuple[float, float, str]:
        value, error, clusters = self.values[k], float(self.errors[k]), int(self.clusters[k])
        draws = self._studentised[:, k] if clusters >= FEWEST else np.empty(0)
        if draws.size and not np.isnan(draws).any():
            below, above = np.quantile(draws, [alpha / 2, 1 - alpha / 2])
            return value - above * error, value - below * error, "studentised bootstrap"
        half = student_quantile(alpha / 2, clusters - 1) * error
        return value - half, value + half, "Student's t"

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def _studentised(self) -> Floats:
        """(drawn − mean) / its standard error, resamples by columns; a column is NaN where too many
        draws have no variance."""
        sums, sizes, count = self._sums, self._sizes, len(self._sums)
        parts = np.hstack([sums, sizes, sums**2, sums * sizes, sizes**2])
        found = []
        for weights in draw_weights(count):
            top, bottom, tops2, both, bottoms2 = np.hsplit(weights @ parts, 5)
            mean = ratio(top, bottom)
            squares = np.maximum(tops2 - 2 * mean * both + mean**2 * bottoms2, 0.0)
            error = np.sqrt(squares * count / (count - 1)) / np.maximum(bottom, _NOTHING)
            found.append(ratio(mean - self.values, np.where(error > _NOTHING, error, 0.0)))
        draws = np.concatenate(found)
        lacking = np.isnan(draws)
        draws[lacking] = 0.0
        draws[:, lacking.mean(axis=0) > 0.002] = np.nan
        return draws

    def p_value(self, k: int) -> float | None:
        """Of no difference: `sign_flip_p`; None without a value."""
        return sign_flip_p(self._sums[:, k]) if self.samples[k] else None


def wilson(share: float, n: float, z: float = 1.959964) -> Interval:
    """Wilson's score interval for a rate seen on n independent samples."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return max(0.0, centre - half), min(1.0, centre + half)


def tango(up: float, down: float, n: float, z: float = 1.959964) -> Interval:
    """Tango's score interval (1998) for a difference of paired rates, of which the shares `up` and
    `down` of n pairs are better and worse: the differences that a score test does not reject."""

    def score(delta: float) -> float:
        b, c = -up - down + (2 - up + down) * delta, -down * delta * (1 - delta)
        worse = (sqrt(max(0.0, b * b - 8 * c)) - b) / 4  # the likeliest share under delta
        variance = (2 * worse + delta * (1 - delta)) / n
        gap = up - down - delta
        return gap / sqrt(variance) if variance > 1e-300 else gap * inf if gap else 0.0

    def root(low: float, high: float, target: float) -> float:
        while high - low > 1e-10:
            middle = (low + high) / 2
            low, high = (middle, high) if score(middle) > target else (low, middle)
        return (low + high) / 2

    return root(-1.0, up - down, z), root(up - down, 1.0, -z)


@lru_cache(maxsize=256)
def student_quantile(tail: float, df: int) -> float:
    """What Student's t with `df` degrees of freedom exceeds with the chance `tail`, below 0.5; by
    the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""

    def above(t: float) -> float:
        angle = atan(t / sqrt(df))
        term, total = (cos(angle) if df % 2 else 1.0), 0.0
        for step in range(2 + df % 2, df + 1, 2):
            total += term
            term *= (step - 1) / step * cos(angle) ** 2
        total *= sin(angle)
        return 0.5 - (total / 2 if df % 2 == 0 else (angle + total) / pi)

    low, high = 0.0, 1.0
    while above(high) > tail and high < 1e9:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) > tail else (low, middle)
    return (low + high) / 2


def sign_flip_p(sums: Floats) -> float:
    """Two-sided p, if each cluster's sum were as likely to have the other sign; exact where no more
    than 13 clusters differ or all by the same, else of random signs, the data one of the draws."""
    sums = sums[np.abs(sums) > _NOTHING]
    sizes, n = np.abs(sums), sums.size
    if not n:
        return 1.0
    if np.ptp(sizes) <= _NOTHING:
        fewer = min(int((sums > 0).sum()), int((sums < 0).sum()))
        return min(1.0, 2 * (sum(comb(n, i) for i in range(fewer + 1)) / (1 << n)))
    least = abs(sums.sum()) - 1e-9 * sizes.sum()
    if n <= 13:
        totals = np.array(list(product((-1.0, 1.0), repeat=n))) @ sums
        return float((np.abs(totals) >= least).mean())
    rng, beyond = np.random.default_rng(SEED), 0
    for _ in range(0, RESAMPLES, CHUNK):
        signs = rng.integers(0, 2, (CHUNK, n)) * 2.0 - 1.0
        beyond += int((np.abs(signs @ sums) >= least).sum())
    return (beyond + 1) / (RESAMPLES + 1)


def rank_correlation(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats, clusters: int | None = None
) -> Estimate:
    """Spearman's, ties at their mean rank, with Bonett and Wright's interval (2000) of so many
    independent pairs; None: all. No value where a side is constant."""
    n = len(x)
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(None, method="all equal" if n > 1 else "too few", samples=n)
    value = float(np.corrcoef(_midranks(x), _midranks(y))[0, 1])
    groups = n if clusters is None else clusters
    if groups < 4 or abs(value) >= 1 - _NOTHING:
        why = "fewer than four clusters" if groups < 4 else "in perfect order"
        return Estimate(value, None, None, why, n, groups)
    half = Z * sqrt((1 + value**2 / 2) / (groups - 3))
    low, high = tanh(atanh(value) - half), tanh(atanh(value) + half)
    return Estimate(value, low, high, "Bonett-Wright", n, groups)


def _midranks(values: Sequence[float] | Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - counts / 2 + 0.5)[place.ravel()]
    return ranks


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment over the p-values that there are; None stays None."""
    ordered = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - rank) * p))
        adjusted[index] = highest
    return adjusted


def minimum_detectable_effect(low: float, high: float) -> float:
    """The true difference that is found in 80 % of cases where intervals are as wide as this."""
    return (1 + _Z_POWER / Z) * (high - low) / 2


def samples_needed(difference: float, error: float, samples: int) -> int | None:
    """How many samples show the difference in 80 % of cases, by its standard error over so many
    (Connor 1987, with the unbiased variance); None for a difference of 0."""
    if abs(difference) <= _NOTHING or np.isnan(error):
        return None
    variance = error**2 * samples
    root = Z * sqrt(variance + difference**2) + _Z_POWER * sqrt(variance)
    return ceil((root / difference) ** 2)


@lru_cache(maxsize=2)
def draw_weights(count: int) -> tuple[npt.NDArray[np.float32], ...]:
    """How often each of `count` clusters is drawn, with replacement: parts of resamples by
    clusters. Of very many clusters there are fewer resamples, as they need 4 bytes each."""
    rng, parts = np.random.default_rng(SEED), []
    for _ in range(0, min(RESAMPLES, max(2 * CHUNK, 50_000_000 // max(count, 1))), CHUNK):
        picks = rng.integers(0, count, (CHUNK, count)) + count * np.arange(CHUNK)[:, None]
        counts = np.bincount(picks.ravel(), minlength=CHUNK * count)
        parts.append(counts.reshape(CHUNK, count).astype(np.float32))
    return tuple(parts)


def _by_cluster(values: npt.NDArray[np.generic], clusters: Ints) -> Floats:
    size = int(clusters.max()) + 1 if clusters.size else 0
    sums = np.zeros((size, values.shape[1]))
    np.add.at(sums, clusters, values.astype(float))
    return sums


def ratio(above: Floats, below: Floats) -> Floats:
    """above / below, NaN where that is not defined; without a warning."""
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    out: Floats = np.full(shape, np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) > 0)
    return out


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
