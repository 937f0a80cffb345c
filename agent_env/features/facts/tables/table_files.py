"""Reads the rows of any table file of a user's: CSV, JSON lines, a JSON array, Parquet, SQLite,
DuckDB.

The one reader for `tdbench`, `facts`, `traveler`, `qa` and imported results. What it had to find
out (encoding, separator, the table of a database) it says in `notes`; options state it instead.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, time
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

from agent_env.sdk.commands import need_extra
from agent_env.sdk.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.sdk.records import Record, identifier, unguarded
from agent_env.sdk.run import each_of


def literal(value: str) -> str:
    """The text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


SEPARATORS = ",;\t|"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_ACCENTED = re.compile(r"(?<!\w)[0-9A-Za-z_]*+[^\x00-\x7f]\w*")
_NOT_WESTERN = re.compile("[^\x00-\x7f‘’“”–—…•€°§\u00a0-\u00bf]{3}")
"""Three accented letters in a row: hardly any western word has them, most other scripts do."""


class TableOptions(Record):
    """How a table file is to be read, where it is not found out."""

    table: str | None = None
    """Which table of a SQLite or DuckDB file; needed where it has several."""
    encoding: str | None = None
    """The file's encoding, such as cp1252 or shift_jis; default: UTF-8, else found."""
    date_format: str | None = None
    """How dates in numbers are written: day-first, month-first, or a pattern such as %d/%m/%y;
    default: found, and asked for where 01/02/1992 can mean two days."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row with its line (of JSON arrays, Parquet and databases: its number from 1)."""

    line: int
    cells: Mapping[str, Any]
    problem: str = ""
    """Why the row is not whole; "" if it is."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """The rows of a file; a row of JSON may lack some columns."""

    columns: tuple[str, ...]
    rows: tuple[FileRow, ...]
    is_text: bool = False
    """Whether all cells are texts, as in CSV."""
    notes: tuple[str, ...] = ()
    """What was found out about the file."""


def read_table_file(file: Path, options: TableOptions | None = None) -> TableFile:
    """The file's rows, blank ones aside; DatasetError names the line of what cannot be read."""
    options = options or TableOptions()
    head = _bytes(file, 16)
    is_parquet = head[:4] == b"PAR1" or file.suffix == ".parquet"
    if is_parquet or head == b"SQLite format 3\0" or head[8:12] == b"DUCK":
        return _binary(file, options.table)
    if head[:2] in (b"PK", b"\x1f\x8b"):
        raise DatasetError(file, None, "is a spreadsheet or an archive; save the table as CSV")
    text, notes = _decoded(file, _bytes(file), options.encoding)
    first = text.lstrip()[:1]
    if file.suffix in (".jsonl", ".json", ".ndjson") or (first and first in "{["):
        rows = tuple(FileRow(line, row) for line, row in json_rows(file, text))
        return TableFile(_keys(rows), rows, notes=notes)
    return _csv(file, text, notes)


def checked_rows(file: Path, source: TableFile) -> tuple[FileRow, ...]:
    """The rows; DatasetError names all that are not whole."""
    if defects := [(row.line, row.problem) for row in source.rows if row.problem]:
        raise DatasetErrors(file, defects)
    return source.rows


def cell_text(value: Any) -> str:
    """A cell as text: missing values empty, midnights as days, no white space around or doubled."""
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else " ".join(str(value).split())


def _bytes(file: Path, size: int = -1) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError as exc:
        raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc


def _keys(rows: Iterable[FileRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(key) for row in rows for key in row.cells))


# Text -------------------------------------------------------------------------------------------


def _decoded(file: Path, data: bytes, encoding: str | None) -> tuple[str, tuple[str, ...]]:
    """The file's text; one that is neither UTF-8 nor clearly western must be named."""
    if encoding is not None:
        try:
            return data.decode(encoding).removeprefix("\ufeff"), ()
        except LookupError:
            raise ConfigError(f"encoding '{encoding}' is unknown; such as cp1252, utf-16") from None
        except UnicodeDecodeError as exc:
            line = data.count(b"\n", 0, exc.start) + 1
            reason = f"byte 0x{data[exc.start]:02x} is not {encoding}; name another encoding"
            raise DatasetError(file, line, reason) from exc
    name = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    at = data.find(b"\0")
    if at == -1 or name == "utf-16":
        try:
            return data.decode(name), ()
        except UnicodeDecodeError as exc:
            at = exc.start
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            text = ""
        if text and not _NOT_WESTERN.search(text):
            word = _ACCENTED.findall(text)[0][:40]
            note = f"encoding cp1252, as it is not UTF-8 ('{word}'); encoding=NAME if not"
            return text, (note,)
    line = data.count(b"\n", 0, at) + 1
    reason = f"byte 0x{data[at]:02x} is not UTF-8; name the encoding: --option encoding=cp1250"
    raise DatasetError(file, line, reason)


