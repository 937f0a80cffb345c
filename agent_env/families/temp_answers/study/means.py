"""Means of scored answers with cluster bootstrap intervals (by table or graph)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from agent_env.analysis.intervals import Grouped, Interval, mean_intervals
from agent_env.families.temp_answers.scoring.answer_spec import WITH_VALUE
from agent_env.families.temp_answers.scoring.time_errors import ErrorProfile, profile, within
from agent_env.families.temp_answers.study.modes import Item

BANDS = (1, 2, 5, 10)
MEANS = ("smape", "mase")
"""Metrics that are no shares."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one set of answers; `exact_match` and `smape` in percent."""

    n: int
    exact_match: float | None
    smape: float | None
    n_smape: int
    mase: float | None
    """Infinite where an item's is."""
    n_mase: int
    unparsed: int
    outcomes: dict[str, int]
    problems: dict[str, int]
    """Rows without a parsable gold, by reason; in no mean of `v2`."""
    bands: dict[int, float]
    """EM@k in percent, k in the declared unit; unparsable answers are outside."""
    errors: ErrorProfile
    floor: float | None = None
    """Percent right where both answer and gold count by completed units."""
    rounded: float | None = None
    """Percent right where both are rounded to whole units."""
    mase_by_item: float | None = None
    """`v2`: by the paper's formula with the mean of the gold answers."""
    n_mase_by_item: int = 0
    coarse: int = 0
    """Dates less precise than asked; they count as wrong and are in no MASE."""
    unscaled: dict[str, int] = field(default_factory=dict)
    """By unit: answers with an amount but without MASE, because all golds of the unit are equal."""
    intervals: dict[str, Interval] | None = None
    """95 % intervals by metric (`within_K` is EM@k), for those that have one by
    `intervals.mean_intervals`; None where not requested."""


def summarize(
    items_by_file: Sequence[Sequence[Item]], mode: str, intervals: bool = True
) -> tuple[Summary, ...]:
    """The figures of each file; rows without a parsable gold count in mode `paper`, not in `v2`."""
    scored = [[i for i in items if mode == "paper" or i.problem is None] for items in items_by_file]
    summaries = tuple(map(_summary, scored, items_by_file))
    if not intervals:
        return summaries
    return tuple(map(_with_intervals, summaries, _intervals(scored)))


def _with_intervals(summary: Summary, intervals: dict[str, Interval]) -> Summary:
    return replace(summary, intervals=intervals)


def _summary(scored: Sequence[Item], items: Sequence[Item]) -> Summary:
    percentages = [item.percentage for item in scored if item.percentage is not None]
    scaled = [item.scaled for item in scored if item.scaled is not None]
    by_item = [item.scaled_by_item for item in scored if item.scaled_by_item is not None]
    errors = [item.error for item in scored if item.error is not None]
    n = len(scored)
    return Summary(
        n=n,
        exact_match=100 * sum(item.exact for item in scored) / n if n else None,
        smape=fmean(percentages) if percentages else None,
        n_smape=len(percentages),
        mase=fmean(scaled) if scaled else None,
        n_mase=len(scaled),
        unparsed=sum(item.outcome not in WITH_VALUE for item in scored),
        outcomes=dict(Counter(item.outcome for item in scored)),
        problems=dict(Counter(item.problem for item in items if item.problem is not None)),
        bands={k: 100 * sum(within(i.distance, k) for i in scored) / n for k in BANDS} if n else {},
        errors=profile(errors, sum(item.transitional for item in scored)),
        floor=100 * sum(item.floor for item in scored) / n if n else None,
        rounded=100 * sum(item.rounded for item in scored) / n if n else None,
        mase_by_item=fmean(by_item) if by_item else None,
        n_mase_by_item=len(by_item),
        coarse=sum(item.coarse for item in scored),
        unscaled=dict(
            Counter(
                item.row.unit or item.unit
                for item in scored
                if item.error is not None and item.scaled is None
            )
        ),
    )


def _intervals(items_by_file: Sequence[Sequence[Item]]) -> list[dict[str, Interval]]:
    """Of each file, by metric; an infinite mean has none. Files with the same clusters in the same
    order are drawn together: the draws are the same, and made once."""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for k, items in enumerate(items_by_file):
        alike[tuple(dict.fromkeys(item.row.cluster for item in items))].append(k)
    intervals: list[dict[str, Interval]] = [{} for _ in items_by_file]
    for clusters, own in alike.items():
        columns = [(k, name, col) for k in own for name, col in _columns(items_by_file[k]).items()]
        ends = mean_intervals(
            [column for *_, column in columns],
            [name not in MEANS for _, name, _ in columns],
            clusters,
        )
        for (k, name, _), interval in zip(columns, ends, strict=True):
            if interval is not None:
                factor = 1 if name in MEANS else 100
                intervals[k][name] = (factor * interval[0], factor * interval[1])
    return intervals


def _columns(items: Sequence[Item]) -> dict[str, Grouped]:
    """Clusters and values by metric, of those that have a finite mean."""
    columns = {
        "exact_match": [(i.row.cluster, float(i.exact)) for i in items],
        "smape": [(i.row.cluster, i.percentage) for i in items if i.percentage is not None],
        "mase": [(i.row.cluster, i.scaled) for i in items if i.scaled is not None],
        "floor": [(i.row.cluster, float(i.floor)) for i in items],
        "rounded": [(i.row.cluster, float(i.rounded)) for i in items],
        **{
            f"within_{k}": [(i.row.cluster, float(within(i.distance, k))) for i in items]
            for k in BANDS
        },
    }
    if any(value == math.inf for _, value in columns["mase"]):
        del columns["mase"]
    return {name: own for name, own in columns.items() if own}
