"""What sequential tests decided: those that a run could stop by, or one over finished runs."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic


def sequential(comparison: Comparison) -> ResultTable:
    """A row for each contrast of a sequential test."""
    results = comparison.sequential
    columns = (
        Column("contrast"), Column("decision"), Column("estimate", 3, signed=True),
        Column("p"), Column("looked", 0), Column("planned", 0), Column("clusters", 0),
        Column("uncorrected", 3, signed=True),
    )  # fmt: skip
    rows = tuple(
        (
            each.name, each.decision, each.estimate.cell, each.p_value, each.looked, each.planned,
            each.clusters, each.plain_mean,
        )
        for each in results
    )  # fmt: skip
    return ResultTable("sequential", "Sequential tests", columns, rows, _notes(comparison))


def _notes(comparison: Comparison) -> tuple[str, ...]:
    results = comparison.sequential
    if not results:
        return ()
    levels = ", ".join(sorted({f"{1 - each.alpha:.4g}" for each in results}))
    margins = sorted({each.margin for each in results if each.margin is not None})
    size = f" than {', '.join(f'{margin:g}' for margin in margins)}" if margins else ""
    notes = [
        "Looked at after each sample, in an order fixed by the seed. The interval, by betting "
        f"(Waudby-Smith and Ramdas 2024), holds whenever one stops: level {levels} for each "
        "contrast alone. Difference: it excludes 0."
        + (f" None larger{size}: it lies within ±{size.removeprefix(' than ')}." if size else ""),
        "Estimate: corrected for stopping (Blackwell 1947); uncorrected: the plain mean, too far "
        "from 0 after an early stop.",
    ]
    if any(settings.pass_rates for settings, _ in comparison.study.tests):
        notes.append(
            "Samples of middling difficulty came first: estimates are weighted (Des Raj 1956), not "
            "corrected for stopping, and the claims are on the samples of the run, not on others."
        )
    if len(results) > 1:
        notes.append("Decisions and p: Holm's correction over the contrasts of one test.")
    if comparison.cluster_count < len(comparison.study.samples):
        notes.append(
            f"Each {comparison.hooks.shared} counts once: by one sample of it, then by the mean of "
            "all (runs of earlier versions: by the mean from the start)."
        )
    return tuple(notes)


SEQUENTIAL = Statistic(
    "sequential", sequential, order=15, section="Results", is_main=True, in_score=True,
    without_rows="No run could stop early; run --until makes the test, compare --sequential makes "
    "it afterwards.",
)  # fmt: skip
