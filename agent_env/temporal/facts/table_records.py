"""Reads the cells of a temporal table from CSV, Parquet, SQLite and DuckDB files, as text."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, DatasetError
from agent_env.records.escaping import unguarded
from agent_env.temporal.facts.sql_text import identifier
from agent_env.temporal.facts.temporal_table import TIME_COLUMNS

EXTRA = "needs DuckDB: pip install 'agent-env[tdbench]'"
Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row as it stands in the file."""

    line: int
    values: Cells
    start: str
    end: str

    @property
    def text(self) -> str:
        """The row for a person."""
        return f"{', '.join(self.values)} ({self.start or '?'} to {self.end or 'now'})"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file, with its columns but those of time, in small letters."""

    columns: Cells
    rows: tuple[SheetRow, ...]

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where these columns stand."""
        return tuple(self.columns.index(name) for name in names)


def read_sheet(file: Path, table: str | None = None) -> Sheet:
    """The file's rows, spaces and midnights aside; `table` names one of a database. DatasetError
    where there are no columns `start` and `end` (in any letter case)."""
    names, records = _read_records(file, table)
    first = 2 if file.suffix == ".csv" else 1
    columns, places = _columns(file, names)
    rows = []
    for line, record in enumerate(records, start=first):
        *values, start, end = (" ".join(record[place].split()) for place in places)
        rows.append(SheetRow(line, tuple(values), _day(start), _day(end)))
    return Sheet(columns, tuple(rows))


def _day(text: str) -> str:
    return re.sub(r"[ T]00:00(:00(\.0+)?)?$", "", text)


def _read_records(file: Path, table: str | None) -> tuple[Cells, list[Cells]]:
    if not file.is_file():
        raise DatasetError(file, None, "there is no such file")
    if file.suffix == ".csv":
        return _csv(file)
    if file.suffix == ".parquet":
        return _duckdb(file, "SELECT * FROM read_parquet(?)", [str(file)])
    if table is None:
        raise ConfigError(f"{file.name} is a database; name one of its tables")
    if file.read_bytes()[:16] == b"SQLite format 3\0":
        return _sqlite(file, f"SELECT * FROM {identifier(table)}")
    return _duckdb(file, f"SELECT * FROM {identifier(table)}", [])


def _csv(file: Path) -> tuple[Cells, list[Cells]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        records = [tuple(map(unguarded, line)) for line in lines if line]
    except (OSError, UnicodeDecodeError, csv.Error) as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc
    if not records:
        raise DatasetError(file, None, "is empty")
    for line, record in enumerate(records, start=1):
        if len(record) != len(records[0]):
            counts = f"{len(record)} cells under {len(records[0])} columns"
            raise DatasetError(file, line, f"{counts}; quote cells that hold commas")
    return records[0], records[1:]


def _sqlite(file: Path, query: str) -> tuple[Cells, list[Cells]]:
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as base:
            cursor = base.execute(query)
            return tuple(c[0] for c in cursor.description), _texts(cursor)
    except sqlite3.Error as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc


def _duckdb(file: Path, query: str, values: list[str]) -> tuple[Cells, list[Cells]]:
    try:
        import duckdb
    except ImportError as exc:
        raise ConfigError(f"{file.name} {EXTRA}") from exc
    where = ":memory:" if values else str(file)
    try:
        with duckdb.connect(where, read_only=not values) as base:
            cursor = base.execute(query, values)
            return tuple(c[0] for c in cursor.description or ()), _texts(cursor.fetchall())
    except duckdb.Error as exc:
        raise DatasetError(file, None, f"cannot be read: {str(exc).splitlines()[0]}") from exc


def _texts(records: Iterable[Sequence[Any]]) -> list[Cells]:
    return [tuple(_text(cell) for cell in record) for record in records]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _columns(file: Path, names: Cells) -> tuple[Cells, tuple[int, ...]]:
    """The columns without those of time, and the places of all: values, start, end."""
    lower = [name.strip().lower() for name in names]
    if twice := sorted({name for name in lower if lower.count(name) > 1}):
        raise DatasetError(file, 1, f"column '{twice[0]}' stands twice")
    for name in TIME_COLUMNS:
        if name not in lower:
            raise DatasetError(file, 1, f"no column '{name}'")
    if "" in lower:
        raise DatasetError(file, 1, "a column has no name")
    values = [place for place, name in enumerate(lower) if name not in TIME_COLUMNS]
    if not values:
        raise DatasetError(file, 1, "has no column beside start and end")
    time = [lower.index(name) for name in TIME_COLUMNS]
    return tuple(lower[place] for place in values), (*values, *time)
