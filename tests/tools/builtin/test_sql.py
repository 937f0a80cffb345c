"""The sql tool: reads, and nothing else."""

import asyncio
import resource

import pytest

from agent_env.errors import ToolError
from agent_env.records.schema import MaterialTable
from agent_env.tools.builtin.sql import MOST_ROWS, Sql

TABLE = MaterialTable(
    name="posts",
    columns=("order", "name", "start", "end"),
    rows=(("a", "O'Hara", "2001-01-01", "2003-01-01"), ("a", "B | C", "2003-01-01", None)),
)


def ask(query, cpu_s=None):
    return asyncio.run(Sql([TABLE], cpu_s).run({"query": query})).output


RECURSIVE = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n{}) SELECT {} FROM n"
MANY = RECURSIVE.format(" LIMIT 999", "i")
ENDLESS = RECURSIVE.format("", "max(i)")


def test_rows_come_back_as_text_under_their_columns_and_too_many_are_cut():
    rows = "name | end\nO'Hara | 2003-01-01\nB | C | NULL"
    assert ask('SELECT name, "end" FROM posts ORDER BY start') == rows
    assert ask("SELECT name FROM posts WHERE start > '2020'") == "name\n(no rows)"
    lines = ask(MANY).splitlines()
    assert len(lines) == MOST_ROWS + 2
    assert "more than 200 rows" in lines[-1]


REFUSED = """DELETE FROM posts
UPDATE posts SET name = 'x'
INSERT INTO posts VALUES ('x', 'x', 'x', 'x')
DROP TABLE posts
CREATE TABLE t(a)
CREATE TEMP TABLE t(a)
ATTACH DATABASE '/tmp/x.db' AS x
VACUUM INTO '/tmp/x.db'
PRAGMA query_only = OFF
PRAGMA writable_schema = ON
SELECT load_extension('/tmp/x.so')
SELECT readfile('/etc/passwd')
SELECT 1; DELETE FROM posts
BEGIN
SELECT zeroblob(2000000000)
SELECT hex(fts3_tokenizer('simple'))
-- nothing
SELEC name FROM posts""".splitlines()


@pytest.mark.parametrize("query", [*REFUSED, "SELECT '\ud800'", ""])
def test_everything_but_reading_is_refused_to_the_model(query):
    with pytest.raises(ToolError):
        ask(query)


def test_a_query_without_end_is_stopped_and_the_next_is_answered():
    with pytest.raises(ToolError, match=r"the query took more than 0.1 s of CPU time; select les"):
        ask(ENDLESS, cpu_s=0.1)
    assert ask("SELECT 1 AS one") == "one\n1"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT hex(zeroblob(400000000))",
        "SELECT replace(printf('%99999s', ''), ' ', printf('%99999s', ''))",
    ],
)
def test_a_query_that_fills_the_memory_fails_and_the_next_is_answered(query):
    with pytest.raises(ToolError, match="the query took more than 256 MB of memory; select less"):
        ask(query)
    assert ask("SELECT 1 AS one") == "one\n1"


def test_wide_rows_of_long_texts_cost_this_process_nothing():
    """A SELECT of 1,234 characters once took 4.2 GB here."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wide = ", ".join(f"printf('%999999s', {n}) AS c{n}" for n in range(25))
    assert ask(RECURSIVE.format(" LIMIT 3", wide)).count("24") == 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB


async def test_other_episodes_are_answered_beside_queries_without_end():
    queries = [ENDLESS] * 6 + ["SELECT count(*) AS n FROM posts"] * 6
    calls = (Sql([TABLE], cpu_s=0.1).run({"query": query}) for query in queries)
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each).__name__ for each in results] == ["ToolError"] * 6 + ["ToolResult"] * 6
