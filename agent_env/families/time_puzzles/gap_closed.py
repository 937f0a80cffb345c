"""The share of the gap between implicit and explicit wording that the web closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.sdk.family import web_tools
from agent_env.sdk.results import Arm, Column, Comparison, Estimate, ResultTable, Statistic


@Statistic("gap", order=100).of
def gap(comparison: Comparison) -> ResultTable:
    """The share of the implicit–explicit gap that the web closes."""
    shares = gaps_closed(comparison)
    rows = tuple((c.model, c.condition, c.gap.cell, c.share.cell, c.gap.samples) for c in shares)
    columns = (Column("model"), Column("condition"), Column("explicit − base", 3, signed=True),
               Column("share closed"), Column("samples", 0))  # fmt: skip
    notes = [f"{c.model} {c.condition}: {c.share.method}." for c in shares if c.share.value is None]
    return ResultTable("gap", "How much of the implicit–explicit gap is closed", columns, rows,
                 tuple(notes))  # fmt: skip


@dataclass(frozen=True, slots=True)
class GapShare:
    """The share of the implicit–explicit gap that a condition closes for one model."""

    run: str
    model: str
    condition: str
    gap: Estimate
    """Explicit minus implicit, over the samples that all three conditions finished."""
    share: Estimate
    """1 if the condition equals explicit wording; without a value if there is no gap."""


def gaps_closed(comparison: Comparison) -> list[GapShare]:
    """For every run with `base` and `explicit`: each implicit condition with the web."""
    shares: list[GapShare] = []
    if comparison.is_error:
        return shares
    for run_arms in _by_run(comparison.study.arms):
        arms = {arm.condition.name: arm for arm in run_arms}
        if "base" not in arms or "explicit" not in arms:
            continue
        for arm in run_arms:
            if web_tools(arm.condition) and arm.condition.wording == "implicit":
                shares.append(_gap_share(comparison, arms["base"], arm, arms["explicit"]))
    return shares


def _gap_share(comparison: Comparison, base: Arm, web: Arm, explicit: Arm) -> GapShare:
    columns = [comparison.column(arm, comparison.metric) for arm in (base, web, explicit)]
    values = np.column_stack([columns[1] - columns[0], columns[2] - columns[0]])
    values[np.isnan(values).any(axis=1)] = np.nan
    (gap,) = comparison.estimates(values[:, 1:], share=False)
    place = (web.run, web.model, web.condition.name)
    if gap.value is None or gap.clusters < 2:
        return GapShare(*place, gap, Estimate(None, method="too few samples"))
    certain = gap.low is not None and gap.low > 0
    if gap.value <= 0 or not (certain or gap.method == "all equal"):
        return GapShare(*place, gap, Estimate(None, method="no gap that is certain to be above 0"))
    return GapShare(*place, gap, comparison.ratio_of_means(values, gap))


def _by_run(arms: Sequence[Arm]) -> list[list[Arm]]:
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    return list(runs.values())
