"""A table of results: rows of typed cells, and the ways to show and write them.

As lines of text, as Markdown, LaTeX, CSV and JSON, as a pandas frame; the report's and the viewer's
templates take the cells' texts from here. As text, for a terminal of any width, a pipe, a screen
reader: as many columns are side by side as a line has room for; headings wrap first, then columns
are left out by their rank and figures have two digits, then texts wrap. Where the rest does not fit
either, each row is a sentence of names and values, as it is in plain text.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.cells import cell_len

from agent_env.extras import need_extra
from agent_env.records.escaping import csv_text, latex_text, markdown_text, visible

if TYPE_CHECKING:
    import pandas as pd


Cell = str | int | float | None | tuple[float | None, float | None, float | None]
"""A figure may come with its interval: (value, low, high). None is shown as a dash."""

Format = Literal["md", "csv", "json", "latex"]
FORMATS: tuple[Format, ...] = ("md", "csv", "json", "latex")
GAP = 2
"""Characters between two columns."""
LONG, SHORT = 9, 2
"""Digits of a figure at most, and where width is short."""
WHOLE, NARROWEST = 28, 12
"""Characters that a text keeps while columns can be left out, and that it keeps at least."""
SPOKEN_WIDTH, PROSE = 80, 100
"""Characters of a row that is read aloud, as a table has it, and of a line of notes at most."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    digits: int = 3
    signed: bool = False
    rank: int = 0
    """Where a line is too short for all columns, those of the highest rank are left out first, all
    together; those of rank 0 are never left out."""
    if_any: bool = False
    """Whether a person sees it only where a row has something else than 0: it counts troubles."""
    key: str = ""
    """Its name in JSON and CSV, where the heading depends on the data; "": the heading."""

    def text(self, cell: Cell, most_digits: int = 9, interval: str = " [{}, {}]") -> str:
        """A cell of it as a person reads it."""
        if cell is None:
            return "–"
        short = replace(self, digits=min(self.digits, most_digits))
        if isinstance(cell, tuple):
            value, low, high = (_number(part, short) for part in cell)
            ends = "" if cell[1] is None else interval.format(low, high)
            return ends.lstrip(" ,") if ends and cell[0] is None else value + ends
        return _number(cell, short) if isinstance(cell, float) else str(cell)

    def weight(self, cell: Cell) -> str:
        """What a page sorts its cells by; empty for unknown."""
        value = cell[0] if isinstance(cell, tuple) else cell
        return "" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One table with what must be read beside it."""

    name: str
    """For file names and keys."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    baseline: str | None = None
    """What all its differences are from, where that is one condition."""

    def texts(self) -> list[list[str]]:
        return [
            [column.text(cell) for cell, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]

    def without_empty(self) -> ResultTable:
        """The table without columns of only dashes, and of troubles that no row had."""
        return self.of_columns(
            i for i, column in enumerate(self.columns)
            if i == 0 or any(_says_something(row[i], column) for row in self.rows)
        )  # fmt: skip

    def without_constant(self, kept: Collection[str] = ()) -> ResultTable:
        """The table without columns that say the same in all rows, or the same as an earlier one;
        a note has what they say. Those named in `kept` stay."""
        places, same, repeated = [0], list[str](), list[str]()
        for i, column in enumerate(self.columns[1:] if len(self.rows) > 1 else (), 1):
            cells = [_point(row[i]) for row in self.rows]
            equal = [k for k in places[1:] if all(_is_equal(row[i], row[k]) for row in self.rows)]
            if column.name in kept:
                places.append(i)
            elif len(set(cells)) == 1:
                same.append(f"{column.name} {column.text(cells[0])}")
            elif equal:
                repeated.append(f"‘{column.name}’ equals ‘{self.columns[equal[0]].name}’")
            else:
                places.append(i)
        notes = [f"In all rows: {', '.join(texts)}." for texts in (same, repeated) if texts]
        if not notes:
            return self
        return replace(self.of_columns(places), notes=(*notes, *self.notes))

    def of_columns(self, places: Iterable[int]) -> ResultTable:
        """The same rows with these columns, without notes that explain another (`its name: …`)."""
        kept = tuple(places)
        names = {column.name.casefold() for column in self.columns}
        gone = names - {self.columns[i].name.casefold() for i in kept}
        return replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
            notes=tuple(n for n in self.notes if n.partition(":")[0].casefold() not in gone),
        )

    def with_notes(self, notes: Iterable[str]) -> ResultTable:
        return replace(self, notes=tuple(notes))

    def __str__(self) -> str:
        return self.without_empty().markdown()

    def _repr_html_(self) -> str | None:
        from agent_env.analysis.html import in_notebook

        return in_notebook("show", self.without_empty())

    @property
    def is_list(self) -> bool:
        return len(self.columns) == 1

    def is_text(self, place: int) -> bool:
        return place == 0 or all(isinstance(row[place], str | None) for row in self.rows)

    def fits(self, room: int) -> bool:
        """Whether a line of so many characters has room for all columns, with all digits."""
        return _widths(_blocks(self, LONG), room, WHOLE) is not None

    def markdown(self) -> str:
        """A pipe table under a heading, its notes as a list."""
        lines = [f"## {markdown_text(self.title)}", ""]
        if self.is_list:
            texts = (*(text for (text,) in self.texts()), *self.notes)
            return "\n".join([*lines, *(f"- {markdown_text(text)}" for text in texts)]) + "\n"
        if self.columns:
            heads = [markdown_text(column.name) for column in self.columns]
            lines.append("| " + " | ".join(heads) + " |")
            lines.append("|" + "|".join("---:" if i else "---" for i in range(len(heads))) + "|")
        lines += ["| " + " | ".join(map(markdown_text, row)) + " |" for row in self.texts()]
        if self.notes:
            lines += ["", *(f"- {markdown_text(note)}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """A booktabs table; notes go below it in small type. Sentences are a list."""
        if self.is_list:
            items = (rf"\item {latex_text(text)}" for (text,) in self.texts())
            return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"]) + "\n"
        lines = [
            r"\begin{table}[ht]",
            r"\centering\small",
            rf"\caption{{{latex_text(self.title)}}}",
        ]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}", r"\toprule"]
        lines += [" & ".join(latex_text(c.name) for c in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(map(latex_text, row)) + r" \\" for row in self.texts()]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\footnotesize {latex_text(note)}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def csv(self) -> str:
        """Full figures; one with an interval takes three columns."""
        names, rows = self._spread()
        plain = ([round(c, 6) if isinstance(c, float) else c for c in row] for row in rows)
        return csv_text([names, *plain])

    def frame(self) -> pd.DataFrame:
        """For notebooks; a figure with an interval takes three columns."""
        need_extra("pandas")
        import pandas as pd

        names, rows = self._spread()
        return pd.DataFrame(rows, columns=names)

    def _spread(self) -> tuple[list[str], list[list[object]]]:
        """Names and rows with a column each for value, low and high where any cell has them."""
        wide = [any(isinstance(row[i], tuple) for row in self.rows)
                for i in range(len(self.columns))]  # fmt: skip
        names: list[str] = []
        for column, is_wide in zip(self.columns, wide, strict=True):
            name = column.key or column.name
            names += [name, f"{name} low", f"{name} high"] if is_wide else [name]
        rows: list[list[object]] = []
        for row in self.rows:
            cells: list[object] = []
            for cell, is_wide in zip(row, wide, strict=True):
                cells += cell if isinstance(cell, tuple) else [cell]
                cells += [None, None] if is_wide and not isinstance(cell, tuple) else []
            rows.append(cells)
        return names, rows

    def as_json(self) -> dict[str, object]:
        """Title, rows by the columns' names, notes; an interval is an object of three fields."""
        names = [column.key or column.name for column in self.columns]
        ends = ("value", "low", "high")
        rows: list[dict[str, object]] = finite(
            [
                {
                    name: dict(zip(ends, cell, strict=True)) if isinstance(cell, tuple) else cell
                    for name, cell in zip(names, row, strict=True)
                }
                for row in self.rows
            ]
        )
        about = {} if self.baseline is None else {"baseline": self.baseline}
        return {"title": self.title, **about, "rows": rows, "notes": list(self.notes)}


class Tables(list[ResultTable]):
    def __str__(self) -> str:
        return "\n\n".join(map(table_text, self))

    def _repr_html_(self) -> str | None:
        from agent_env.analysis.html import in_notebook

        return in_notebook("all_of", [table.without_empty() for table in self])


def _number(value: float | None, column: Column) -> str:
    if value is None:
        return "–"
    if column.name.startswith("p ") or column.name == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    digits = min(1, column.digits) if abs(value) >= 100 else column.digits
    rounded = round(value, digits) + 0.0  # no minus before a zero
    return f"{rounded:{'+' if column.signed else ''},.{digits}f}"


def _says_something(cell: Cell, column: Column) -> bool:
    if isinstance(cell, tuple):
        return cell != (None, None, None)
    return cell is not None and not (column.if_any and cell == 0)


def _point(cell: Cell) -> Cell:
    """A figure without its interval, where it has one."""
    return cell[0] if isinstance(cell, tuple) and cell[0] is not None else cell


def _is_equal(one: Cell, other: Cell) -> bool:
    """Whether two cells say the same; figures that both have intervals need equal ones."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return one == other
    return _point(one) == _point(other)


def render(tables: Sequence[ResultTable], to: Format) -> str:
    if to == "json":
        return json.dumps(as_objects(tables), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    if to == "csv":
        return "\n".join(f"# {table.name}\n{table.csv()}" for table in tables)
    return "\n".join(table.markdown() if to == "md" else table.latex() for table in tables)


def as_objects(tables: Sequence[ResultTable]) -> dict[str, object]:
    return {table.name: table.as_json() for table in tables}


def finite(value: Any) -> Any:
    """For JSON, which has no infinite numbers: None in their place."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# As text ---------------------------------------------------------------------------------------


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
    return next((part for part in parts if part.fits(room)), parts[-1])


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
