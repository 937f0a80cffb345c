"""The sql tool: reads, and nothing else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_env.errors import ToolError
from agent_env.records.schema import MaterialTable
from agent_env.tools.builtin.sql import MOST_ROWS, Sql

TABLE = MaterialTable(
    name="posts",
    columns=("order", "name", "start", "end"),
    rows=(("a", "O'Hara", "2001-01-01", "2003-01-01"), ("a", "B | C", "2003-01-01", None)),
)


def ask(query: str, timeout_s: float = 5.0) -> str:
    tool = Sql([TABLE], timeout_s)
    try:
        return asyncio.run(tool.run({"query": query})).output
    finally:
        tool.close()


def test_rows_come_back_as_text_under_their_columns() -> None:
    assert ask('SELECT name, "end" FROM posts ORDER BY start') == (
        "name | end\nO'Hara | 2003-01-01\nB | C | NULL"
    )
    assert ask("SELECT name FROM posts WHERE start > '2020'") == "name\n(no row)"


def test_the_description_names_tables_and_columns() -> None:
    assert 'posts("order", name, start, "end")' in Sql([TABLE]).spec.description


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM posts",
        "UPDATE posts SET name = 'x'",
        "INSERT INTO posts VALUES ('x', 'x', 'x', 'x')",
        "DROP TABLE posts",
        "CREATE TABLE t(a)",
        "CREATE TEMP TABLE t(a)",
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "VACUUM INTO '/tmp/x.db'",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; DELETE FROM posts",
        "BEGIN",
        "SELECT zeroblob(2000000000)",
        "",
        "-- nothing",
        "SELEC name FROM posts",
    ],
)
def test_everything_but_reading_is_refused_to_the_model(query: str) -> None:
    with pytest.raises(ToolError):
        ask(query)


def test_a_query_without_end_is_stopped() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(ToolError, match="too long"):
        ask(endless, timeout_s=0.2)


def test_more_rows_than_fit_are_cut_and_said() -> None:
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 999) SELECT i FROM n"
    )
    lines = ask(many).splitlines()
    assert len(lines) == MOST_ROWS + 2
    assert "more than 200 rows" in lines[-1]


def test_no_file_is_made(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="only SELECT"):
        ask(f"ATTACH DATABASE '{tmp_path}/x.db' AS x")
    assert not list(tmp_path.iterdir())
