"""How the metrics agree: rank correlations between them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.correlation import Correlation, correlate
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


def correlations(comparison: Comparison) -> ResultTable:
    """Rank correlations between the metrics."""
    rows = tuple(
        (f"{c.first} and {c.second}", c.spearman.cell, c.kendall.cell, c.n)
        for c in between_metrics(comparison)
    )
    columns = (Column("metrics"), Column("Spearman"), Column("Kendall tau-b"), Column("n", 0))
    notes = ("Over all finished episodes; cluster bootstrap intervals. A dash: one is constant.",)
    return ResultTable("correlations", "How the metrics agree", columns, rows, notes)


def between_metrics(comparison: Comparison) -> list[Correlation]:
    """Each pair of metrics over the finished episodes of all arms for which both
    are defined; none where there is no such episode."""
    row = {sample.id: i for i, sample in enumerate(comparison.study.samples)}
    observations = [o for arm in comparison.study.arms for o in arm.observations if o.counts]
    clusters = comparison.clusters[np.array([row[o.sample] for o in observations], dtype=np.int64)]
    correlations = []
    for a, b in combinations(comparison.study.metrics, 2):
        both = np.array([a in o.metrics and b in o.metrics for o in observations], dtype=bool)
        both_known = [o for o, defined in zip(observations, both, strict=True) if defined]
        if both_known:
            x = np.array([o.metrics[a] for o in both_known])
            y = np.array([o.metrics[b] for o in both_known])
            correlations.append(correlate((a, b), x, y, clusters[both], comparison.weights))
    return correlations


CORRELATIONS = Statistic("correlations", correlations, order=80, needs=("scipy",))
