"""Each condition's episodes and metrics."""

from __future__ import annotations

from collections.abc import Iterator

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.summary import on_forms


def conditions(comparison: Comparison) -> ResultTable:
    """Each arm's episodes and metrics, the main one also with failures as 0."""
    metrics, study = comparison.study.metrics, comparison.study
    rows = []
    unscored = any(o.outcome == "scorer_failed" for arm in study.arms for o in arm.observations)
    kinds = (*_KINDS, "scorer_failed") if unscored else _KINDS
    for i, arm in enumerate(study.arms):
        finished = sum(o.counts for o in arm.observations)
        troubles = [sum(o.outcome == kind for o in arm.observations) for kind in kinds]
        scores = [comparison.means[name][i].cell for name in metrics]
        rows.append((arm.label, arm.asked, finished, *troubles, arm.missing, *scores,
                     comparison.of_all[i].cell))  # fmt: skip
    heads = ("episodes", "finished", *(k.replace("_", " ") for k in kinds), "never begun")
    columns = (
        Column("condition"),
        *(Column(name, 0) for name in heads),
        *(Column(name, is_secondary=name != comparison.metric) for name in metrics),
        Column(f"{comparison.of_all_metric} of all"),
    )
    methods = {e.method for name in metrics for e in comparison.means[name] if e.method}
    notes = (
        f"{len(study.samples)} samples in {comparison.cluster_count} clusters. Means are over "
        "samples, repeats of one sample averaged first; unreadable answers score 0. Failed, "
        "unfinished and never begun episodes enter no mean but the last column, where they are 0.",
        *(["Episodes whose scorer failed enter no column."] if unscored else []),
        *_on_errors(comparison),
        *on_forms(arm.condition for arm in study.arms),
        f"95 % intervals: {', '.join(sorted(methods))}.",
        *comparison.remarks,
    )
    return ResultTable("conditions", f"Conditions of {study.task}", columns, tuple(rows), notes)


_KINDS = ("unreadable", "failed", "unfinished")


def _on_errors(comparison: Comparison) -> Iterator[str]:
    """Which metrics are better where they are less, and over how many samples they are means."""
    for name in comparison.study.metrics:
        if name in comparison.study.error_metrics:
            counts = ", ".join(
                f"{arm.label} {estimate.samples}"
                for arm, estimate in zip(comparison.study.arms, comparison.means[name], strict=True)
            )
            yield f"{name}: the less the better; over the samples where it is defined: {counts}."


CONDITIONS = Statistic("conditions", conditions, order=10, section="Results", is_main=True)
