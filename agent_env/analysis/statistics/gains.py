"""What tools are worth: the gain for what a condition uses more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm

PRICES = {
    "1,000 tokens": (("input_tokens", "output_tokens"), 1 / 1000),
    "second": (("duration_s",), 1.0),
    "cent": (("cost_usd",), 100.0),
}
"""Units of what a condition uses more: quantities that are added, and what one is worth."""


@dataclass(frozen=True, slots=True)
class Gain:
    after: str
    before: str
    gain: float | None
    """Difference of the main metric."""
    extra: dict[str, float | None]
    """By unit of PRICES: how much more is used per episode; None where unknown."""
    per_unit: dict[str, Estimate]
    """Gain per unit; no value where no more is used, or that is uncertain."""


def gains_of(comparison: Comparison) -> list[Gain]:
    """For every planned difference within a run that adds tools and changes nothing else."""
    gains = []
    for plan in filter(lambda plan: plan.is_simple, comparison.plans):
        after, before = comparison.study.arm(plan.after), comparison.study.arm(plan.before)
        adds = set(after.condition.tools) > set(before.condition.tools)
        same = after.condition.wording == before.condition.wording
        same &= after.condition.answer_format == before.condition.answer_format
        if before.condition.tools:
            same &= (
                after.condition.name.partition("~")[2] == before.condition.name.partition("~")[2]
            )
        if after.run == before.run and adds and same:
            gains.append(_gain(comparison, after, before))
    return gains


def _gain(comparison: Comparison, after: Arm, before: Arm) -> Gain:
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
    return Gain(after.label, before.label, mean, extra, per_unit)


def _per_unit(comparison: Comparison, values: np.ndarray, more: Estimate) -> Estimate:
    if more.value is None or more.value <= 0 or (more.low is not None and more.low <= 0):
        return Estimate(None, method="no more used, as far as can be told")
    if more.clusters < 2:
        share = float(np.nanmean(values[:, 0]) / np.nanmean(values[:, 1]))
        return Estimate(share, method="one sample", samples=more.samples)
    return comparison.ratio_of_means(values, more)


def _delta(
    comparison: Comparison, after: Arm, before: Arm, quantities: Sequence[str], worth: float
) -> np.ndarray:
    differences = [comparison.column(after, q) - comparison.column(before, q) for q in quantities]
    total: np.ndarray = np.sum(differences, axis=0) * worth
    return total


@Statistic("tools", order=110).of
def tools(comparison: Comparison) -> ResultTable:
    gains = gains_of(comparison)
    rows = []
    for each in gains:
        extra = [each.extra[unit] for unit in PRICES]
        rows.append((f"{each.after} − {each.before}", each.gain, *extra,
                     *(each.per_unit[unit].cell for unit in PRICES)))  # fmt: skip
    columns = (
        Column("tools added"), Column(comparison.metric, 3, signed=True),
        *(Column(f"extra {unit}s" if unit != "1,000 tokens" else "extra 1,000 tokens", 2,
                 signed=True) for unit in PRICES),
        *(Column(f"gain per {unit}", 4, signed=True) for unit in PRICES),
    )  # fmt: skip
    notes = ("Gain per unit has no value where no more is used, where that is uncertain, or where "
             "the unit is unknown.",)  # fmt: skip
    return ResultTable("tools", "What the tools bought", columns, tuple(rows), notes)