def _csv(file: Path, text: str, notes: tuple[str, ...]) -> TableFile:
    separator = _separator(text)
    if separator != ",":
        notes = (*notes, f"cells separated by {'tabs' if separator == chr(9) else separator}")
    reader = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    head: tuple[str, ...] = ()
    rows: list[FileRow] = []
    begins = 1
    try:
        for record in reader:
            line, begins = begins, reader.line_num + 1
            if not any(cell.strip() for cell in record):
                continue
            cells = tuple(map(unguarded, record))
            if not head:
                head = tuple(cell.strip() for cell in cells)
                if twice := sorted({name for name in head if head.count(name) > 1 and name}):
                    raise DatasetError(file, line, f"column '{twice[0]}' appears twice")
                continue
            problem = "" if len(cells) == len(head) else _ragged(cells, head, separator)
            rows.append(FileRow(line, dict(zip(head, cells, strict=False)), problem))
    except csv.Error as exc:
        reason = f"is not CSV from here on: {exc}; check its quotes"
        raise DatasetError(file, begins, reason) from exc
    return TableFile(head, tuple(rows), is_text=True, notes=notes)


def _ragged(cells: Sequence[str], head: Sequence[str], separator: str) -> str:
    what = {",": "commas", ";": "semicolons", "\t": "tabs"}.get(separator, separator)
    return f"{len(cells)} cells under {len(head)} columns; quote cells that hold {what}"


def _separator(text: str) -> str:
    """The one that cuts the most of the first records like the header, and the header into most
    cells; a comma if none cuts it."""

    def fit(separator: str) -> tuple[float, int]:
        lines = csv.reader(StringIO(text, newline=""), delimiter=separator)
        try:
            records = [r for _, r in zip(range(20), (r for r in lines if r), strict=False)]
        except csv.Error:
            return 0.0, 0
        widths = [len(record) for record in records]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(SEPARATORS, key=fit)


def json_rows(file: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their line numbers, or with indices from 1 for an array; DatasetError names
    the file and the line of what is not a JSON object."""
    items: Iterable[tuple[int, Any]]
    if text.lstrip().startswith("["):
        items = enumerate(_parse(file, None, text), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        items = ((number, _parse(file, number, line)) for number, line in lines if line.strip())
    for number, item in items:
        if not isinstance(item, dict):
            raise DatasetError(file, number, "is not a JSON object")
        yield number, item


def _parse(file: Path, line: int | None, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, line, f"is not JSON: {exc}") from exc


# Binary files, in the worker: a small one may hold any number of rows, a view run without end --


def _binary(file: Path, table: str | None) -> TableFile:
    about, *parts = each_of("table", [file], file=str(file), table=table)
    cells = enumerate(chain.from_iterable(parts), start=1)
    rows = tuple(FileRow(number, row) for number, row in cells)
    return TableFile(tuple(about["columns"]), rows, notes=tuple(about["notes"]))


def binary_parts(file: str, table: str | None) -> Iterator[Any]:
    """In the worker: columns and notes, then the rows, some at a time; days and times as texts."""
    path = Path(file)
    head = _bytes(path, 16)
    if head == b"SQLite format 3\0":
        source = _sqlite(path, table)
    else:
        source = _duckdb(path, table) if head[8:12] == b"DUCK" else _parquet(path)
    yield {"columns": source.columns, "notes": source.notes}
    for first in range(0, len(source.rows), 1000):
        yield [
            {
                name: cell_text(cell) if isinstance(cell, date) else cell
                for name, cell in row.cells.items()
            }
            for row in source.rows[first : first + 1000]
        ]


def _parquet(file: Path) -> TableFile:
    need_extra("pyarrow", what=str(file))
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(file) as table:
            columns = tuple(table.schema_arrow.names)
            batches = table.iter_batches(10_000, use_threads=False)
            cells = chain.from_iterable(batch.to_pylist() for batch in batches)
            rows = tuple(FileRow(n, row) for n, row in enumerate(cells, start=1))
    except (OSError, ValueError) as exc:
        raise DatasetError(file, None, f"is not a Parquet file: {exc}") from exc
    return TableFile(columns, rows)


def _sqlite(file: Path, table: str | None) -> TableFile:
    names = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"  # noqa: E501
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as base:
            return _of_database(file, table, names, base.execute)
    except sqlite3.Error as exc:
        raise DatasetError(file, None, f"cannot be read: {exc}") from exc


def _duckdb(file: Path, table: str | None) -> TableFile:
    need_extra("duckdb", what=file.name)
    import duckdb

    try:
        # a view could read any file of the user's
        with duckdb.connect(str(file), True, {"enable_external_access": False}) as base:
            names = "SELECT table_name FROM information_schema.tables"
            return _of_database(file, table, names, base.execute)
    except duckdb.Error as exc:
        raise DatasetError(file, None, f"cannot be read: {str(exc).splitlines()[0]}") from exc


def _of_database(
    file: Path, table: str | None, names_query: str, execute: Callable[[str], Any]
) -> TableFile:
    names = sorted(str(name) for (name,) in execute(names_query).fetchall())
    notes: tuple[str, ...] = ()
    if table is None:
        if len(names) != 1:
            raise ConfigError(
                f"{file.name} is a database; name one of its tables by --option table=NAME: "
                f"{', '.join(names) or 'it has none'}"
            )
        (table,) = names
        notes = (f"table {table}, the only one",)
    cursor = execute(f"SELECT * FROM {identifier(table)}")
    columns = tuple(column[0] for column in cursor.description)
    records = enumerate(cursor.fetchall(), start=1)
    rows = tuple(FileRow(n, dict(zip(columns, record, strict=True))) for n, record in records)
    return TableFile(columns, rows, notes=notes)
