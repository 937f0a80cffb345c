"""Runs the SQL that a published set stores: read-only, in memory, with a stated day as now.

Guaranteed: a statement reads the one table that it names and nothing else, and ends after
TIMEOUT_S; `'now'` and CURRENT_DATE mean the stated day. Everything else is refused with a reason.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from agent_env.temporal.facts.sql_text import identifier

Row = Mapping[str, str | int | float | None]
TIMEOUT_S = 5.0
_FROM = re.compile(r"\bfrom\s+[\"`\[]?([A-Za-z_]\w*)", re.I)
_READ = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
_MIDNIGHT = " 00:00:00"


class StatementError(ValueError):
    """Why a statement returns no rows."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A CSV file's table: its columns and cells as text, an empty cell as None."""

    name: str
    """The file's name without its ending."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    def place(self, name: str) -> int | None:
        """The index of the column of this name, letter case aside."""
        folded = [column.casefold() for column in self.columns]
        return folded.index(name.casefold()) if name.casefold() in folded else None


@dataclass(frozen=True, slots=True)
class DateFormat:
    """How a set writes dates: with midnight behind each day, and with the day as of which it was
    made as the end of what still lasts."""

    midnight: bool
    fill_end: bool


class Database:
    """The table with its dates in one format, under the name that a statement uses."""

    def __init__(self, table: Columns, name: str, date_format: DateFormat, now: date) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._now = now
        self._until = 0.0
        _load(self._connection, table, name, date_format, now)
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(self._is_late, 10_000)

    def run(self, sql: str) -> list[Row]:
        """The statement's rows; StatementError says why there are none."""
        self._until = time.monotonic() + TIMEOUT_S
        try:
            cursor = self._connection.execute(_dated(sql, self._now))
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(100_000)]
        except (sqlite3.Error, sqlite3.Warning) as exc:
            late = time.monotonic() > self._until
            raise StatementError(f"took over {TIMEOUT_S:g} s" if late else str(exc)) from exc

    def close(self) -> None:
        """Free the memory."""
        self._connection.close()

    def _is_late(self) -> int:
        return int(time.monotonic() > self._until)


def table_name(sql: str) -> str:
    """The table that the statement reads from; StatementError where it is not one."""
    names = [match[1] for match in _FROM.finditer(sql)]
    if len(set(map(str.casefold, names))) != 1:
        raise StatementError(
            "reads several tables" if names else "reads from no table that can be told"
        )
    return names[0]


def same_rows(one: Sequence[Row], other: Sequence[Row]) -> bool:
    """Whether both hold the same rows, order, letter case of columns and midnights aside."""
    return sorted(map(row_text, one)) == sorted(map(row_text, other))


def row_text(row: Row) -> str:
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
    connection: sqlite3.Connection, table: Columns, name: str, date_format: DateFormat, now: date
) -> None:
    days = {table.place("start"), table.place("end")}
    end = table.place("end")

    def cell(place: int, value: str | None) -> str | None:
        if value is None and place == end and date_format.fill_end:
            value = str(now)
        if value is None or place not in days:
            return value
        return iso_day(value) + (_MIDNIGHT if date_format.midnight else "")

    quoted = ", ".join(identifier(column) for column in table.columns)
    marks = ", ".join("?" * len(table.columns))
    connection.execute(f"CREATE TABLE {identifier(name)} ({quoted})")
    connection.executemany(
        f"INSERT INTO {identifier(name)} VALUES ({marks})",
        ([cell(place, value) for place, value in enumerate(row)] for row in table.rows),
    )
    connection.commit()


def iso_day(value: str) -> str:
    """A day for a year, a month or a day with a time: the first that it can mean."""
    plain = value.strip().removesuffix(_MIDNIGHT).removesuffix(".0")
    if re.fullmatch(r"\d{4}", plain):
        return f"{plain}-01-01"
    return f"{plain}-01" if re.fullmatch(r"\d{4}-\d{2}", plain) else plain
