"""Compares strategies on questions of timed facts, in the layouts of the paper's tables.

SEM over finished episodes, in percent, by level and number of answers; also F1 for several answers.
Single- and multiple-answer questions are never averaged together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis import result_tables
from agent_env.analysis.result_tables import ResultTable
from agent_env.families.timed_facts.score import EXTRACTION_METRICS

Column = tuple[str, str]
"""A cell and a metric."""
LAYOUTS: dict[str, tuple[Column, ...]] = {
    "3": (
        ("easy-single", "sem"), ("easy-multi", "sem"), ("easy-multi", "answer_f1"),
        ("hard-single", "sem"), ("hard-multi", "sem"), ("hard-multi", "answer_f1"),
    ),
    "4": (
        ("L2-single", "sem"), ("L3-single", "sem"), ("L2-multi", "sem"), ("L2-multi", "answer_f1"),
    ),
    "7": (("L2-single", "sem"), ("L2-multi", "sem")),
}  # fmt: skip
"""The paper's tables by number."""
PAPER_VALUES: dict[str, dict[str, tuple[float, ...]]] = {
    "3": {
        "standard": (80.0, 49.0, 81.24, 58.0, 33.0, 72.59),
        "cot-qcra": (79.0, 58.0, 83.99, 43.0, 25.0, 76.43),
        "cot-cqra": (79.0, 29.0, 73.03, 54.0, 44.0, 67.88),
        "cot-qcar": (77.0, 3.0, 62.05, 44.0, 1.0, 49.37),
        "cot-cqar": (80.0, 35.0, 75.99, 56.0, 9.0, 60.12),
        "extract-run": (84.0, 75.0, 89.91, 67.0, 56.0, 76.08),
    },
    "4": {
        "standard": (72.6, 52.6, 21.0, 59.38),
        "cot-qcra": (71.4, 51.8, 16.2, 43.19),
        "cot-cqra": (68.4, 38.8, 19.8, 47.08),
        "cot-qcar": (64.0, 33.0, 0.2, 42.99),
        "cot-cqar": (60.6, 54.6, 2.2, 48.21),
        "extract-run": (93.8, 91.6, 76.4, 91.55),
    },
    "7": {
        "standard": (72.6, 21.0),
        "extract-run": (93.8, 76.4),
        "extract-simulate": (61.2, 33.8),
    },
}
"""The paper's results (text-davinci-003, one worked example), by table and strategy."""


@dataclass(frozen=True, slots=True)
class CellScore:
    """One scored finished episode."""

    row: str
    """The run's strategy and condition."""
    cell: str
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class Mean:
    """A figure of the table; the value is None without episodes."""

    value: float | None
    count: int


def every_cell(scores: Sequence[CellScore]) -> tuple[Column, ...]:
    """SEM of each cell with episodes, and F1 for several answers."""
    columns: list[Column] = []
    for cell in sorted({score.cell for score in scores}):
        columns.append((cell, "sem"))
        if cell.endswith("-multi"):
            columns.append((cell, "answer_f1"))
    return tuple(columns)


def means(scores: Sequence[CellScore], columns: Sequence[Column]) -> dict[str, dict[Column, Mean]]:
    """By row, in the order of their first episode, then by column; shares of 1."""
    rows = dict.fromkeys(score.row for score in scores)
    return {row: {column: _mean(scores, row, column) for column in columns} for row in rows}


def _mean(scores: Sequence[CellScore], row: str, column: Column) -> Mean:
    cell, metric = column
    values = [s.metrics[metric] for s in scores if s.row == row and s.cell == cell]
    return Mean(fmean(values) if values else None, len(values))


def extraction_means(scores: Sequence[CellScore]) -> dict[str, dict[str, Mean]]:
    """Separate figures of extraction and reasoning, over the episodes with an extraction."""
    rows = dict.fromkeys(s.row for s in scores if EXTRACTION_METRICS[0] in s.metrics)
    by_row: dict[str, dict[str, Mean]] = {}
    for row in rows:
        own = [s for s in scores if s.row == row and EXTRACTION_METRICS[0] in s.metrics]
        by_row[row] = {
            name: Mean(fmean(s.metrics[name] for s in own), len(own)) for name in EXTRACTION_METRICS
        }
    return by_row


def timed_table(
    figures: dict[str, dict[Column, Mean]], columns: Sequence[Column], layout: str | None
) -> ResultTable:
    """Rows by strategy and condition, in percent; the paper's below where a layout is given."""
    heads = [heading(column) for column in columns]
    rows = [
        (row, *(_percent(cells[column]) for column in columns)) for row, cells in figures.items()
    ]
    for row, values in PAPER_VALUES.get(layout or "", {}).items():
        rows.append((f"paper: {row}", *(f"{value:.2f}" for value in values)))
    return _table("percent", heads, rows)


def heading(column: Column) -> str:
    """Such as `L2-multi SEM`."""
    cell, metric = column
    return f"{cell} {'SEM' if metric == 'sem' else 'F1'}"


def extraction_table(figures: dict[str, dict[str, Mean]]) -> ResultTable:
    """Extraction and reasoning apart, in percent."""
    heads = [name.replace("_", " ") for name in EXTRACTION_METRICS]
    rows = [
        (row, *(_percent(cells[name]) for name in EXTRACTION_METRICS))
        for row, cells in figures.items()
    ]
    return _table("extraction, percent", heads, rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> ResultTable:
    columns = tuple(map(result_tables.Column, ("strategy", *heads)))
    return ResultTable("strategies", title, columns, tuple(rows))


def _percent(mean: Mean) -> str:
    return "–" if mean.value is None else f"{100 * mean.value:.2f} ({mean.count})"


def as_object(
    figures: dict[str, dict[Column, Mean]], extraction: dict[str, dict[str, Mean]]
) -> dict[str, object]:
    """The output of `--json`: shares by row, then by `CELL METRIC`."""
    rows = {
        row: {f"{cell} {metric}": mean.value for (cell, metric), mean in cells.items()}
        for row, cells in figures.items()
    }
    extraction_rows = {
        row: {name: mean.value for name, mean in c.items()} for row, c in extraction.items()
    }
    return {"rows": rows, "extraction": extraction_rows}
