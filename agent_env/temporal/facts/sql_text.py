"""Names and values as SQL text that SQLite and DuckDB read alike."""

from __future__ import annotations


def identifier(name: str) -> str:
    """The name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """The text in single quotes."""
    return "'" + value.replace("'", "''") + "'"
