"""A table of results as lines of text: for a terminal of any width, a pipe, a screen reader.

As many columns are side by side as a line has room for: headings wrap first, then columns are
left out by their rank and figures have two digits, then texts wrap. Where the rest does not fit
either, each row is a sentence of names and values, as it is in plain text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from agent_env.analysis.result_tables import ResultTable
from agent_env.records.escaping import visible

GAP = 2
"""Characters between two columns."""
LONG, SHORT = 9, 2
"""Digits of a figure at most, and where width is short."""
WHOLE, NARROWEST = 28, 12
"""Characters that a text keeps while columns can be left out, and that it keeps at least."""
SPOKEN_WIDTH, PROSE = 80, 100
"""Characters of a row that is read aloud, as a table has it, and of a line of notes at most."""


@dataclass(frozen=True, slots=True)
class _Block:
    heading: str
    cells: Sequence[str]
    is_text: bool

    @property
    def most(self) -> int:
        """Its width where nothing wraps."""
        return max(map(cell_len, (self.heading, *self.cells)))

    def least(self, text_width: int) -> int:
        """Its width where the heading wraps, and a text at `text_width`."""
        cells = max(map(cell_len, self.cells), default=0)
        words = max(map(cell_len, self.heading.split()), default=0)
        return max(words, min(cells, text_width) if self.is_text else cells)


def table_text(table: ResultTable, width: int | None = PROSE, *, spoken: bool = False) -> str:
    """Its title, its columns that say something, as many as a line of `width` has room for (None:
    all), and its notes; `spoken`: to be read aloud, a sentence for each row."""
    filled = table.without_empty()
    room = None if spoken else width
    lines, hidden = ["  none"], list[str]()
    if filled.rows and table.is_list:
        lines = [line for (text,) in filled.texts() for line in prose(text, room, "- ")]
    elif filled.rows:
        lines, hidden = spoken_table(filled, width) if spoken else text_table(filled, width)
    notes = [*table.notes, *([named(hidden)] if hidden else [])]
    under = [line for note in notes for line in prose(note, room)]
    return "\n".join((*prose(table.title, room, ""), *lines, *under))


def text_table(table: ResultTable, room: int | None) -> tuple[list[str], list[str]]:
    """The lines, at most so wide, headings first; and the names of columns left out."""
    parts = list(_fewer_and_fewer(table))
    # columns of a higher rank are left out before figures are made short
    tries = [
        (part, digits, WHOLE)
        for part in parts
        for digits in (LONG, SHORT)
        if digits == LONG or max(column.rank for column in part.columns) <= 3
    ]
    for part, digits, text_width in (*tries, (parts[-1], SHORT, NARROWEST)):
        blocks = _blocks(part, digits)
        if (widths := _widths(blocks, room, text_width)) is not None:
            hidden = [column.name for column in table.columns if column not in part.columns]
            return list(_aligned(blocks, widths)), hidden
    return list(_sentences(table, room)), []


def fitted(table: ResultTable, room: int) -> ResultTable:
    """The table with as many of its columns as a line of so many characters has room for."""
    parts = list(_fewer_and_fewer(table))
    return next((part for part in parts if fits(part, room)), parts[-1])


def fits(table: ResultTable, room: int) -> bool:
    """Whether a line of so many characters has room for all columns, with all digits."""
    return _widths(_blocks(table, LONG), room, WHOLE) is not None


def _fewer_and_fewer(table: ResultTable) -> Iterator[ResultTable]:
    """The table, then without its columns of the highest rank, and so on."""
    for rank in sorted({column.rank for column in table.columns}, reverse=True):
        yield table.of_columns(i for i, column in enumerate(table.columns) if column.rank <= rank)


def spoken_table(table: ResultTable, width: int | None) -> tuple[list[str], list[str]]:
    """Each row as a sentence that is read aloud; and the names of columns left out."""
    part = table if width is None else fitted(table, SPOKEN_WIDTH)
    hidden = [column.name for column in table.columns if column not in part.columns]
    return list(_sentences(part, None)), hidden


def _sentences(table: ResultTable, room: int | None) -> Iterator[str]:
    """Each row as a line, such as `web: steps 3.9; exact_match 0.500, 0.237 to 0.763`."""
    for row in table.rows:
        texts = [
            (column.name, column.text(cell, interval=", {} to {}"))  # an interval in a sentence
            for column, cell in zip(table.columns, row, strict=True)
            if cell is not None
        ]
        head = texts[0][1] if row[0] is not None else "–"
        rest = "; ".join(f"{name} {text}" for name, text in texts[row[0] is not None :])
        yield from prose(f"{head}: {rest}" if rest else head, room, "")


def prose(text: str, room: int | None, mark: str = "  ") -> list[str]:
    """The text in lines, the first behind `mark`, the others below it."""
    if room is None:
        return [mark + visible(text)]
    indent = " " * (len(mark) or 2)
    width = max(len(indent) + NARROWEST, min(room, PROSE))
    return textwrap.wrap(
        visible(text), width, initial_indent=mark, subsequent_indent=indent
    ) or [mark]  # fmt: skip


def _blocks(table: ResultTable, digits: int) -> list[_Block]:
    return [
        _Block(
            visible(column.name),
            [visible(" ".join(column.text(row[i], digits).split())) for row in table.rows],
            table.is_text(i),
        )
        for i, column in enumerate(table.columns)
    ]


def _widths(blocks: Sequence[_Block], room: int | None, text_width: int) -> list[int] | None:
    """What each column gets; None where they need more than there is."""
    if room is None:
        return [block.most for block in blocks]
    widths = [block.least(text_width) for block in blocks]
    free = room - sum(widths) - GAP * (len(blocks) - 1)
    if free < 0:
        return None
    for i, block in enumerate(blocks):
        more = min(free, block.most - widths[i])
        widths[i], free = widths[i] + more, free - more
    return widths


def _aligned(blocks: Sequence[_Block], widths: Sequence[int]) -> Iterator[str]:
    """The headings, which are on the rule below them, and the rows."""
    heads = [_folded(block.heading, width) for block, width in zip(blocks, widths, strict=True)]
    height = max(map(len, heads))
    yield from _side_by_side([[""] * (height - len(h)) + h for h in heads], blocks, widths)
    yield "─" * (sum(widths) + GAP * (len(widths) - 1))
    for cells in zip(*(block.cells for block in blocks), strict=True):
        texts = [_folded(text, width) for text, width in zip(cells, widths, strict=True)]
        yield from _side_by_side(texts, blocks, widths)


def _side_by_side(
    texts: Sequence[Sequence[str]], blocks: Sequence[_Block], widths: Sequence[int]
) -> Iterator[str]:
    for line in range(max(map(len, texts))):
        parts = []
        for lines, block, width in zip(texts, blocks, widths, strict=True):
            part = lines[line] if line < len(lines) else ""
            blank = " " * (width - cell_len(part))
            parts.append(part + blank if block.is_text else blank + part)
        yield (" " * GAP).join(parts).rstrip()


def _folded(text: str, width: int) -> list[str]:
    """The text in lines of so many characters, cut between words where it can be."""
    lines = [""]
    for word in text.split():
        if cell_len(joined := f"{lines[-1]} {word}".lstrip()) <= width:
            lines[-1] = joined
            continue
        lines += [""] if lines[-1] else []
        for letter in word:
            if lines[-1] and cell_len(lines[-1] + letter) > width:
                lines.append("")
            lines[-1] += letter
    return lines if len(lines) <= 4 else [*lines[:2], "…", lines[-1]]


def named(names: Iterable[str]) -> str:
    """The note on columns that are left out."""
    return f"More columns with --wide: {', '.join(names)}."
