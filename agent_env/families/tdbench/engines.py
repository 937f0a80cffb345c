"""Runs every query on SQLite and on DuckDB and refuses a gold on which they differ."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from agent_env.errors import AgentEnvError, ConfigError
from agent_env.families.tdbench.queries import BATCH_TABLE, BOUNDS, batch_sql, key_marks
from agent_env.records.schema import MaterialTable
from agent_env.temporal.allen import Relation
from agent_env.temporal.facts.sql_text import identifier, literal

try:
    import duckdb
except ImportError as exc:
    raise ConfigError("tdbench questions need DuckDB: pip install 'agent-env[tdbench]'") from exc

Rows = tuple[tuple[Any, ...], ...]


class GoldError(AgentEnvError):
    """Two computations of one query's gold differ: a defect of this package, never of the user."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries over relations, all with the same columns."""

    table: str
    keys: tuple[str, ...]
    answers: tuple[str, ...]
    queries: tuple[tuple[Relation, tuple[str, ...], str, str], ...]
    """Relation, values of the key columns, start and end of b."""


class Engines:
    """Both engines with the same tables; a context that closes them."""

    def __init__(self, tables: Iterable[MaterialTable]) -> None:
        self._sqlite = sqlite3.connect(":memory:")
        self._duckdb = duckdb.connect(":memory:")
        self._duckdb.execute("SET threads = 1")
        for table in tables:
            self._load(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sqlite.close()
        self._duckdb.close()

    def index(self, table: str, columns: Sequence[str]) -> None:
        """Make searches by these columns fast in SQLite."""
        names = ", ".join(identifier(column) for column in columns)
        title = identifier("__" + "_".join((table, *columns)))
        self._sqlite.execute(f"CREATE INDEX IF NOT EXISTS {title} ON {identifier(table)} ({names})")

    def sqlite(self, text: str) -> Rows:
        """The query's rows."""
        return tuple(self._sqlite.execute(text).fetchall())

    def both(self, sql: dict[str, str]) -> Rows:
        """The rows of both engines; GoldError where they differ."""
        one = self.sqlite(sql["sqlite"])
        other = tuple(self._duckdb.execute(sql["duckdb"]).fetchall())
        if sorted(one, key=repr) != sorted(other, key=repr):
            raise GoldError(f"SQLite gives {one}, DuckDB {other} for {sql['sqlite']}")
        return one

    def run_batches(self, batches: Sequence[Batch]) -> list[list[Rows]]:
        """DuckDB's rows for each query of each batch; a batch is one statement."""
        width = max((len(batch.keys) for batch in batches), default=0)
        lines: list[tuple[Any, ...]] = []
        for number, batch in enumerate(batches):
            for relation, values, start, end in batch.queries:
                padded = (*values, *[""] * (width - len(values)))
                lines.append((len(lines), number, relation, *padded, start, end))
        self._fill([*key_marks([""] * width), *BOUNDS], lines)
        results: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for number, batch in enumerate(batches):
            text = batch_sql(batch.table, batch.keys, batch.answers)
            for line, *row in self._duckdb.execute(text, [number]).fetchall():
                results[line].append(tuple(row))
        numbers = iter(range(len(lines)))
        return [[tuple(results[next(numbers)]) for _ in batch.queries] for batch in batches]

    def _fill(self, names: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> None:
        kinds = ["number INTEGER", "batch INTEGER", "relation VARCHAR"]
        kinds += [f"{name} VARCHAR" for name in names]
        self._duckdb.execute(f"CREATE OR REPLACE TABLE {BATCH_TABLE} ({', '.join(kinds)})")
        if lines:
            casts = (f"unnest(?::{kind.split()[1]}[])" for kind in kinds)
            columns = [list(values) for values in zip(*lines, strict=True)]
            self._duckdb.execute(f"INSERT INTO {BATCH_TABLE} SELECT {', '.join(casts)}", columns)

    def _load(self, table: MaterialTable) -> None:
        name = identifier(table.name)
        columns = [identifier(column) for column in table.columns]
        marks = ", ".join("?" for _ in columns)
        self._sqlite.execute(f"CREATE TABLE {name} ({', '.join(f'{c} TEXT' for c in columns)})")
        self._sqlite.executemany(f"INSERT INTO {name} VALUES ({marks})", table.rows)
        self._duckdb.execute(f"CREATE TABLE {name} ({', '.join(f'{c} VARCHAR' for c in columns)})")
        for first in range(0, len(table.rows), 1000):
            lines = (
                f"({', '.join('NULL' if c is None else literal(str(c)) for c in row)})"
                for row in table.rows[first : first + 1000]
            )
            self._duckdb.execute(f"INSERT INTO {name} VALUES {', '.join(lines)}")
