"""A table of results: rows of typed cells, and the ways to show and write them.

As lines of text (`text_tables`), as Markdown, LaTeX, CSV and JSON, as a pandas frame; the report's
and the viewer's templates take the cells' texts from here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from agent_env.extras import need_extra
from agent_env.records.escaping import csv_text, latex_text, markdown_text

if TYPE_CHECKING:
    import pandas as pd


Cell = str | int | float | None | tuple[float | None, float | None, float | None]
"""A figure may come with its interval: (value, low, high). None is shown as a dash."""

Format = Literal["md", "csv", "json", "latex"]
FORMATS: tuple[Format, ...] = ("md", "csv", "json", "latex")


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
        from agent_env.analysis.text_tables import table_text

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
