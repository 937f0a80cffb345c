"""The `sql` tool: read-only SQLite over the tables that a sample brings.

Guaranteed: each episode has a database of its own in memory, which no statement can change; only
reading is authorized, so nothing is attached, created, written or loaded and no file is touched; a
statement ends after a time and after a number of steps of SQLite's machine, a text or blob has a
longest length, and no more than so many rows and characters come back. Not guaranteed: a bound on
the memory that sorting takes within those steps.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent_env.errors import ToolError
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import MaterialTable, ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.temporal.facts.sql_text import identifier
from agent_env.temporal.facts.table_pages import is_temporal
from agent_env.tools.toolbox import parse_arguments, tool_spec

MOST_ROWS = 200
MOST_CHARACTERS = 20_000
LONGEST_VALUE = 1_000_000
"""Bytes of one text or blob within SQLite."""
TIMEOUT_S = 5.0
STEPS_A_CHECK = 10_000
MOST_CHECKS = 3_000
"""Thirty million steps of SQLite's machine; a scan of 100,000 rows takes less than two."""

DESCRIPTION = f"""\
Runs one read-only SQL query (SQLite) and gives its rows as text, {MOST_ROWS} at most. \
Dates are texts, YYYY-MM-DD, YYYY-MM or YYYY, the same within a table, so they compare in order. \
A row holds from its start up to, not including, its end; an end that is NULL has not come yet.
Tables: """

READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
    }
)
UNSAFE = frozenset(
    {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "zeroblob", "randomblob"}
)


class SqlArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="One SELECT statement.")


class Sql:
    """One episode's database; `close` frees it."""

    def __init__(self, tables: Iterable[MaterialTable], timeout_s: float = TIMEOUT_S) -> None:
        own = list(tables)
        self.spec = tool_spec("sql", DESCRIPTION + "; ".join(map(_schema, own)), SqlArguments)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._base = sqlite3.connect(":memory:", check_same_thread=False)
        for table in own:
            _load(self._base, table)
        self._base.execute("PRAGMA query_only = ON")
        self._base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._base.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200)
        self._base.set_authorizer(_authorize)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        request = parse_arguments(SqlArguments, arguments)
        return ToolResult(output=await asyncio.to_thread(self._run, request.query))

    def close(self) -> None:
        """Free the database; a query that runs still is stopped."""
        self._base.interrupt()
        with self._lock:
            self._base.close()

    def _run(self, query: str) -> str:
        with self._lock:
            watch = _Watch(time.monotonic() + self._timeout_s)
            self._base.set_progress_handler(watch.check, STEPS_A_CHECK)
            try:
                cursor = self._base.execute(query)
                rows = cursor.fetchmany(MOST_ROWS + 1)
                names = [column[0] for column in cursor.description or ()]
                cursor.close()
            except sqlite3.Error as exc:
                raise ToolError(watch.reason or _reason(exc)) from exc
            except sqlite3.Warning as exc:
                raise ToolError(_reason(exc)) from exc
            finally:
                self._base.set_progress_handler(None, 0)
        if not names:
            raise ToolError("there is no query in this; write one SELECT statement")
        return _table_text(names, rows)


TOOL = ToolDeclaration(
    ToolTraits(name="sql", needs_table="a table whose rows have a start and an end"),
    open=lambda supplies: Sql(supplies.tables),
    reads=is_temporal,
)


class _Watch:
    """Stops a statement that takes too long."""

    def __init__(self, until: float) -> None:
        self._until, self._checks = until, 0
        self.reason: str | None = None

    def check(self) -> int:
        self._checks += 1
        if self._checks > MOST_CHECKS or time.monotonic() > self._until:
            self.reason = "the query took too long and was stopped; ask for less"
            return 1
        return 0


def _authorize(action: int, one: str | None, two: str | None, *_: str | None) -> int:
    """Reading and harmless functions; everything else is denied."""
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (two or "").lower() in UNSAFE else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _reason(exc: Exception) -> str:
    text = str(exc)
    if "not authorized" in text or "prohibited" in text:
        return f"{text}: only SELECT over the listed tables is allowed"
    if "one statement" in text:
        return "send one statement at a time"
    return f"SQLite says: {text}"


def _table_text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The rows, one a line, below the columns' names; what was cut is said."""
    lines = [" | ".join(names)]
    size = len(lines[0])
    for row in rows[:MOST_ROWS]:
        line = " | ".join(map(_cell, row))
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            return "\n".join([*lines, f"(cut at {MOST_CHARACTERS:,} characters; ask for less)"])
        lines.append(line)
    if len(rows) > MOST_ROWS:
        lines.append(f"(there are more than {MOST_ROWS} rows; these are the first)")
    elif not rows:
        lines.append("(no row)")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"a blob of {len(value)} bytes"
    return " ".join(str(value).split())


def _schema(table: MaterialTable) -> str:
    return f"{table.name}({', '.join(map(_name, table.columns))})"


def _load(base: sqlite3.Connection, table: MaterialTable) -> None:
    quoted = [identifier(column) for column in table.columns]
    base.execute(f"CREATE TABLE {identifier(table.name)} ({', '.join(quoted)})")
    marks = ", ".join("?" for _ in quoted)
    base.executemany(f"INSERT INTO {identifier(table.name)} VALUES ({marks})", table.rows)
    base.commit()


def _name(column: str) -> str:
    """As a query has to write it: quoted where it is a keyword or no plain word."""
    plain = column.isidentifier() and column.isascii() and column.lower() not in KEYWORDS
    return column if plain else identifier(column)


KEYWORDS = frozenset(
    """all alter and as between by case check collate commit constraint create cross current_date
    current_time current_timestamp default delete desc distinct drop else end escape except exists
    filter foreign from full group having in index inner insert intersect into is join left like
    limit natural not null on or order outer over primary references right select set table then to
    transaction union unique update using values when where with""".split()
)
