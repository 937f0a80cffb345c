"""Contrasts estimated: paired by sample, samples of one cluster never taken apart.

Every contrast has its own 95 % interval, one that holds for all of the table together, a sign-flip
test with Holm's correction, what could be detected, and with a margin a test of equivalence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import NormalDist

import numpy as np

from agent_env.analysis.contrasts import Contrast, PlannedContrast
from agent_env.analysis.equivalence import tost_p
from agent_env.analysis.intervals import (
    Estimate,
    Interval,
    bootstrap_estimate,
    paired_share_interval,
)
from agent_env.analysis.power import minimum_detectable_effect, samples_needed
from agent_env.analysis.resampling import (
    Floats,
    Ints,
    bootstrap_means,
    means,
    ratio,
    sign_flip_p,
    standard_errors,
)
from agent_env.analysis.significance import holm, mcnemar_exact, mcnemar_mid
from agent_env.analysis.student import student_quantile
from agent_env.analysis.study import Arm
from agent_env.analysis.trends import slope_parts


@dataclass(frozen=True, slots=True)
class ContrastValues:
    """What each sample contributes to each contrast, samples by contrasts; NaN where an arm
    lacks it. A contrast is the sum of `tops` over that of `bottoms`."""

    tops: Floats
    """A difference's own value; a trend's products of centred dose and score."""
    bottoms: Floats
    """1 for a difference; a trend's squared doses."""


def contrast_values(
    plans: Sequence[PlannedContrast],
    arms: Sequence[Arm],
    columns: Floats,
    doses: Callable[[str], Floats],
) -> ContrastValues:
    """Of `columns` with the scores, samples by arms; `doses` gives such columns of a dose, in the
    unit of its slope."""
    place = {arm.label: index for index, arm in enumerate(arms)}
    tops, bottoms = (np.zeros((len(columns), len(plans))) for _ in range(2))
    for k, planned in enumerate(plans):
        if planned.dose is not None:
            own = [place[label] for label, _ in planned.weights]
            tops[:, k], bottoms[:, k] = slope_parts(columns[:, own], doses(planned.dose)[:, own])
            continue
        for label, weight in planned.weights:
            tops[:, k] += weight * columns[:, place[label]]
        bottoms[:, k] = np.where(np.isnan(tops[:, k]), np.nan, 1.0)
    return ContrastValues(tops, bottoms)


def _linear(values: ContrastValues) -> Floats:
    """Columns whose means are the contrasts and whose standard errors are theirs: a ratio's
    linearisation, for a difference the values themselves."""
    slopes = ratio(np.nansum(values.tops, axis=0), np.nansum(values.bottoms, axis=0))
    return slopes + ratio(values.tops - slopes * values.bottoms, means(values.bottoms))


@dataclass(frozen=True, slots=True)
class Scale:
    """What the scores are that are compared, and what is wanted of them."""

    share: bool
    """Whether they are 0 or 1."""
    single: bool
    """Whether there is one episode per sample."""
    target_effect: float
    """The difference for the required sample size."""
    margin: float | None = None
    """Of equivalence."""
    bounded: bool = True
    """Whether they lie in [0, 1]."""


def measure(
    plans: Sequence[PlannedContrast],
    values: ContrastValues,
    clusters: Ints,
    scale: Scale,
    weights: Floats,
    seed: int,
) -> tuple[Contrast, ...]:
    """Estimate, test and weigh each planned contrast."""
    if not plans:
        return ()
    linear = _linear(values)
    draws = ratio(
        bootstrap_means(values.tops, clusters, weights),
        bootstrap_means(values.bottoms, clusters, weights),
    )
    p_values = sign_flip_p(values.tops, clusters, len(weights), seed)
    errors = standard_errors(linear, clusters)
    contrasts = []
    for k, planned in enumerate(plans):
        top, line, error = values.tops[:, k], linear[:, k], float(errors[k])
        bare = _estimated(planned, top, line, clusters, error, draws[:, k], scale)
        contrasts.append(_tested(bare, planned, line, clusters, error, p_values[k], scale))
    adjusted = holm([contrast.p_value for contrast in contrasts])
    equivalent = holm([contrast.p_equivalence for contrast in contrasts])
    intervals = _simultaneous(contrasts, errors, draws, scale)
    return tuple(
        replace(c, p_holm=p, p_equivalence_holm=tost, simultaneous=interval)
        for c, p, tost, interval in zip(contrasts, adjusted, equivalent, intervals, strict=True)
    )


