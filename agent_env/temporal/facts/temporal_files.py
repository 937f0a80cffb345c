"""Loads temporal tables from CSV, Parquet, SQLite and DuckDB; every defect is named by row."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, DatasetError
from agent_env.records.escaping import unguarded
from agent_env.temporal.allen import Granularity
from agent_env.temporal.facts.sql_text import identifier
from agent_env.temporal.facts.temporal_table import (
    LENGTHS,
    TIME_COLUMNS,
    TemporalRow,
    TemporalTable,
)
from agent_env.temporal.facts.writing import write_csv
from agent_env.temporal.partial import PartialDate

DEFECTS_LISTED = 20
"""How many defects an error spells out."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
EXTRA = "needs DuckDB: pip install 'agent-env[tdbench]'"


def load_table(
    file: Path,
    table: str | None = None,
    granularity: Granularity | None = None,
    end_included: bool = False,
    fictional: bool = False,
    too_short: list[int] | None = None,
) -> TemporalTable:
    """The rows of a CSV or Parquet file, or of a table of a SQLite or DuckDB file.

    Columns `start` and `end` (in any case) hold YYYY, YYYY-MM or YYYY-MM-DD, an empty end lasts
    still. All dates have one precision, or `granularity` cuts them to a coarser one.
    `end_included`: the ends are last days (months, years), not the first ones after. Rows that
    begin and end in one unit of `granularity` are left out; `too_short` takes their lines.
    """
    names, records = _read_records(file, table)
    lines = range(2, len(records) + 2) if file.suffix == ".csv" else range(1, len(records) + 1)
    columns, places = _columns(file, names)
    defects: list[tuple[int, str]] = []
    parsed_rows = [
        (line, *_row(record, places, line, defects))
        for line, record in zip(lines, records, strict=True)
    ]
    precision = granularity or _granularity(parsed_rows, defects)
    short = [] if too_short is None else too_short
    rows = [
        row
        for line, values, start, end in parsed_rows
        if start
        and (row := _cut(line, values, start, end, precision, end_included, defects, short))
    ]
    if defects:
        raise _error(file, sorted(set(defects)))
    if not rows:
        raise DatasetError(file, None, "holds no row")
    stem = re.sub(r"\W+", "_", (table or file.stem).lower()).strip("_")
    name = stem if NAME.fullmatch(stem) else f"t_{stem}"[:60]
    return TemporalTable(name, columns, tuple(rows), precision, fictional)


def write_table(table: TemporalTable, out: Path) -> None:
    """As CSV that load_table reads; the same rows give the same bytes."""
    material = table.material()
    cells = (tuple("" if cell is None else str(cell) for cell in row) for row in material.rows)
    write_csv(material.columns, cells, out)


Cells = tuple[str, ...]
_ParsedRow = tuple[int, Cells, PartialDate | None, PartialDate | None]


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


def _row(
    record: Cells, places: tuple[int, ...], line: int, defects: list[tuple[int, str]]
) -> tuple[Cells, PartialDate | None, PartialDate | None]:
    *values, start, end = (" ".join(record[place].split()) for place in places)
    if not start:
        defects.append((line, "has no start"))
    if empty := next((value for value in values if not value.isprintable()), None):
        defects.append((line, f"{empty!r} holds a control character"))
    return tuple(values), _date(start, line, defects), _date(end, line, defects)


def _date(text: str, line: int, defects: list[tuple[int, str]]) -> PartialDate | None:
    text = re.sub(r"[ T]00:00(:00(\.0+)?)?$", "", text)
    try:
        return PartialDate.parse(text) if text else None
    except ValueError as exc:
        defects.append((line, str(exc)))
        return None


def _granularity(rows: Sequence[_ParsedRow], defects: list[tuple[int, str]]) -> Granularity:
    """The one precision of all dates; rows that differ from the most frequent one are named."""
    precise = [(line, len(str(day))) for line, _, *days in rows for day in days if day]
    if not precise:
        return "day"
    lengths = [length for _, length in precise]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    names = {length: name for name, length in LENGTHS.items()}
    for line, length in precise:
        if length != usual:
            defects.append((line, f"is by {names[length]}, most rows by {names[usual]}; mixed"))
    return names[usual]


def _cut(
    line: int,
    values: Cells,
    start: PartialDate,
    end: PartialDate | None,
    granularity: Granularity,
    end_included: bool,
    defects: list[tuple[int, str]],
    too_short: list[int],
) -> TemporalRow | None:
    if min(len(str(day)) for day in (start, end) if day) < LENGTHS[granularity]:
        defects.append((line, f"is coarser than the granularity {granularity}"))
        return None
    begins = _cut_to(start, granularity)
    ends = _cut_to(end, granularity) if end else None
    if ends is not None and end_included:
        ends = next_unit(ends, granularity)
    if ends == begins and end is not None and end.first > start.first:
        too_short.append(line)
        return None
    if ends is not None and ends <= begins:
        how = "before its start" if ends < begins else "on its start, so it never held"
        defects.append((line, f"ends {how} {start}"))
        return None
    return TemporalRow(values, begins, ends, line)


def _cut_to(day: PartialDate, granularity: Granularity) -> date:
    return PartialDate.parse(str(day)[: LENGTHS[granularity]]).first


def next_unit(day: date, granularity: Granularity) -> date:
    """The first day of the next year or month, or the next day."""
    if granularity == "year":
        return date(day.year + 1, 1, 1)
    if granularity == "month":
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return date.fromordinal(day.toordinal() + 1)


def _error(file: Path, defects: Sequence[tuple[int, str]]) -> DatasetError:
    """One error for all; each defect is named by its row."""
    (line, first), *others = defects[:DEFECTS_LISTED]
    texts = [first, *(f"row {number}: {reason}" for number, reason in others)]
    if len(defects) > DEFECTS_LISTED:
        texts.append(f"and {len(defects) - DEFECTS_LISTED} more")
    return DatasetError(file, line, "; ".join(texts))
