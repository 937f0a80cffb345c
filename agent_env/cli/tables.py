"""Tables on the terminal: within 100 columns, or its width; no figure is cut away."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.records.escaping import visible
from agent_env.runs.terminal import raw

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable

ROOM = 100
"""Characters of a line where nobody says how wide it may be."""
Wide = Annotated[
    bool, typer.Option("--wide", help="All columns of the tables, however wide they are.")
]


def print_table(table: ResultTable, wide: bool = False) -> None:
    """Its title, its columns that say something, its notes. Of a table that is too wide the
    secondary columns are left out, unless `wide`; then headings and the first column wrap, and
    columns that still do not fit follow in parts."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    filled = table.without_empty()
    unbounded = max(ROOM, _width(filled))
    room = Console().width if sys.stdout.isatty() else unbounded if wide else ROOM
    shown = filled if wide else _fitting(filled, room)
    print(table.title)
    if shown.is_list:
        print("\n".join(_lines(text, room, "  - ") for (text,) in shown.texts()))
    for part, is_dense in [] if shown.is_list or not shown.columns else in_parts(shown, room):
        rich = part.terminal(is_dense)
        width = part.dense_width() if is_dense else _width(part)
        console = Console(file=raw(sys.stdout), width=max(room, width))
        segments = console.render(rich)
        console.print(Segments(Segment(visible(s.text), s.style, s.control) for s in segments))
    for note in [*table.notes, *_hidden(filled, shown)]:
        print(_lines(note, room, "  "))
    print()


def _lines(text: str, room: int, mark: str) -> str:
    return textwrap.fill(
        visible(text), room, initial_indent=mark, subsequent_indent=" " * len(mark)
    )


def _fitting(table: ResultTable, room: int) -> ResultTable:
    while _width(table) > room and (fewer := table.fewer_columns()) is not None:
        table = fewer
    return table


def _hidden(filled: ResultTable, shown: ResultTable) -> list[str]:
    names = [column.name for column in filled.columns if column not in shown.columns]
    return [f"More columns with --wide: {', '.join(names)}."] if names else []


def _width(table: ResultTable) -> int:
    """Characters of its lines where nothing wraps: a space beside each cell and between columns."""
    from rich.cells import cell_len

    rows = [[column.name for column in table.columns], *table.texts()]
    return sum(max(map(cell_len, texts)) + 3 for texts in zip(*rows, strict=True)) + 1


def in_parts(table: ResultTable, room: int) -> list[tuple[ResultTable, bool]]:
    """The table, whole where it fits into `room` characters as it is; dense where it fits so; else
    dense in several parts, each with the first column and as many others as fit."""
    if _width(table) <= room:
        return [(table, False)]
    parts = [[0]]
    for column in range(1, len(table.columns)):
        if len(parts[-1]) > 1 and table.of_columns([*parts[-1], column]).dense_width() > room:
            parts.append([0])
        parts[-1].append(column)
    return [(table.of_columns(columns), True) for columns in parts]