def _estimated(
    planned: PlannedContrast,
    top: Floats,
    line: Floats,
    clusters: Ints,
    error: float,
    draws: Floats,
    scale: Scale,
) -> Contrast:
    """The contrast with its interval and counts, without tests."""
    better, worse = int((top > 1e-12).sum()), int((top < -1e-12).sum())
    has_value = ~np.isnan(line)
    pairs, groups = int(has_value.sum()), len(np.unique(clusters[has_value]))
    simple = scale.share and planned.is_simple
    centre = float(means(line[:, None])[0])
    return Contrast(
        planned,
        _estimate(centre, error, draws, pairs, groups, simple, (better, worse)),
        pairs=pairs,
        unpaired=len(line) - pairs,
        better=better,
        worse=worse,
    )


def _tested(
    contrast: Contrast,
    planned: PlannedContrast,
    line: Floats,
    clusters: Ints,
    error: float,
    p_value: float | None,
    scale: Scale,
) -> Contrast:
    """The contrast with tests and power, where they are due."""
    is_trend, groups = planned.dose is not None, contrast.difference.clusters
    due = groups > 1 and contrast.better + contrast.worse > 0
    by_counts = due and scale.share and scale.single and planned.is_simple
    varies = groups > 1 and error > 1e-12
    needed = samples_needed(error, contrast.pairs, scale.target_effect) if varies else None
    reach = planned.reach if scale.bounded else None
    return replace(
        contrast,
        p_value=p_value if due else None,
        p_mcnemar=mcnemar_exact(contrast.better, contrast.worse) if by_counts else None,
        p_mcnemar_mid=mcnemar_mid(contrast.better, contrast.worse) if by_counts else None,
        detectable=minimum_detectable_effect(error) if varies else None,
        needed=None if is_trend else needed,
        p_equivalence=None
        if scale.margin is None or is_trend
        else tost_p(line, clusters, scale.margin, reach),
    )


def _simultaneous(
    contrasts: Sequence[Contrast], errors: Floats, draws: Floats, scale: Scale
) -> list[Interval | None]:
    """Intervals that hold for all contrasts together in 95 % of cases: the estimate ± its standard
    error times the 95 % quantile of the largest standardised deviation of a bootstrap draw (max-t),
    widened for few clusters as `expanded_tail` does. Where all pairs agree: Bonferroni."""
    known = [k for k, c in enumerate(contrasts) if c.difference.low is not None]
    drawn = [k for k in known if errors[k] > 1e-12]
    if len(known) < 2:
        return [None] * len(contrasts)
    tail = 0.025 / len(known)
    if drawn:
        own = draws[:, drawn]
        centre = np.array([contrasts[k].difference.value for k in drawn])
        largest = np.nanmax(np.abs(own - centre) / np.nanstd(own, axis=0), axis=1)
        tail = NormalDist().cdf(-float(np.quantile(largest, 0.95)))
    intervals: list[Interval | None] = [None] * len(contrasts)
    for k in known:
        c = contrasts[k]
        value, groups = c.difference.value or 0.0, c.difference.clusters
        if k in drawn:
            half = student_quantile(tail, groups - 1) * float(errors[k])
            limit = inf if c.planned.dose is not None or not scale.bounded else c.planned.reach
            intervals[k] = max(value - half, -limit), min(value + half, limit)
        else:
            split = (groups if c.better else 0, groups if c.worse else 0)
            intervals[k] = paired_share_interval(*split, groups, 1 - 2 * tail)
    return intervals


def _estimate(
    centre: float,
    error: float,
    draws: Floats,
    pairs: int,
    groups: int,
    simple: bool,
    split: tuple[int, int],
) -> Estimate:
    if pairs == 0:
        return Estimate(None, method="no pair")
    if groups < 2:
        return Estimate(centre, None, None, "one sample", pairs, groups)
    if error > 1e-12:
        return bootstrap_estimate(centre, draws, pairs, groups)
    if simple and abs(centre) in (0.0, 1.0):
        counts = (groups if split[0] else 0, groups if split[1] else 0)
        low, high = paired_share_interval(*counts, groups)
        return Estimate(centre, low, high, "Bonett-Price, as all pairs agree", pairs, groups)
    return Estimate(centre, None, None, "all differences equal", pairs, groups)
