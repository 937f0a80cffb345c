"""The figures of the Time Puzzles paper's Tables 1 and 3, for `study reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import stdev
from typing import Literal

import numpy as np
import numpy.typing as npt

from agent_env.sdk.family import WORDINGS
from agent_env.sdk.results import (
    QUANTITIES,
    Arm,
    Comparison,
    Estimate,
    Means,
    Measurement,
    rank_correlation,
)

Floats = npt.NDArray[np.float64]
SOLUTIONS = "solutions"


def implicit_explicit(comparison: Comparison) -> Iterator[Measurement]:
    """Table 1: per model, exact match and output tokens for implicit and explicit constraints,
    macro-averaged over the solution counts, each weighing the same, with signed differences."""
    for arms in () if comparison.is_error else _pairs(comparison):
        runs = {(arm.run, arm.model) for arm in comparison.study.arms}
        name = arms[0].model if len({model for _, model in runs}) == len(runs) else arms[0].run
        count = macro_mean(comparison, arms[0], comparison.metric).samples
        for title, quantity, scale in (
            ("EM", comparison.metric, 100), ("tokens", "output_tokens", 1),
        ):  # fmt: skip
            own = [macro_mean(comparison, arm, quantity) for arm in arms]
            every = (*own, _difference(comparison, arms, own, quantity))
            for column, each in zip(("implicit", "explicit", "difference"), every, strict=True):
                yield _measurement(name, f"{title} {column}", each.times(scale), count)


def _measurement(row: str, quantity: str, estimate: Estimate, samples: int) -> Measurement:
    ends = estimate.low, estimate.high
    return Measurement(row, quantity, Estimate(estimate.value, *ends, samples=samples))


def _pairs(comparison: Comparison) -> list[tuple[Arm, Arm]]:
    """`base` and `explicit`, or `explicit-paper`, of each run that has both."""
    by = {(arm.run, arm.condition.name): arm for arm in comparison.study.arms}
    runs = dict.fromkeys(arm.run for arm in comparison.study.arms)
    return [
        (by[run, "base"], by[run, explicit])
        for run in runs
        for explicit in WORDINGS
        if (run, "base") in by and (run, explicit) in by
    ]


def macro_mean(comparison: Comparison, arm: Arm, quantity: str) -> Estimate:
    """Mean of the means by solution count, with its interval; without a value where a count has no
    finished episode or any figure is unknown."""
    if quantity in QUANTITIES and not comparison.is_known(arm, quantity):
        return Estimate(None, method="unknown")
    return _macro(comparison, comparison.column(arm, quantity), comparison.kind(quantity))


Kind = Literal["rate", "difference", "mean"]
ENDS: Mapping[Kind, tuple[float, float]] = {
    "rate": (0.0, 1.0), "difference": (-1.0, 1.0), "mean": (-inf, inf),
}  # fmt: skip
"""Of the scale."""


def _macro(comparison: Comparison, column: npt.NDArray[np.float64], kind: Kind) -> Estimate:
    """The macro-average as a mean of values, each weighted by how rare its solution count is."""
    groups = comparison.groups.get(SOLUTIONS) or {"all": list(range(len(column)))}
    weights = np.full(len(column), np.nan)
    for rows in groups.values():
        own = np.array(rows)[~np.isnan(column[rows])]
        if not own.size:
            return Estimate(None, method="a solution count has no finished episode")
        weights[own] = 1 / (len(groups) * own.size)
    weights *= np.count_nonzero(~np.isnan(weights))
    if np.allclose(weights[~np.isnan(weights)], 1):
        return comparison.estimates(column[:, None], kind)[0]
    return Means((column * weights)[:, None], comparison.clusters, weights[:, None]).estimate(
        0, "mean", ends=ENDS[kind]
    )


def _difference(
    comparison: Comparison, arms: tuple[Arm, Arm], means: Sequence[Estimate], quantity: str
) -> Estimate:
    """The second mean less the first, with the interval of the paired difference."""
    before, after = means
    if before.value is None or after.value is None:
        return Estimate(None, method=before.method or after.method)
    one, other = (comparison.column(arm, quantity) for arm in arms)
    is_rate = comparison.is_rate(quantity)
    paired = _macro(comparison, other - one, "difference" if is_rate else "mean")
    return replace(paired, value=after.value - before.value)


def exact_against_others(comparison: Comparison) -> Iterator[Measurement]:
    """Table 3: the main metric against each other one, episode by episode, in points of 100, over
    all finished episodes."""
    first, *others = (
        m for m in comparison.study.metrics if m not in comparison.study.error_metrics
    )
    finished = [o for arm in comparison.study.arms for o in arm.finished]
    clusters = {s.id: comparison.hooks.cluster(s) or s.id for s in comparison.study.samples}
    for other in others:
        deltas = [
            (clusters[o.sample], 100 * (o.metrics[first] - o.metrics[other]))
            for o in finished
            if other in o.metrics
        ]
        if not deltas:
            continue
        values = [value for _, value in deltas]
        equal = [(name, float(abs(value) < 1e-9)) for name, value in deltas]
        for quantity, estimate in (
            ("mean difference", Estimate.of_mean(deltas)),
            ("SD", Estimate(stdev(values) if len(values) > 1 else None)),
            ("% equal", Estimate.of_mean(equal, share=True).times(100)),
            ("Spearman", _spearman(comparison, first, other)),
        ):
            yield _measurement(f"{first} vs {other}", quantity, estimate, len(values))


def _spearman(comparison: Comparison, first: str, other: str) -> Estimate:
    """Over the finished episodes for which both are defined."""
    row = {sample.id: i for i, sample in enumerate(comparison.study.samples)}
    both = [
        each
        for arm in comparison.study.arms
        for each in arm.finished
        if first in each.metrics and other in each.metrics
    ]
    x, y = (np.array([each.metrics[name] for each in both]) for name in (first, other))
    clusters = comparison.clusters[np.array([row[each.sample] for each in both], dtype=np.int64)]
    return rank_correlation(x, y, len(set(clusters)))
