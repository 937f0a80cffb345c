"""Accuracy against a budget of model calls: the area under the curve, the smallest budget that
comes near the end, differences between conditions.

An arm at budget k holds episodes whose k-th call had to be the answer, and those that had answered
by then. The area is the mean accuracy over budgets, by the trapezoid rule from the smallest to the
largest; it is linear in the scores, so its intervals and paired differences are those of any mean.

Unnecessary look-ups are those made although what had been read determined the answer already. Only
look-ups count, not calculation: an answer that is determined must still be computed. Whether
a text determines it is told by the family's solver, see `AnalysisHooks.determined`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from agent_env.sdk.records import Episode, Sample
from agent_env.sdk.results import (
    Arm,
    Cell,
    Column,
    Comparison,
    Estimate,
    ResultTable,
    finite,
)

Floats = npt.NDArray[np.float64]
NEAR = 0.95
"""Of the accuracy at the end."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One condition at one budget."""

    budget: int | None
    """Model calls; None: as many as the run allows."""
    forced: int
    """Episodes whose last call had to be the answer; the others had answered by themselves."""
    accuracy: Estimate
    tokens: Estimate
    """Input and output of an episode with this budget, the recorded beginning included."""
    cost_usd: Estimate
    steps: Estimate


@dataclass(frozen=True, slots=True)
class BudgetCurve:
    """One condition."""

    condition: str
    points: tuple[CurvePoint, ...]
    """By budget, the end last."""
    area: Estimate
    enough: int | None
    """The smallest budget whose accuracy is at least NEAR of the end's; None where none is, or the
    end has no right answer."""
    enough_low: float | None = None
    enough_high: float | None = None
    """Its 95 % interval by the cluster bootstrap; infinite: more than the largest budget."""


@dataclass(frozen=True, slots=True)
class CurveDifference:
    """One condition less another, paired by sample."""

    name: str
    area: Estimate
    points: tuple[tuple[int | None, Estimate], ...]


