"""A table as data, and its ways to paper: Markdown, CSV, JSON, LaTeX, a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent_env.records.escaping import csv_text, latex_text, markdown_text

Cell = str | int | float | None | tuple[float | None, float | None, float | None]
"""A figure may come with its interval: (value, low, high). None is shown as a dash."""

Format = Literal["md", "csv", "json", "latex"]
FORMATS: tuple[Format, ...] = ("md", "csv", "json", "latex")


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and how its figures are written."""

    name: str
    digits: int = 3
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table with what must be read beside it."""

    name: str
    """For file names and keys."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def text_of(cell: Cell, column: Column) -> str:
    """The cell as a person reads it."""
    if cell is None:
        return "–"
    if isinstance(cell, tuple):
        value, low, high = (_number(part, column) for part in cell)
        return value if cell[1] is None else f"{value} [{low}, {high}]"
    return _number(cell, column) if isinstance(cell, float) else str(cell)


def _number(value: float | None, column: Column) -> str:
    if value is None:
        return "–"
    if column.name.startswith("p ") or column.name == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    digits = min(1, column.digits) if abs(value) >= 100 else column.digits
    shown = round(value, digits) + 0.0  # no minus before a zero
    return f"{shown:{'+' if column.signed else ''},.{digits}f}"


def shown(sheet: Sheet) -> Sheet:
    """The sheet for a person: without the columns that hold only dashes or noughts."""
    kept = [
        i for i in _indices(sheet) if i == 0 or any(_says_something(row[i]) for row in sheet.rows)
    ]
    return replace(
        sheet,
        columns=tuple(sheet.columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in sheet.rows),
    )


def _says_something(cell: Cell) -> bool:
    first = cell[0] if isinstance(cell, tuple) else cell
    return first is not None and not (isinstance(first, int) and first == 0)


def written(sheets: Sequence[Sheet], to: Format) -> str:
    """All sheets in one text."""
    if to == "json":
        return json.dumps(as_objects(sheets), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    one = {"md": markdown, "csv": _named_csv, "latex": latex}[to]
    return "\n".join(one(sheet) for sheet in sheets)


def as_objects(sheets: Sequence[Sheet]) -> dict[str, object]:
    """Title, rows and notes by the sheets' names, for JSON."""
    return {sheet.name: _as_object(sheet) for sheet in sheets}


def markdown(sheet: Sheet) -> str:
    """A pipe table under a heading, its notes as a list."""
    lines = [f"## {markdown_text(sheet.title)}", ""]
    lines.append("| " + " | ".join(markdown_text(c.name) for c in sheet.columns) + " |")
    lines.append("|" + "|".join("---" if i == 0 else "---:" for i in _indices(sheet)) + "|")
    for row in sheet.rows:
        cells = (markdown_text(text_of(c, k)) for c, k in zip(row, sheet.columns, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    if sheet.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in sheet.notes)]
    return "\n".join(lines) + "\n"


def _indices(sheet: Sheet) -> range:
    return range(len(sheet.columns))


def sheet_csv(sheet: Sheet) -> str:
    """Plain figures; an interval becomes two further columns, an unknown is empty."""
    spans = [any(isinstance(row[i], tuple) for row in sheet.rows) for i in _indices(sheet)]
    header: list[str] = []
    for column, span in zip(sheet.columns, spans, strict=True):
        header += [column.name, *([f"{column.name} low", f"{column.name} high"] if span else [])]
    records: list[list[object]] = [[*header]]
    for row in sheet.rows:
        cells: list[object] = []
        for cell, span in zip(row, spans, strict=True):
            cells += list(cell) if isinstance(cell, tuple) else [cell]
            if span and not isinstance(cell, tuple):
                cells += [None, None]
        records.append([_plain(cell) for cell in cells])
    return csv_text(records)


def _plain(cell: object) -> object:
    return round(cell, 6) if isinstance(cell, float) else cell


def _named_csv(sheet: Sheet) -> str:
    return f"# {sheet.name}\n{sheet_csv(sheet)}"


def _as_object(sheet: Sheet) -> dict[str, object]:
    names = [column.name for column in sheet.columns]
    rows = [dict(zip(names, map(_as_value, row), strict=True)) for row in sheet.rows]
    return {"title": sheet.title, "rows": rows, "notes": list(sheet.notes)}


def _as_value(cell: Cell) -> object:
    """An interval as an object of three fields."""
    if isinstance(cell, tuple):
        return dict(zip(("value", "low", "high"), cell, strict=True))
    return cell


def latex(sheet: Sheet) -> str:
    """A booktabs table; notes go below it in small type."""
    lines = [r"\begin{table}[ht]", r"\centering\small", rf"\caption{{{latex_text(sheet.title)}}}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(sheet.columns) - 1)}}}", r"\toprule"]
    lines.append(" & ".join(latex_text(c.name) for c in sheet.columns) + r" \\")
    lines.append(r"\midrule")
    for row in sheet.rows:
        cells = (latex_text(text_of(c, k)) for c, k in zip(row, sheet.columns, strict=True))
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {latex_text(note)}" for note in sheet.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"
