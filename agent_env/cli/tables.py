"""Tables on the terminal: no figure is cut away, and no line wraps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent_env.cli.terminal import raw
from agent_env.records.escaping import visible

if TYPE_CHECKING:
    from rich.table import Column, Table


def print_table(table: Table) -> None:
    """Whole where nobody says how wide; on a narrow terminal in parts, the first column before
    each."""
    from rich.console import Console
    from rich.segment import Segment, Segments

    wide = Console(width=1000)
    needed = wide.measure(table).maximum
    room = Console().width if sys.stdout.isatty() else needed
    for part in in_parts(table, room):
        console = Console(file=raw(sys.stdout), width=max(room, wide.measure(part).maximum))
        segments = console.render(part)
        console.print(Segments(Segment(visible(s.text), s.style, s.control) for s in segments))


def in_parts(table: Table, room: int) -> list[Table]:
    """The table, or several with as many of its columns each as `room` characters hold."""
    from rich.console import Console

    wide = Console(width=1000)
    if wide.measure(table).maximum <= room:
        return [table]
    first, *others = table.columns
    parts: list[list[Column]] = [[first]]
    for column in others:
        if len(parts[-1]) > 1 and wide.measure(_of(table, [*parts[-1], column])).maximum > room:
            parts.append([first])
        parts[-1].append(column)
    made = [_of(table, columns) for columns in parts]
    made[0].title, made[-1].caption = table.title, table.caption
    return made


def _of(table: Table, columns: list[Column]) -> Table:
    """These columns of it, without what stands above and below."""
    from rich.table import Table

    part = Table(box=table.box, title_justify=table.title_justify, padding=table.padding)
    for column in columns:
        part.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap)
    for cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row(*cells)
    return part
