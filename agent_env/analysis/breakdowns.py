"""The main metric broken down by what a family groups its samples by."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable


def breakdown(comparison: Comparison, name: str) -> ResultTable:
    """The main metric and output tokens by value of a group; arms by column."""
    by_value = comparison.by_group(name, comparison.metric)
    labels = [arm.label for arm in comparison.study.arms]
    rows = tuple(
        (value, len(comparison.groups[name][value]), *(e.cell for e in estimates))
        for value, estimates in by_value.items()
    )
    columns = (Column(name), Column("samples", 0), *(Column(label) for label in labels))
    many = sum(len(rows) for rows in comparison.groups[name].values())
    notes = (
        ("A sample stands under each of its values.",) if many > len(comparison.study.samples)
        else ()
    )  # fmt: skip
    safe = name.replace(" ", "-")
    return ResultTable(f"by-{safe}", f"{comparison.metric} by {name}", columns, rows, notes)