class BudgetCurves:
    """The curves of all conditions of one run of forks."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        arms = comparison.study.arms
        self._ends = tuple(arm for arm in arms if arm.condition.answer_at is None)
        self._forced = {(_bare(arm), arm.condition.answer_at): arm for arm in arms}
        self.budgets = sorted({k for _, k in self._forced if k is not None})

    @cached_property
    def curves(self) -> tuple[BudgetCurve, ...]:
        """One for each condition."""
        return tuple(map(self._curve, self._ends))

    @cached_property
    def differences(self) -> tuple[CurveDifference, ...]:
        """Of the conditions that a comparison of the run would pair."""
        by_label = {arm.label: arm for arm in self._ends}
        ends = Comparison(replace(self.comparison.study, arms=self._ends))
        pairs = [(each.after, each.before) for each in ends.plans if each.is_simple]
        return tuple(self._difference(by_label[a], by_label[b]) for a, b in pairs)

    def _arms(self, end: Arm) -> list[Arm]:
        return [*(self._forced[_bare(end), k] for k in self.budgets), end]

    def _curve(self, end: Arm) -> BudgetCurve:
        comparison, arms = self.comparison, self._arms(end)
        scores = comparison.columns(comparison.metric, arms)
        accuracy = comparison.estimates_over(arms, comparison.metric)
        tokens = sum(comparison.columns(name, arms) for name in ("input_tokens", "output_tokens"))
        used = [self._means(arms, values) for values in (
            np.asarray(tokens), comparison.columns("cost_usd", arms),
            comparison.columns("steps", arms),
        )]  # fmt: skip
        points = [
            CurvePoint(
                budget, sum((o.used["steps"] or 0) > (budget or inf) for o in end.finished), *its
            )
            for budget, *its in zip((*self.budgets, None), accuracy, *used, strict=True)
        ]
        enough, low, high = self._enough(scores)
        (area,) = comparison.estimates(self._area(scores), share=False)
        return BudgetCurve(end.label, tuple(points), area, enough, low, high)

    def _means(self, arms: Sequence[Arm], values: Floats) -> list[Estimate]:
        """None where any finished episode's figure is unknown."""
        known = ~np.isnan(values)
        asked = ~np.isnan(self.comparison.columns(self.comparison.metric, arms))
        estimates = self.comparison.estimates(values, share=False)
        return [
            own if (known[:, k] | ~asked[:, k]).all() else Estimate(None, method="unknown")
            for k, own in enumerate(estimates)
        ]

    def _area(self, scores: Floats) -> Floats:
        """By sample: the mean over budgets; NaN where a budget has no score."""
        forced = scores[:, :-1]
        if len(self.budgets) == 1:
            return forced
        at = np.array(self.budgets, dtype=float)
        area: Floats = np.trapezoid(forced, at, axis=1) / (at[-1] - at[0])
        return area[:, None]

    def _enough(self, scores: Floats) -> tuple[int | None, float | None, float | None]:
        whole = scores[~np.isnan(scores).any(axis=1)]
        if not len(whole) or whole[:, -1].mean() <= 0:
            return None, None, None
        (value,) = self._smallest(whole.mean(axis=0)[None, :])
        enough = None if np.isinf(value) else int(value)
        if self.comparison.has_few_clusters:
            return enough, None, None
        draws = self._smallest(self.comparison.resampled_means(scores))
        low, high = np.quantile(draws, [0.025, 0.975], method="inverted_cdf")
        return enough, float(low), float(high)

    def _smallest(self, means: Floats) -> Floats:
        """Of each row: the smallest budget that is near the last column; infinite for none."""
        is_near = means[:, :-1] >= NEAR * means[:, -1:] - 1e-12
        first = np.argmax(is_near, axis=1)
        budgets = np.array(self.budgets, dtype=float)[first]
        return np.where(is_near.any(axis=1), budgets, np.inf)

    def _difference(self, after: Arm, before: Arm) -> CurveDifference:
        comparison = self.comparison
        scores, others = (
            comparison.columns(comparison.metric, self._arms(arm)) for arm in (after, before)
        )
        (area,) = comparison.estimates(self._area(scores) - self._area(others), share=False)
        is_share = comparison.is_share(comparison.metric) and comparison.is_single
        points = [
            each.of_equal_pairs() if is_share else each
            for each in comparison.estimates(scores - others, share=False)
        ]
        named = zip((*self.budgets, None), points, strict=True)
        return CurveDifference(f"{after.label} − {before.label}", area, tuple(named))

    def tables(self) -> list[ResultTable]:
        """Points, areas, paired differences."""
        tables = [self._point_table(), self._area_table(), self._difference_table()]
        return [table for table in tables if table.rows]

    def _point_table(self) -> ResultTable:
        columns = (
            Column("condition"), Column("model calls"), Column("samples", 0), Column("forced", 0),
            Column(self.comparison.metric), Column("tokens", 0), Column("USD", 5),
            Column("steps", 1, rank=1),
        )  # fmt: skip
        rows = tuple(
            (
                curve.condition, _budget(point.budget), point.accuracy.samples, point.forced,
                point.accuracy.cell, point.tokens.cell, point.cost_usd.cell, point.steps.cell,
            )
            for curve in self.curves
            for point in curve.points
        )  # fmt: skip
        notes = (
            "At k model calls: the k-th had to be the answer, tools withdrawn; episodes that had "
            "answered by then count by their own answer. Forced: how many had to. All: the "
            "recorded episodes to their end.",
            "Means with 95 % intervals, samples of one cluster drawn together. Tokens and USD are "
            "those of an episode with this budget, its recorded beginning included.",
            *self.comparison.remarks,
        )
        return ResultTable("curve", "Accuracy by budget", columns, rows, notes)

    def _area_table(self) -> ResultTable:
        first, last = self.budgets[0], self.budgets[-1]
        columns = (
            Column("condition"), Column("area under the curve"), Column("samples", 0),
            Column(f"calls to {NEAR:.0%} of the end"),
        )  # fmt: skip
        rows = tuple(
            (curve.condition, curve.area.cell, curve.area.samples, self._enough_text(curve))
            for curve in self.curves
        )
        notes = (
            f"Area: mean accuracy over {first} to {last} model calls. Calls to {NEAR:.0%}: the "
            "smallest of these budgets that reaches so much of the end's accuracy, with its 95 % "
            "interval (cluster bootstrap); budgets between them were not asked.",
        )
        return ResultTable("areas", "Area and sufficient budget", columns, rows, notes)

    def _enough_text(self, curve: BudgetCurve) -> str | None:
        if curve.points[-1].accuracy.value in (None, 0.0):
            return None
        more = f"> {self.budgets[-1]}"
        value = more if curve.enough is None else str(curve.enough)
        if curve.enough_low is None or curve.enough_high is None:
            return value
        ends = (more if np.isinf(x) else str(int(x)) for x in (curve.enough_low, curve.enough_high))
        return f"{value} [{', '.join(ends)}]"

    def _difference_table(self) -> ResultTable:
        columns = (
            Column("difference"), Column("area", signed=True),
            *(Column(f"at {_budget(k)}", signed=True) for k in (*self.budgets, None)),
        )  # fmt: skip
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (each.name, each.area.cell, *(estimate.cell for _, estimate in each.points))
            for each in self.differences
        )
        notes = (
            "Paired by sample; cluster bootstrap, where all pairs of right and wrong answers agree "
            "Bonett and Price's interval; not corrected for the number of differences.",
        )
        return ResultTable("curve-differences", "Paired differences", columns, rows, notes)

    def as_json(self) -> dict[str, object]:
        """All figures."""
        return {
            "metric": self.comparison.metric,
            "budgets": self.budgets,
            "curves": [finite(asdict(curve)) for curve in self.curves],
            "differences": [finite(asdict(each)) for each in self.differences],
            "notes": list(self.comparison.remarks),
        }


