"""Runs the SQL that a published set stores: read-only, in memory, with a given day as now.

Guaranteed: a statement reads the one table that it names and nothing else, and ends after
TIMEOUT_S; `'now'` and CURRENT_DATE mean the given day. Everything else is refused with a reason.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

Row = Mapping[str, str | int | float | None]
TIMEOUT_S = 5.0
_FROM = re.compile(r"\bfrom\s+[\"`\[]?([A-Za-z_]\w*)", re.I)
_READ = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
_MIDNIGHT = " 00:00:00"


class Refused(ValueError):
    """Why a statement gives no rows."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A CSV file's table: its columns and cells as text, an empty cell as None."""

    name: str
    """The file's name without its ending."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    def place(self, name: str) -> int | None:
        """Where a column of this name stands, letter case aside."""
        folded = [column.casefold() for column in self.columns]
        return folded.index(name.casefold()) if name.casefold() in folded else None


@dataclass(frozen=True, slots=True)
class Reading:
    """How a set writes its table: with midnight behind each day, and what lasts still with the day
    of its making as its end."""

    midnight: bool
    fill_end: bool


class Database:
    """The table as one reading has it, under the name that a statement gives it."""

    def __init__(self, table: Columns, name: str, reading: Reading, now: date) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._now = now
        self._until = 0.0
        _load(self._connection, table, name, reading, now)
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(self._is_late, 10_000)

    def run(self, sql: str) -> list[Row]:
        """The statement's rows; Refused says why there are none."""
        self._until = time.monotonic() + TIMEOUT_S
        try:
            cursor = self._connection.execute(_dated(sql, self._now))
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(100_000)]
        except (sqlite3.Error, sqlite3.Warning) as exc:
            late = time.monotonic() > self._until
            raise Refused(f"took over {TIMEOUT_S:g} s" if late else str(exc)) from exc

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def _is_late(self) -> int:
        return int(time.monotonic() > self._until)


@contextmanager
def opened(table: Columns, name: str, reading: Reading, now: date) -> Iterator[Database]:
    """A database that is closed at the end."""
    database = Database(table, name, reading, now)
    try:
        yield database
    finally:
        database.close()


def table_name(sql: str) -> str:
    """What the statement reads from; Refused where that cannot be told."""
    names = [match[1] for match in _FROM.finditer(sql)]
    if len(set(map(str.casefold, names))) != 1:
        raise Refused("reads several tables" if names else "reads from no table that can be told")
    return names[0]


def same_rows(one: Sequence[Row], other: Sequence[Row]) -> bool:
    """Whether both hold the same rows, order, letter case of columns and midnights aside."""
    return sorted(map(told, one)) == sorted(map(told, other))


def told(row: Row) -> str:
    """A row as one text, by column, days without their midnight."""
    cells = {name.casefold(): _plain(value) for name, value in row.items()}
    return ", ".join(f"{name}={cells[name]}" for name in sorted(cells))


def _plain(value: object) -> str:
    return "NULL" if value is None else str(value).removesuffix(_MIDNIGHT).strip()


def _dated(sql: str, now: date) -> str:
    sql = re.sub(r"'now'", f"'{now}'", sql, flags=re.I)
    return re.sub(r"\bCURRENT_(?:DATE|TIMESTAMP)\b", f"'{now}'", sql, flags=re.I)


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READ else sqlite3.SQLITE_DENY


def _load(
    connection: sqlite3.Connection, table: Columns, name: str, reading: Reading, now: date
) -> None:
    days = {table.place("start"), table.place("end")}
    end = table.place("end")

    def cell(place: int, value: str | None) -> str | None:
        if value is None and place == end and reading.fill_end:
            value = str(now)
        if value is None or place not in days:
            return value
        return iso_day(value) + (_MIDNIGHT if reading.midnight else "")

    quoted = ", ".join(_quoted(column) for column in table.columns)
    marks = ", ".join("?" * len(table.columns))
    connection.execute(f"CREATE TABLE {_quoted(name)} ({quoted})")
    connection.executemany(
        f"INSERT INTO {_quoted(name)} VALUES ({marks})",
        ([cell(place, value) for place, value in enumerate(row)] for row in table.rows),
    )
    connection.commit()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def iso_day(value: str) -> str:
    """A day for a year, a month or a day with a time: the first that it can mean."""
    plain = value.strip().removesuffix(_MIDNIGHT).removesuffix(".0")
    if re.fullmatch(r"\d{4}", plain):
        return f"{plain}-01-01"
    return f"{plain}-01" if re.fullmatch(r"\d{4}-\d{2}", plain) else plain
