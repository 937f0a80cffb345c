"""Means of scored answers with bootstrap intervals, clustered by table or graph."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from agent_env.analysis.answer_modes import Item
from agent_env.analysis.summary import wilson
from agent_env.scoring.time_errors import ErrorProfile, profile, within

BANDS = (1, 2, 5, 10)
RESAMPLES = 1000
SEED = 20261121
METRICS = ("exact_match", "smape", "mase", *(f"within_{k}" for k in BANDS))
"""What has an interval; `within_K` is EM@k."""
Interval = tuple[float, float]


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
    """Rows without a gold that can be read, by why; `v2` has them in no mean."""
    bands: dict[int, float]
    """EM@k in percent, k in the declared unit; unparsable ones are outside."""
    errors: ErrorProfile
    mase_by_item: float | None = None
    """`v2`: by the paper's formula on the mean of the gold answers."""
    n_mase_by_item: int = 0
    coarse: int = 0
    """Dates given less precisely than asked; they count as wrong and are in no MASE."""
    unscaled: dict[str, int] = field(default_factory=dict)
    """By unit: answers with an amount that are in no MASE, since there is one gold answer of the
    unit or all are equal."""
    intervals: dict[str, Interval] | None = None
    """95 %, by metric; None without numpy, a metric is left out where it has one cluster only."""


def summarize(items: Sequence[Item], mode: str, intervals: bool = True) -> Summary:
    """`mode` decides whether rows without a readable gold count (`paper`) or not (`v2`)."""
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
        intervals=bootstrap(scored) if intervals else None,
    )


def bootstrap(items: Sequence[Item], resamples: int = RESAMPLES) -> dict[str, Interval] | None:
    """Percentile intervals of the METRICS' means; whole clusters are drawn. Where no draw
    differs a share has Wilson's interval over the clusters, another mean none; None without
    numpy."""
    try:
        import numpy as np
    except ModuleNotFoundError:
        return None
    names = {name: k for k, name in enumerate(dict.fromkeys(i.row.cluster for i in items))}
    if len(names) < 2:
        return {}
    sums = np.zeros((len(names), 2 * len(METRICS)))
    for item in items:
        near = (100.0 * within(item.error, k) for k in BANDS)
        values = (100.0 * item.exact, item.percentage, item.scaled, *near)
        for k, value in enumerate(values):
            if value is not None and math.isfinite(value):
                sums[names[item.row.cluster], k] += value
                sums[names[item.row.cluster], k + len(METRICS)] += 1
    weights = _weights(len(names), resamples)
    drawn = weights @ sums
    found = {}
    for k, metric in enumerate(METRICS):
        above, below = drawn[:, k], drawn[:, k + len(METRICS)]
        infinite = any(i.scaled == math.inf for i in items) and metric == "mase"
        if (below > 0).sum() < resamples * 0.9 or infinite:
            continue
        low, high = np.quantile(above[below > 0] / below[below > 0], [0.025, 0.975])
        if low < high:
            found[metric] = (float(low), float(high))
        elif metric not in ("smape", "mase"):  # no draw differs: say what is known
            ends = wilson(float(low) / 100, len(names))
            found[metric] = (100 * ends[0], 100 * ends[1])
    return found


def mean_interval(values: Sequence[tuple[str, float]]) -> Interval | None:
    """95 % percentiles of the mean of values with the names of their clusters, which are drawn
    whole; None without numpy, for one cluster, and where all values are equal."""
    try:
        import numpy as np
    except ModuleNotFoundError:
        return None
    names = {name: k for k, name in enumerate(dict.fromkeys(name for name, _ in values))}
    if len(names) < 2 or len({value for _, value in values}) < 2:
        return None
    places = np.array([names[name] for name, _ in values])
    sums = np.bincount(places, weights=np.array([value for _, value in values]))
    weights = _weights(len(names), RESAMPLES)
    low, high = np.quantile((weights @ sums) / (weights @ np.bincount(places)), [0.025, 0.975])
    return float(low), float(high)


def _weights(count: int, resamples: int):  # type: ignore[no-untyped-def]
    """How often each cluster is drawn; the same for all sets of as many clusters."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    return rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)
