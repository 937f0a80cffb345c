"""Runs the SQL that a published set stores: read-only, in memory, on its tables as they were then.

Guaranteed: a statement reads the tables of its folder and nothing else, and ends after TIMEOUT_S;
`'now'` and CURRENT_DATE mean a stated day. SQLite itself says which tables a statement reads, so
neither a quoted value with `from` in it nor a second name for a table misleads. Everything else is
refused with a reason.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_env.sdk.records import identifier

Cell = str | int | float | None
Row = Mapping[str, Cell]
TIMEOUT_S = 5.0
TOO_LATE = "took too long"
MAX_NAMES = 6
"""Names of tables in one statement."""
FAR_DAY = "2262-04-11"
"""The last day of a 64-bit time stamp: what pandas writes for an end that is far away."""
MISSING = frozenset({"", "nan", "nat", "none", "null", "<na>"})
"""What a cell without a value may hold, in any letter case."""
_NO_TABLE = re.compile(r"no such table: (?:main\.)?(.+)")
_NOW = re.compile(
    r"(\b(?:date|datetime|time|julianday|unixepoch)\s*\(\s*|\bstrftime\s*\([^()]{0,60},\s*)'now'",
    re.I,
)
_READ = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
MIDNIGHT = " 00:00:00"
_MONTH = re.compile(r"\d{4}-\d{2}")


class StatementError(ValueError):
    """Why a statement returns no rows."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A CSV file's table: its columns and cells as text; a cell without a value is None."""

    name: str
    """The file's name without its ending."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    def place(self, name: str) -> int | None:
        """The index of the column of this name, letter case aside."""
        folded = [column.casefold() for column in self.columns]
        return folded.index(name.casefold()) if name.casefold() in folded else None

    def days(self, *names: str) -> Iterator[str]:
        """The dates of these columns; of those that there are."""
        for place in map(self.place, names):
            if place is not None:
                yield from (cell for row in self.rows if (cell := row[place]) is not None)


def is_missing(cell: str) -> bool:
    """Whether a cell holds no value."""
    return cell.strip().casefold() in MISSING


Dates = Literal["midnight", "day", "written"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a set's database held its tables when the statements ran."""

    dates: Dates
    """Days with midnight behind them, days, or the cells as they are."""
    open_end: str | None
    """What stood for an end without a value: None for NULL, else this text."""
    now: str | None = None
    """YYYY-MM-DD: the day of making; None where it is not known."""

    @property
    def words(self) -> str:
        dates = {"midnight": "days with midnight", "day": "days", "written": "dates as written"}
        end = "NULL" if self.open_end is None else f"'{self.open_end}'"
        made = f", made on {self.now}" if self.now else ""
        return f"{dates[self.dates]}, open ends {end}{made}"


