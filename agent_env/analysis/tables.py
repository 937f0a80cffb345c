"""Tables for people: the conditions of a run, and the differences between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from agent_env.analysis.paired import Difference
from agent_env.analysis.summary import Summary, wilson


@dataclass(frozen=True, slots=True)
class Compared:
    """One row against the first."""

    name: str
    metric: str
    difference: Difference | None


def summary_table(summaries: Sequence[Summary], metrics: Sequence[str], title: str) -> Table:
    """Conditions by row; the first metric with its 95 % Wilson interval over the samples."""
    table = Table(title=title, title_justify="left")
    table.add_column("condition")
    for name in ("episodes", "failed", "unreadable"):
        table.add_column(name, justify="right")
    for name in metrics:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("steps", "tool calls", "tokens in", "tokens out"):
        table.add_column(name, justify="right")
    for row in summaries:
        table.add_row(*_cells(row, metrics))
    return table


def _cells(row: Summary, metrics: Sequence[str]) -> list[str]:
    cells = [row.condition, str(row.episodes), str(row.failed), str(row.unreadable)]
    cells.append(_with_interval(row.metrics[metrics[0]], row.samples))
    cells += [_number(row.metrics[name], 3) for name in metrics[1:]]
    cells += [_number(row.steps, 1), _number(row.tool_calls, 1)]
    return [*cells, _number(row.input_tokens, 0), _number(row.output_tokens, 0)]


def _with_interval(mean: float | None, samples: int) -> str:
    if mean is None or not samples:
        return "-"
    low, high = wilson(mean, samples)
    return f"{mean:.3f} [{low:.2f}, {high:.2f}]"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def difference_table(rows: Sequence[Compared], baseline: str) -> Table:
    """Differences to the first row, paired by sample."""
    table = Table(title=f"Difference to {baseline}, paired by sample", title_justify="left")
    for name in ("condition", "metric"):
        table.add_column(name)
    for name in ("difference [95 %]", "better", "worse", "p", "pairs", "unpaired"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.name, row.metric, *_difference_cells(row.difference))
    return table


def _difference_cells(found: Difference | None) -> list[str]:
    if found is None:
        return ["-"] * 5 + ["all"]
    span = f"{found.mean:+.3f} [{found.low:+.2f}, {found.high:+.2f}]"
    p = f"{found.p_value:.3f}" if found.p_value >= 0.001 else "<0.001"
    return [span, str(found.better), str(found.worse), p, str(found.pairs), str(found.unpaired)]


def as_json(found: Difference | None) -> Mapping[str, float | int] | None:
    """The fields of a difference, or None."""
    return None if found is None else {name: getattr(found, name) for name in _FIELDS}


_FIELDS = ("pairs", "unpaired", "mean", "low", "high", "better", "worse", "p_value")