def _bare(arm: Arm) -> str:
    """The name of the condition without its budget."""
    return arm.condition.name.removesuffix(f"~at{arm.condition.answer_at}")


def _budget(budget: int | None) -> str:
    return "all" if budget is None else str(budget)


@dataclass(frozen=True, slots=True)
class LookupCount:
    """One episode."""

    condition: str
    cluster: str
    calls: int
    needless: int | None
    """None where the solver cannot tell."""


def needless_calls(
    sample: Sample,
    episode: Episode,
    look_ups: Container[str],
    determined: Callable[[Sample, Sequence[str]], bool | None],
) -> tuple[int, int | None]:
    """How many look-ups the episode made, and how many of them after the results of earlier replies
    had determined the answer."""
    names = {call.id: call.name for message in episode.messages for call in message.tool_calls}
    texts: list[str] = []
    calls = needless = 0
    is_determined = determined(sample, texts)
    for message in episode.messages:
        if message.role == "tool" and names.get(message.tool_call_id or "") in look_ups:
            texts.append(message.content)
        asked = sum(call.name in look_ups for call in message.tool_calls)
        if asked and is_determined is False:
            is_determined = determined(sample, texts)
        calls += asked
        needless += asked if is_determined else 0
    return calls, None if is_determined is None else needless


def needless_table(counts: Sequence[LookupCount]) -> ResultTable:
    """By condition: look-ups of an episode, and those that were needless."""
    columns = (
        Column("condition"), Column("episodes", 0), Column("look-ups", 2),
        Column("unnecessary", 2), Column("episodes with any"), Column("unknown", 0),
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for condition in dict.fromkeys(each.condition for each in counts):
        own = [each for each in counts if each.condition == condition]
        known = [each for each in own if each.needless is not None]
        calls = [(each.cluster, float(each.calls)) for each in known]
        needless = [(each.cluster, float(each.needless or 0)) for each in known]
        shares = [(name, float(number > 0)) for name, number in needless]
        means = (
            Estimate.of_mean(calls),
            Estimate.of_mean(needless),
            Estimate.of_mean(shares, share=True),
        )
        rows.append((condition, len(known), *(m.cell for m in means), len(own) - len(known)))
    notes = (
        "A look-up is unnecessary if the facts that earlier results prove, with those that need no "
        "look-up, already leave the gold dates alone, by the solver. A result proves a fact if it "
        "names a page that does and states its dates: memory and other pages do not count, so this "
        "is a lower bound. Unknown: the solver does not know the facts.",
    )
    return ResultTable("look-ups", "Unnecessary look-ups", columns, tuple(rows), notes)
