"""The `sql` tool: read-only SQLite over the tables that a sample brings.

Guaranteed: a query reads these tables and nothing else; it runs in the worker (`agent_env.worker`),
where its time and its memory are bounded; no more than so many rows and characters come back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent_env.errors import ToolError
from agent_env.protocols import ToolDeclaration
from agent_env.records.escaping import identifier
from agent_env.records.schema import MaterialTable, ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.tools.toolbox import parse_arguments, tool_spec
from agent_env.worker.host import WorkerFailed, worker
from agent_env.worker.sql import MOST_ROWS

DESCRIPTION = f"""\
Runs one read-only SQL query (SQLite) and gives its rows as text, {MOST_ROWS} at most. \
Dates are texts, YYYY-MM-DD, YYYY-MM or YYYY, the same within a table, so they compare in order. \
A row holds from its start up to, not including, its end; an end that is NULL has not come yet.
Tables: """


class SqlArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(description="One SELECT statement.")


class Sql:
    """One episode's tables."""

    def __init__(self, tables: Iterable[MaterialTable], cpu_s: float | None = None) -> None:
        tables = list(tables)
        self.spec = tool_spec("sql", DESCRIPTION + "; ".join(map(_schema, tables)), SqlArguments)
        self.tables = [_statements(table) for table in tables]
        self.key = hashlib.sha256(json.dumps(self.tables).encode()).hexdigest()
        self._cpu_s = cpu_s

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        request = {"key": self.key, "query": parse_arguments(SqlArguments, arguments).query}
        ask = partial(worker("sql").ask, cpu_s=self._cpu_s)
        try:
            text = await ask(request)
            if text is None:
                text = await ask({**request, "tables": self.tables})
        except WorkerFailed as exc:
            raise ToolError(f"the query {exc}; select less") from exc
        return ToolResult(output=text)


TOOL = ToolDeclaration(
    ToolTraits(name="sql", needs_table="a table whose rows have a start and an end"),
    open=lambda supplies: Sql(supplies.tables),
    reads=lambda table: table.is_temporal,
)


def _schema(table: MaterialTable) -> str:
    return f"{table.name}({', '.join(map(_name, table.columns))})"


def _statements(table: MaterialTable) -> dict[str, Any]:
    """How the table is made."""
    name, columns = identifier(table.name), [identifier(column) for column in table.columns]
    return {
        "create": f"CREATE TABLE {name} ({', '.join(columns)})",
        "insert": f"INSERT INTO {name} VALUES ({', '.join('?' for _ in columns)})",
        "rows": table.rows,
    }


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
