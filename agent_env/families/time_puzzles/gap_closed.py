"""How much of the gap between implicit and explicit wording the web closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.tasks.tool_registry import web_tools


def gap(comparison: Comparison) -> ResultTable:
    """The share of the implicit–explicit gap that the web closes."""
    found = gaps_closed(comparison)
    rows = tuple((c.model, c.condition, c.gap.cell, c.share.cell, c.gap.samples) for c in found)
    columns = (Column("model"), Column("condition"), Column("explicit − base", 3, signed=True),
               Column("share closed"), Column("samples", 0))  # fmt: skip
    told = [f"{c.model} {c.condition}: {c.share.method}." for c in found if c.share.value is None]
    return ResultTable("gap", "How much of the implicit–explicit gap is closed", columns, rows,
                 tuple(told))  # fmt: skip


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
    return Closed(*place, gap, comparison.ratio_of_means(values, gap))


def _by_run(arms: Sequence[Arm]) -> list[list[Arm]]:
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    return list(runs.values())


STATISTIC = Statistic("gap", gap, order=100)