class Database:
    """A folder's tables under one reading, for statements about one of them."""

    def __init__(self, table: Columns, named: Mapping[str, Columns], reading: Reading) -> None:
        """`named`: all tables by `plain_name`; any other name in a statement means `table`. With no
        `named`, the database is for statements that read one table, under whatever name."""
        self._connection = sqlite3.connect(":memory:", cached_statements=0)
        self._table, self._named, self._reading = table, named, reading
        self._until = 0.0
        self._own: set[str] = set()
        self._read: set[str] = set()
        self._connection.set_authorizer(self._authorize)
        self._connection.set_progress_handler(self._is_late, 10_000)

    def run(self, sql: str) -> list[Row]:
        """The statement's rows; StatementError says why there are none."""
        for _ in range(MAX_NAMES + 1):
            try:
                rows = self._select(sql)
            except StatementError as exc:
                missing = _NO_TABLE.fullmatch(str(exc))
                if missing is None:
                    raise
                self._load(missing[1])
            else:
                own = self._read & self._own
                if not own:
                    raise StatementError(f"no such column: it does not read {self._table.name}")
                if not self._named and len(own) > 1:
                    raise StatementError("reads several tables")
                return rows
        raise StatementError(f"reads more than {MAX_NAMES} tables")

    def close(self) -> None:
        """Free the memory."""
        self._connection.close()

    def _select(self, sql: str) -> list[Row]:
        self._until = time.monotonic() + TIMEOUT_S
        self._read = set()
        try:
            cursor = self._connection.execute(_dated(sql, self._reading.now))
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(100_000)]
        except (sqlite3.Error, sqlite3.Warning) as exc:
            late = time.monotonic() > self._until
            raise StatementError(TOO_LATE if late else str(exc)) from exc

    def _load(self, name: str) -> None:
        """The table of this name; where no file has it, this database's own under it."""
        table = self._named.get(plain_name(name), self._table)
        if plain_name(self._table.name) == plain_name(name):
            table = self._table  # of several files of one name
        if table is self._table:
            self._own.add(name.casefold())
        self._connection.set_authorizer(None)
        try:
            _create(self._connection, table, name, self._reading)
        except sqlite3.Error as exc:
            raise StatementError(str(exc)) from exc
        finally:
            self._connection.set_authorizer(self._authorize)

    def _authorize(self, action: int, table: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ and table:
            self._read.add(table.casefold())
        return sqlite3.SQLITE_OK if action in _READ else sqlite3.SQLITE_DENY

    def _is_late(self) -> int:
        return int(time.monotonic() > self._until)


def may_join(sql: str) -> bool:
    """Whether a statement could read several tables; false only where it cannot."""
    sources = sql.casefold().partition("from")[2]
    return any(mark in sources for mark in ("from", "join", ","))


def plain_name(name: str) -> str:
    """A table's name for comparing: letters and digits."""
    return re.sub(r"[\W_]+", "", name.casefold())


def same_rows(rows: Sequence[Row], stored: Sequence[Row], reading: Reading) -> bool:
    """Whether both hold the same rows: order, repetitions, letter case of columns, midnights and
    the ways to write that something lasts aside."""
    return row_texts(rows, reading) == row_texts(stored, reading)


def row_texts(rows: Sequence[Row], reading: Reading) -> set[str]:
    """Each row as one text, by column, days without their midnight."""
    plain = ({n.casefold(): _plain(n, v, reading) for n, v in row.items()} for row in rows)
    return {", ".join(f"{name}={cells[name]}" for name in sorted(cells)) for cells in plain}


def _plain(name: str, value: object, reading: Reading) -> str:
    text = "" if value is None else str(value).removesuffix(MIDNIGHT).strip()
    lasting = name.casefold() == "end" and is_open(text, reading)
    return "NULL" if is_missing(text) or text == FAR_DAY or lasting else text


def is_open(end: str | None, reading: Reading) -> bool:
    """Whether an end in a row of a statement means that the row still lasts."""
    if end is None or is_missing(end):
        return True
    text = end.removesuffix(MIDNIGHT).strip()
    return text in (FAR_DAY, (reading.open_end or FAR_DAY).removesuffix(MIDNIGHT))


def _dated(sql: str, now: str | None) -> str:
    if now is None:
        return sql
    sql = _NOW.sub(lambda match: f"{match[1]}'{now}'", sql)
    return re.sub(r"\bCURRENT_(?:DATE|TIMESTAMP)\b", f"'{now}'", sql, flags=re.I)


def needs_now(sql: str) -> bool:
    """Whether the statement compares with the day on which it runs."""
    return _dated(sql, "1000-01-01") != sql


def _create(connection: sqlite3.Connection, table: Columns, name: str, reading: Reading) -> None:
    start, end = table.place("start"), table.place("end")

    def cell(place: int, value: str | None) -> str | None:
        if value is None:
            return reading.open_end if place == end else None
        if place not in (start, end) or reading.dates == "written":
            return value
        return iso_day(value) + (MIDNIGHT if reading.dates == "midnight" else "")

    kinds = (
        "TEXT" if place in (start, end) and reading.dates != "written" else _kind(table, place)
        for place in range(len(table.columns))
    )
    heads = (f"{identifier(c)} {kind}" for c, kind in zip(table.columns, kinds, strict=True))
    marks = ", ".join("?" * len(table.columns))
    connection.execute(f"CREATE TABLE {identifier(name)} ({', '.join(heads)})")
    connection.executemany(
        f"INSERT INTO {identifier(name)} VALUES ({marks})",
        ([cell(place, value) for place, value in enumerate(row)] for row in table.rows),
    )
    connection.commit()


def _kind(table: Columns, place: int) -> str:
    """A column of whole numbers compares with numbers and with their texts, as in a database that
    was filled from a data frame."""
    cells = [row[place] for row in table.rows if row[place] is not None]
    numbers = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", cell or "") for cell in cells)
    return "INTEGER" if cells and numbers else "TEXT"


def iso_day(value: str) -> str:
    """A day for a year, a month or a day with a time: the first that it can mean."""
    plain = value.strip().removesuffix(MIDNIGHT).removesuffix(".0")
    if len(plain) == 4 and plain.isdecimal():
        return f"{plain}-01-01"
    return f"{plain}-01" if len(plain) == 7 and _MONTH.fullmatch(plain) else plain
