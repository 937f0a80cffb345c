"""The main metric broken down by what a family groups its samples by."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Column, ResultTable


def breakdown(comparison: Comparison, name: str) -> ResultTable:
    """The main metric by value of a group; arms by column, then the shortcuts."""
    by_value = comparison.by_group(name, comparison.metric)
    baselines = comparison.shortcut_arms
    others = comparison.by_group(name, comparison.metric, baselines) if baselines else {}
    labels = [arm.label for arm in (*comparison.study.arms, *baselines)]
    rows = tuple(
        (value, len(comparison.groups[name][value]),
         *(e.cell for e in (*estimates, *others.get(value, ()))))
        for value, estimates in by_value.items()
    )  # fmt: skip
    columns = (Column(name), Column("samples", 0), *(Column(label) for label in labels))
    many = sum(len(rows) for rows in comparison.groups[name].values())
    notes: tuple[str, ...] = (
        ("A sample stands under each of its values.",) if many > len(comparison.study.samples)
        else ()
    )  # fmt: skip
    notes += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    safe = name.replace(" ", "-")
    return ResultTable(f"by-{safe}", f"{comparison.metric} by {name}", columns, rows, notes)
