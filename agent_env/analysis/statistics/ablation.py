"""Evidence, memory or luck: right answers by what becomes of them where the web is blocked or says
other dates.

Each condition is paired with its twins by sample. A right answer of the plain condition is
*evidence* where its twin in the shifted world is right there, and *memory* where the twin gives the
plain world's answer against the page. Of the others, as many as guessing would get right are
*luck*: the chance level of the samples whose twin does neither. What remains is *unstable*: right
once, and neither found nor remembered the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate, wilson
from agent_env.analysis.resampling import Floats
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.tasks.conditions import is_twin
from agent_env.tasks.task import ORIGINAL, PAGES_SHOWN

SHARES = ("right", "evidence", "memory", "luck", "unstable", "right in blocked")

COUNTED = ("right", "evidence", "memory", "right in blocked")
"""Those that are 0 or 1 for a sample without repeats."""


@dataclass(frozen=True, slots=True)
class Split:
    """The shares of one condition, or of one over models."""

    label: str
    values: Floats
    """Samples by SHARES; NaN where a twin is not there or the chance level is unknown."""
    unread: int
    """Episodes of its twins that were shown no page."""
    episodes: int
    """Finished ones of its twins."""


def ablation(comparison: Comparison) -> ResultTable:
    """A row for each condition with a twin in a blocked or shifted web."""
    return table_of(comparison, splits_of(comparison))


def table_of(comparison: Comparison, splits: Sequence[Split]) -> ResultTable:
    """The splits with their intervals."""
    columns = (
        Column("condition"),
        *(Column(name) for name in SHARES),
        Column("no page seen", is_kept=True, is_secondary=True),
        Column("n", 0),
    )
    rows = tuple(_row(split, _estimates(comparison, split)) for split in splits)
    return ResultTable("ablation", "Evidence, memory or luck", columns, rows, _notes(splits))


def _row(split: Split, estimates: Sequence[Estimate]) -> tuple[Cell, ...]:
    unread = f"{split.unread} of {split.episodes}"
    return (split.label, *(each.cell for each in estimates), unread, estimates[0].samples)


def _estimates(comparison: Comparison, split: Split) -> list[Estimate]:
    """One for each share, over the samples that have all episodes of the pairs."""
    estimates = []
    for name, column in zip(SHARES, split.values.T, strict=True):
        is_share = name in COUNTED and set(column[~np.isnan(column)]) <= {0.0, 1.0}
        (estimate,) = comparison.estimates(column[:, None], is_share)
        if name == "luck" and estimate.value == 0 and estimate.clusters > 1:
            _, high = wilson(0.0, estimate.clusters)  # of the samples that could have been luck
            chance = float(np.nanmean(_chances(comparison)))
            estimate = replace(estimate, low=0.0, high=high * chance, method="Wilson × chance")
        estimates.append(estimate)
    return estimates


def _notes(splits: Sequence[Split]) -> tuple[str, ...]:
    notes = [
        "Shares of all samples, paired: right = evidence + memory + luck + unstable. Evidence: "
        "right in the shifted world too. Memory: there, the plain world's answer against the page. "
        "Luck: what guessing among the possible values gets right of the samples whose twin does "
        "neither; unstable: the rest, below 0 where fewer than that were right. Right in blocked: "
        "without the pages that prove the answer, so memory or luck.",
        "What they can and cannot show: agent-env docs evidence.",
    ]
    return tuple(notes) if splits else ()


# Splits -----------------------------------------------------------------------------------------


def splits_of(comparison: Comparison) -> list[Split]:
    """One for each condition with a twin, and one over models for each that several have."""
    splits: list[Split] = []
    by_condition: dict[str, list[Split]] = {}
    for arm in comparison.study.arms:
        twins = {
            kind: twin
            for kind in ("blocked", "shifted")
            if (twin := _twin(comparison, arm, kind)) is not None
        }
        if twins:
            split = _split(comparison, arm, twins)
            splits.append(split)
            by_condition.setdefault(arm.condition.name, []).append(split)
    overall = [
        Split(
            f"all models {name}",
            np.mean([each.values for each in own], axis=0),
            sum(each.unread for each in own),
            sum(each.episodes for each in own),
        )
        for name, own in by_condition.items()
        if len(own) > 1
    ]
    return [*splits, *overall]


def _twin(comparison: Comparison, arm: Arm, kind: str) -> Arm | None:
    """The same condition of the same run with this ablation alone."""
    if arm.condition.disturbance is not None:
        return None
    twins = (
        each
        for each in comparison.study.arms
        if each.run == arm.run
        and (its := each.condition.disturbance) is not None
        and its.ablation == kind
        and is_twin(arm.condition, each.condition, "disturbance")
    )
    return next(twins, None)


def _split(comparison: Comparison, arm: Arm, twins: dict[str, Arm]) -> Split:
    metric = comparison.of_all_metric
    right = _shares(comparison, arm, metric)
    empty = np.full(len(right), np.nan)
    evidence = memory = luck = empty
    if (shifted := twins.get("shifted")) is not None:
        in_shifted = _shares(comparison, shifted, metric)
        original = _shares(comparison, shifted, ORIGINAL)
        evidence, memory = right * in_shifted, right * original
        luck = (1 - in_shifted - original) * _chances(comparison)
    unstable = right - evidence - memory - luck
    blocked = twins.get("blocked")
    in_blocked = empty if blocked is None else _shares(comparison, blocked, metric)
    values = np.column_stack([right, evidence, memory, luck, unstable, in_blocked])
    shown = [
        each.metrics[PAGES_SHOWN]
        for twin in twins.values()
        for each in twin.observations
        if each.counts and PAGES_SHOWN in each.metrics
    ]
    return Split(arm.label, _paired(values), shown.count(0.0), len(shown))


def _shares(comparison: Comparison, arm: Arm, metric: str) -> Floats:
    """By sample: the share of its finished episodes with a 1 in the metric; NaN without one."""
    by_sample: dict[str, list[bool]] = {}
    for each in arm.observations:
        if each.counts and metric in each.metrics:
            by_sample.setdefault(each.sample, []).append(each.metrics[metric] >= 1)
    own = (by_sample.get(sample.id) for sample in comparison.study.samples)
    return np.array([np.mean(values) if values else np.nan for values in own])


def _chances(comparison: Comparison) -> Floats:
    chances = map(comparison.hooks.chance, comparison.study.samples)
    return np.array([np.nan if chance is None else chance for chance in chances])


def _paired(values: Floats) -> Floats:
    """The samples without a gap, but for columns that have no values at all."""
    has_values = ~np.isnan(values).all(axis=0)
    gaps = np.isnan(values[:, has_values]).any(axis=1)
    paired = values.copy()
    paired[gaps] = np.nan
    return paired


ABLATION = Statistic(
    "ablation", ablation, order=22, section="Results", is_main=True, in_score=True,
    without_rows="No condition has a twin in a blocked or shifted web; run --web-ablation makes "
    "them.",
)  # fmt: skip
