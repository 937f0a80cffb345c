"""Runs every query on SQLite and on DuckDB and refuses a gold on which they differ."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from agent_env.errors import AgentEnvError, ConfigError
from agent_env.families.tdbench.queries import ASKED, asked_names, batch, literal
from agent_env.records.schema import MaterialTable
from agent_env.temporal.allen import Relation

try:
    import duckdb
except ImportError as exc:
    raise ConfigError("tdbench questions need DuckDB: pip install 'agent-env[tdbench]'") from exc

Rows = tuple[tuple[Any, ...], ...]


class GoldError(AgentEnvError):
    """Two ways to the gold of one query differ: a defect of this package, never of the user."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries over relations, all with the same attributes."""

    table: str
    asked: tuple[str, ...]
    answers: tuple[str, ...]
    queries: tuple[tuple[Relation, tuple[str, ...], str, str], ...]
    """Relation, asked values, start and end of b."""


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
        names = ", ".join(_name(column) for column in columns)
        title = _name("__" + "_".join((table, *columns)))
        self._sqlite.execute(f"CREATE INDEX IF NOT EXISTS {title} ON {_name(table)} ({names})")

    def sqlite(self, text: str) -> Rows:
        """What the query gives."""
        return tuple(self._sqlite.execute(text).fetchall())

    def both(self, sql: dict[str, str]) -> Rows:
        """What both give; GoldError where they differ."""
        one = self.sqlite(sql["sqlite"])
        other = tuple(self._duckdb.execute(sql["duckdb"]).fetchall())
        if sorted(one, key=repr) != sorted(other, key=repr):
            raise GoldError(f"SQLite gives {one}, DuckDB {other} for {sql['sqlite']}")
        return one

    def batches(self, wanted: Sequence[Batch]) -> list[list[Rows]]:
        """What DuckDB gives for each query of each batch, all queries of a batch at once."""
        width = max((len(one.asked) for one in wanted), default=0)
        lines: list[tuple[Any, ...]] = []
        for number, one in enumerate(wanted):
            for relation, values, start, end in one.queries:
                padded = (*values, *[""] * (width - len(values)))
                lines.append((len(lines), number, relation, *padded, start, end))
        self._fill([*asked_names([""] * width), "b_start", "b_end"], lines)
        found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for number, one in enumerate(wanted):
            text = batch(one.table, one.asked, one.answers)
            for line, *row in self._duckdb.execute(text, [number]).fetchall():
                found[line].append(tuple(row))
        numbers = iter(range(len(lines)))
        return [[tuple(found[next(numbers)]) for _ in one.queries] for one in wanted]

    def _fill(self, texts: Sequence[str], lines: Sequence[tuple[Any, ...]]) -> None:
        kinds = ["number INTEGER", "batch INTEGER", "relation VARCHAR"]
        kinds += [f"{name} VARCHAR" for name in texts]
        self._duckdb.execute(f"CREATE OR REPLACE TABLE {ASKED} ({', '.join(kinds)})")
        if lines:
            casts = (f"unnest(?::{kind.split()[1]}[])" for kind in kinds)
            columns = [list(values) for values in zip(*lines, strict=True)]
            self._duckdb.execute(f"INSERT INTO {ASKED} SELECT {', '.join(casts)}", columns)

    def _load(self, table: MaterialTable) -> None:
        names = ", ".join(f"{_name(column)} VARCHAR" for column in table.columns)
        self._sqlite.execute(
            f"CREATE TABLE {_name(table.name)} ({names.replace('VARCHAR', 'TEXT')})"
        )
        self._duckdb.execute(f"CREATE TABLE {_name(table.name)} ({names})")
        marks = ", ".join("?" for _ in table.columns)
        self._sqlite.executemany(f"INSERT INTO {_name(table.name)} VALUES ({marks})", table.rows)
        for first in range(0, len(table.rows), 1000):
            lines = (
                f"({', '.join('NULL' if c is None else literal(str(c)) for c in row)})"
                for row in table.rows[first : first + 1000]
            )
            self._duckdb.execute(f"INSERT INTO {_name(table.name)} VALUES {', '.join(lines)}")


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
