"""Tables on the terminal: no figure is cut away, and no line wraps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent_env.records.escaping import visible
from agent_env.runs.terminal import raw

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable


def print_table(table: ResultTable) -> None:
    """Its title, its columns that say something, its notes. Whole where nobody says how wide; on a
    narrow terminal in parts, the first column before each."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    wide = Console(width=1000)
    filled = table.without_empty()
    full_width = wide.measure(filled.terminal()).maximum
    room = Console().width if sys.stdout.isatty() else full_width
    print(table.title)
    for part in in_parts(filled, room):
        rich = part.terminal()
        console = Console(file=raw(sys.stdout), width=max(room, wide.measure(rich).maximum))
        segments = console.render(rich)
        console.print(Segments(Segment(visible(s.text), s.style, s.control) for s in segments))
    for note in table.notes:
        print(f"  {note}")
    print()


def in_parts(table: ResultTable, room: int) -> list[ResultTable]:
    """The table, or several with as many of its columns each as `room` characters hold."""
    from rich.console import Console

    def width(columns: list[int]) -> int:
        return Console(width=1000).measure(table.of_columns(columns).terminal()).maximum

    every = list(range(len(table.columns)))
    if width(every) <= room:
        return [table]
    parts = [[0]]
    for column in every[1:]:
        if len(parts[-1]) > 1 and width([*parts[-1], column]) > room:
            parts.append([0])
        parts[-1].append(column)
    return [table.of_columns(columns) for columns in parts]
