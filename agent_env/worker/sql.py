"""SQLite, read-only, over tables that a call brings or that an earlier call brought.

Guaranteed: a query reads these tables and nothing else; what it may take is bounded by the process.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from agent_env.errors import ToolError

MOST_ROWS = 200
MOST_CHARACTERS = 20_000
KEPT = 8
"""Databases that are kept for further calls."""

READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_FUNCTION,
    }
)
UNSAFE = frozenset({"load_extension", "fts3_tokenizer"})
"""Functions that load code, or tell addresses."""
_BASES: OrderedDict[str, sqlite3.Connection] = OrderedDict()


def select(key: str, query: str, tables: list[dict[str, Any]] | None = None) -> str | None:
    """The rows as text; ToolError with SQLite's reason. None where nothing is kept under this key
    and no tables come along: each with the statements `create` and `insert`, and its rows."""
    if tables is not None:
        # Later calls see the same tables: no statement can change them
        base = sqlite3.connect(":memory:")
        for table in tables:
            base.execute(table["create"])
            base.executemany(table["insert"], table["rows"])
        base.commit()
        base.execute("PRAGMA temp_store = MEMORY")
        base.execute("PRAGMA query_only = ON")
        base.set_authorizer(_authorize)
        _BASES[key] = base
        while len(_BASES) > KEPT:
            _BASES.popitem(last=False)[1].close()
    if key not in _BASES:
        return None
    _BASES.move_to_end(key)
    try:
        cursor = _BASES[key].execute(query)
        try:
            names = [column[0] for column in cursor.description or ()]
            if not names:
                raise ToolError("the query is empty; write one SELECT statement")
            return _table_text(names, cursor)
        finally:
            cursor.close()
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as exc:
        raise ToolError(_reason(exc)) from exc


def _authorize(action: int, one: str | None, two: str | None, *_: str | None) -> int:
    is_reading = action in READING and (two or "").lower() not in UNSAFE
    return sqlite3.SQLITE_OK if is_reading else sqlite3.SQLITE_DENY


def _reason(exc: Exception) -> str:
    text = str(exc)
    if "not authorized" in text or "prohibited" in text:
        return f"{text}: only SELECT over the listed tables is allowed"
    if "one statement" in text:
        return "send one statement at a time"
    if isinstance(exc, UnicodeEncodeError):
        return "the query has half of a surrogate pair in it"
    return f"SQLite says: {text}"


def _table_text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The rows, one a line, below the columns' names; what was cut is said."""
    lines = [" | ".join(names)]
    size = len(lines[0])
    for row in rows:
        if len(lines) > MOST_ROWS:
            lines.append(f"(more than {MOST_ROWS} rows; only the first are shown)")
            break
        line = " | ".join(map(_cell, row))
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            lines.append(f"(cut at {MOST_CHARACTERS:,} characters; select less)")
            break
        lines.append(line)
    return "\n".join(lines if len(lines) > 1 else [*lines, "(no rows)"])


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"a blob of {len(value)} bytes"
    return " ".join(str(value).split())
