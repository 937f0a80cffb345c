"""What so many samples can show, and how many would be needed."""

from __future__ import annotations

from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from agent_env.analysis.resampling import standard_errors
from agent_env.models.addresses import split_address
from agent_env.records.forecast import DetectableDifference

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.contrasts import PlannedContrast

POWER = 0.8
LEVEL = 0.05
DISAGREEMENT = 0.3
"""Guess: the share of pairs whose scores differ, where no earlier run tells."""
FEWEST_PAIRS = 10
"""Independent pairs of an earlier run without which its variance is not taken."""


def minimum_detectable_effect(standard_error: float, power: float = POWER) -> float:
    """The true difference that a two-sided 5 % test finds with this power, by the normal
    approximation: (z₀.₉₇₅ + z_power) · SE."""
    normal = NormalDist()
    return (normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(power)) * standard_error


def samples_needed(
    standard_error: float, samples: int, difference: float, power: float = POWER
) -> int | None:
    """How many samples would show `difference`, as the standard error of `samples` shrinks with
    the root of their number; None for a difference of 0 or pairs that never differ."""
    if difference == 0 or standard_error == 0:
        return None
    ratio = minimum_detectable_effect(standard_error, power) / abs(difference)
    return ceil(samples * ratio**2)


def detectable_differences(
    planned: Comparison, earlier: Comparison | None
) -> tuple[DetectableDifference, ...]:
    """What each contrast of a plan can show, by the variance of paired differences in an earlier
    run, whose conditions are taken by name, of the same model where it has them."""
    return tuple(_detectable(each, planned, earlier) for each in planned.plans if not each.dose)


def _detectable(
    contrast: PlannedContrast, planned: Comparison, earlier: Comparison | None
) -> DetectableDifference:
    samples = len(planned.study.samples)
    error, basis = (None, "") if earlier is None else _earlier_error(contrast, planned, earlier)
    if error is None:
        pairs = sum(abs(weight) for _, weight in contrast.weights) / 2
        error = (DISAGREEMENT * pairs / planned.cluster_count) ** 0.5
        basis = f"guess: {100 * DISAGREEMENT:.0f} % of pairs differ{basis and f' ({basis})'}"
    return DetectableDifference(
        task=planned.study.task,
        contrast=contrast.name,
        samples=samples,
        difference=minimum_detectable_effect(error),
        basis=basis,
    )


def _earlier_error(
    contrast: PlannedContrast, planned: Comparison, earlier: Comparison
) -> tuple[float | None, str]:
    """The standard error that the contrast would have over the planned clusters, and where it
    comes from; None where the earlier runs do not tell, and why."""
    values = np.zeros(len(earlier.study.samples))
    names = dict[str, None]()
    for label, weight in contrast.weights:
        arm = planned.study.arm(label)
        like = [a for a in earlier.study.arms if a.condition.name == arm.condition.name]
        own = [a for a in like if split_address(a.model)[0] == split_address(arm.model)[0]]
        if not like:
            return None, f"no earlier run has {arm.condition.name}"
        chosen = (own or like)[0]
        names[chosen.run if own else f"{chosen.run} ({split_address(chosen.model)[0]})"] = None
        values += weight * earlier.column(chosen, earlier.metric)
    clusters = len(np.unique(earlier.clusters[~np.isnan(values)]))
    if clusters < FEWEST_PAIRS:
        return None, f"{clusters} pairs in {', '.join(names)} are too few"
    error = float(standard_errors(values[:, None], earlier.clusters)[0])
    if error == 0:
        return None, f"all pairs alike in {', '.join(names)}"
    scale = (clusters / planned.cluster_count) ** 0.5
    pairs = int((~np.isnan(values)).sum())
    return error * scale, f"{', '.join(names)}, {pairs} pairs"
