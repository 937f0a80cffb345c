"""Means of scored answers with cluster bootstrap intervals (by table or graph)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from agent_env.analysis.intervals import Interval, mean_intervals
from agent_env.families.temp_answers.scoring.time_errors import ErrorProfile, profile, within
from agent_env.families.temp_answers.study.modes import Item

BANDS = (1, 2, 5, 10)


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


def summarize(items: Sequence[Item], mode: str, intervals: bool = True) -> Summary:
    """The figures; rows without a parsable gold count in mode `paper`, not in `v2`."""
    scored = [item for item in items if mode == "paper" or item.problem is None]
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
        unparsed=sum(item.outcome != "parsed" for item in scored),
        outcomes=dict(Counter(item.outcome for item in scored)),
        problems=dict(Counter(item.problem for item in items if item.problem is not None)),
        bands={k: 100 * sum(within(i.error, k) for i in scored) / n for k in BANDS} if n else {},
        errors=profile(errors, sum(item.transitional for item in scored)),
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
        intervals=_intervals(scored) if intervals else None,
    )


def _intervals(items: Sequence[Item]) -> dict[str, Interval]:
    """By metric; an infinite mean has none."""
    columns = {
        "exact_match": [(i.row.cluster, float(i.exact)) for i in items],
        "smape": [(i.row.cluster, i.percentage) for i in items if i.percentage is not None],
        "mase": [(i.row.cluster, i.scaled) for i in items if i.scaled is not None],
        **{
            f"within_{k}": [(i.row.cluster, float(within(i.error, k))) for i in items]
            for k in BANDS
        },
    }
    if any(value == math.inf for _, value in columns["mase"]):
        del columns["mase"]
    columns = {name: own for name, own in columns.items() if own}
    is_share = {name: name not in ("smape", "mase") for name in columns}
    intervals = mean_intervals(list(columns.values()), list(is_share.values()))
    return {
        name: (100 * ends[0], 100 * ends[1]) if is_share[name] else ends
        for name, ends in zip(columns, intervals, strict=True)
        if ends is not None
    }
