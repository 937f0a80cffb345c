"""Ratios of differences: the share of a gap that is closed, and what a tool buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, bootstrapped
from agent_env.analysis.study import Arm
from agent_env.tasks.tool_registry import web_tools


@dataclass(frozen=True, slots=True)
class Closed:
    """How much of the implicit–explicit gap a condition closes for one model."""

    run: str
    model: str
    condition: str
    gap: Estimate
    """Explicit minus implicit, over the samples that all three conditions finished."""
    share: Estimate
    """1 where the condition does as well as explicit wording; no value where there is no gap."""


def gaps_closed(comparison: Comparison) -> list[Closed]:
    """For every run with `base` and `explicit`: each implicit condition with the web."""
    found: list[Closed] = []
    if comparison.is_error:  # explicit wording would have to gain
        return found
    for own in _by_run(comparison.study.arms):
        arms = {arm.condition.name: arm for arm in own}
        if "base" not in arms or "explicit" not in arms:
            continue
        for arm in own:
            if web_tools(arm.condition) and arm.condition.wording == "implicit":
                found.append(_closed(comparison, arms["base"], arm, arms["explicit"]))
    return found


def _closed(comparison: Comparison, base: Arm, web: Arm, explicit: Arm) -> Closed:
    columns = [comparison.column(arm, comparison.metric) for arm in (base, web, explicit)]
    values = np.column_stack([columns[1] - columns[0], columns[2] - columns[0]])
    values[np.isnan(values).any(axis=1)] = np.nan
    (gap,) = comparison.estimates(values[:, 1:], share=False)
    place = (web.run, web.model, web.condition.name)
    if gap.value is None or gap.clusters < 2:
        return Closed(*place, gap, Estimate(None, method="too few samples"))
    certain = gap.low is not None and gap.low > 0
    if gap.value <= 0 or not (certain or gap.method == "all equal"):
        return Closed(*place, gap, Estimate(None, method="no gap that is certain to be above 0"))
    return Closed(*place, gap, _ratio(comparison, values, gap))


def _ratio(comparison: Comparison, values: np.ndarray, gap: Estimate) -> Estimate:
    """mean of column 0 over mean of column 1, with the bootstrap's interval."""
    share = float(np.nanmean(values[:, 0]) / np.nanmean(values[:, 1]))
    drawn = comparison.draws(values)
    usable = drawn[drawn[:, 1] > 1e-12]
    if len(usable) < 0.99 * len(drawn):
        return Estimate(share, method="the gap is too uncertain", samples=gap.samples)
    ratios = usable[:, 0] / usable[:, 1]
    if float(np.ptp(ratios)) <= 1e-12:
        return Estimate(share, method="all equal", samples=gap.samples, clusters=gap.clusters)
    return bootstrapped(share, ratios, gap.samples, gap.clusters)


PRICES = {
    "1,000 tokens": (("input_tokens", "output_tokens"), 1 / 1000),
    "second": (("duration_s",), 1.0),
    "cent": (("cost_usd",), 100.0),
}
"""Units of what a condition uses more: quantities that are added, and what one is worth."""


@dataclass(frozen=True, slots=True)
class Bought:
    """What one condition gains over another for what it uses more."""

    after: str
    before: str
    gain: float | None
    """Difference of the main metric."""
    extra: dict[str, float | None]
    """By unit of PRICES: how much more is used per episode; None where unknown."""
    per_unit: dict[str, Estimate]
    """Gain per unit; no value where no more is used, or that is uncertain."""


def bought(comparison: Comparison) -> list[Bought]:
    """For every planned difference within a run that adds tools and changes nothing else."""
    found = []
    for plan in comparison.plans:
        after, before = comparison.study.arm(plan.after), comparison.study.arm(plan.before)
        adds = set(after.condition.tools) > set(before.condition.tools)
        same = after.condition.wording == before.condition.wording
        if before.condition.tools:
            same &= (
                after.condition.name.partition("~")[2] == before.condition.name.partition("~")[2]
            )
        if not plan.is_interaction and after.run == before.run and adds and same:
            found.append(_bought(comparison, after, before))
    return found


def _bought(comparison: Comparison, after: Arm, before: Arm) -> Bought:
    gain = _delta(comparison, after, before, (comparison.metric,), 1.0)
    mean = None if np.isnan(gain).all() else float(np.nanmean(gain))
    extra: dict[str, float | None] = {}
    per_unit: dict[str, Estimate] = {}
    for unit, (quantities, worth) in PRICES.items():
        values = np.column_stack([gain, _delta(comparison, after, before, quantities, worth)])
        values[np.isnan(values).any(axis=1)] = np.nan
        if np.isnan(values).all():
            extra[unit], per_unit[unit] = None, Estimate(None, method="unknown")
            continue
        (more,) = comparison.estimates(values[:, 1:], share=False)
        extra[unit] = more.value
        per_unit[unit] = _per_unit(comparison, values, more)
    return Bought(after.label, before.label, mean, extra, per_unit)


def _per_unit(comparison: Comparison, values: np.ndarray, more: Estimate) -> Estimate:
    if more.value is None or more.value <= 0 or (more.low is not None and more.low <= 0):
        return Estimate(None, method="no more used, as far as can be told")
    if more.clusters < 2:
        share = float(np.nanmean(values[:, 0]) / np.nanmean(values[:, 1]))
        return Estimate(share, method="one sample", samples=more.samples)
    return _ratio(comparison, values, more)


def _delta(
    comparison: Comparison, after: Arm, before: Arm, quantities: Sequence[str], worth: float
) -> np.ndarray:
    used = [comparison.column(after, q) - comparison.column(before, q) for q in quantities]
    total: np.ndarray = np.sum(used, axis=0) * worth
    return total


def _by_run(arms: Sequence[Arm]) -> list[list[Arm]]:
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    return list(runs.values())
