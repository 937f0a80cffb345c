"""Extraction and reasoning apart: a table of `compare` and `show`."""

from __future__ import annotations

from agent_env.families.timed_facts.score import EXTRACTION_METRICS
from agent_env.sdk.results import Column, Comparison, ResultTable, Statistic


@Statistic("extraction", order=15, section="Results").of
def extraction(comparison: Comparison) -> ResultTable:
    """A row for each condition whose strategy extracts facts, over its episodes with an
    extraction."""
    arms = [
        arm
        for arm in comparison.study.arms
        if any(EXTRACTION_METRICS[0] in each.metrics for each in arm.observations)
    ]
    cells = []
    for name in EXTRACTION_METRICS if arms else ():
        cells.append([each.cell for each in comparison.estimates_over(arms, name)])
    columns = (
        Column("condition"),
        *(Column(name.replace("_", " "), 3) for name in EXTRACTION_METRICS),
    )
    rows = tuple((arm.label, *figures) for arm, *figures in zip(arms, *cells, strict=True))
    note = "Facts of the extraction against the gold facts; the solver's answer from either."
    return ResultTable("extraction", "Extraction and reasoning apart", columns, rows, (note,))
