"""What tools are worth: the gain for what a condition uses more, and Shapley values.

With the score v(S) under the tools S, a tool's value is the mean, over the orders of all tools, of
what it adds to those before it (Shapley 1953). It is linear in the scores, so it is computed for
each sample, and its interval is that of a mean; the values add up to v(all) − v(none).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.resampling import Floats
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
    """What one condition gains over another for what it uses more."""

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
    """What a condition gains for what it uses more."""
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


Tools = frozenset[str]
ASKED: Tools = frozenset({"web", "cal", "python"})
"""Whose conditions are named where a study has no complete set."""
NO_TOOLS = ("base", "facts", "explicit", "explicit-paper", "cited")
"""Parts of a condition that are no tools."""


@dataclass(frozen=True, slots=True)
class Coalitions:
    """The arms of one run over every set of some tools, the rest of the condition being equal."""

    before: str
    """What stands before the tool in a row: the run or model, and the rest of the condition."""
    tools: tuple[str, ...]
    arms: Mapping[Tools, Arm]


@dataclass(frozen=True, slots=True)
class ToolValue:
    """One tool of one run."""

    tool: str
    value: Estimate
    first: Estimate
    """What it adds to no tool."""
    last: Estimate
    """What it adds to all others."""


def shapley_weights(size: int) -> list[float]:
    """By the number of tools that are there before: the share of orders for one such set."""
    return [1 / (size * comb(size - 1, number)) for number in range(size)]


def tool_values(comparison: Comparison, coalitions: Coalitions) -> list[ToolValue]:
    """One for each tool, then their sum, which is what all of them add."""
    scores = {
        tools: comparison.column(arm, comparison.metric) for tools, arm in coalitions.arms.items()
    }
    every, none = frozenset(coalitions.tools), Tools()
    columns: list[Floats] = []
    for tool in coalitions.tools:
        other_tools = every - {tool}
        columns += [
            _mean_gain(tool, other_tools, scores),
            scores[none | {tool}] - scores[none],
            scores[every] - scores[other_tools],
        ]
    columns.append(scores[every] - scores[none])
    estimates = comparison.estimates(np.column_stack(columns), share=False)
    rows = [
        ToolValue(tool, *estimates[3 * place : 3 * place + 3])
        for place, tool in enumerate(coalitions.tools)
    ]
    return [*rows, ToolValue("all of them", estimates[-1], Estimate(None), Estimate(None))]


def _mean_gain(tool: str, other_tools: Tools, scores: Mapping[Tools, Floats]) -> Floats:
    weights = shapley_weights(len(other_tools) + 1)
    gains = [
        weights[size] * (scores[frozenset(before) | {tool}] - scores[frozenset(before)])
        for size in range(len(other_tools) + 1)
        for before in combinations(sorted(other_tools), size)
    ]
    total: Floats = np.sum(gains, axis=0)
    return total


def coalitions_of(arms: Sequence[Arm]) -> Iterator[Coalitions]:
    """The largest complete sets of at least two tools, by run and by the rest of the condition."""
    groups: dict[tuple[str, Tools], dict[Tools, Arm]] = {}
    for arm in arms:
        parts = frozenset(arm.condition.name.split("+")) - {"base"}
        if "~" in arm.condition.name:
            continue
        tools = Tools(part for part in parts if part.partition(":")[0] not in NO_TOOLS)
        groups.setdefault((arm.run, parts - tools), {})[tools] = arm
    for (_, rest), by_tools in groups.items():
        sets: list[Tools] = []
        every = sorted(Tools().union(*by_tools))
        for size in range(len(every), 1, -1):
            for tools in map(frozenset, combinations(every, size)):
                subsets = list(_subsets(tools))
                if all(each in by_tools for each in subsets) and not any(tools < f for f in sets):
                    sets.append(tools)
                    none = by_tools[Tools()]
                    before = none.label.removesuffix(none.condition.name).strip()
                    words = " ".join(filter(None, [before, "+".join(sorted(rest))]))
                    order = tuple(sorted(tools, key=lambda tool: (tool != "web", tool)))
                    yield Coalitions(words, order, {each: by_tools[each] for each in subsets})


def _subsets(tools: Tools) -> Iterator[Tools]:
    for size in range(len(tools) + 1):
        yield from map(frozenset, combinations(sorted(tools), size))


@Statistic("shapley", order=112, is_main=True).of
def shapley(comparison: Comparison) -> ResultTable:
    """A row for each tool, and for all of them."""
    columns = (
        Column("tool"), Column("Shapley value", signed=True), Column("samples", 0),
        Column("alone", signed=True, rank=1), Column("added last", signed=True, rank=2),
    )  # fmt: skip
    groups = list(coalitions_of(comparison.study.arms))
    rows = tuple(
        (
            f"{group.before} {row.tool}".strip(), row.value.cell, row.value.samples,
            row.first.cell, row.last.cell,
        )
        for group in groups
        for row in tool_values(comparison, group)
    )  # fmt: skip
    notes = (
        f"Mean gain of {comparison.metric} over all orders in which the tools can be added; 95 % "
        "intervals, samples of one cluster drawn together, not corrected for the number of tools. "
        "The values add up to what all tools add. Alone: over no tool; added last: over all "
        "others. A value is that of a tool among these tools, on these samples.",
    )
    if not groups:
        notes = (_missing(comparison.study.arms),)
    return ResultTable("shapley", "What each tool is worth", columns, rows, notes)


def _missing(arms: Sequence[Arm]) -> str:
    names = {frozenset(arm.condition.name.split("+")) - {"base"} for arm in arms}
    order = ("web", "cal", "python").index
    lacking = ["+".join(sorted(s, key=order)) or "base" for s in _subsets(ASKED) if s not in names]
    return (
        "Shapley values of two tools need the four conditions with and without each, in one run; "
        f"those of web, cal and python all eight. Missing for these: {', '.join(lacking)}."
    )
