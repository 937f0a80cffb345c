"""Reads the table of a run's episodes page by page, while it may grow.

Read-only: `Index.update` in another connection updates the table from the traces.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agent_env.episodes.index import COLUMNS, USED, EpisodeRow, as_text

Verdict = Literal["", "right", "wrong", "partly", "unscored"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "partly", "unscored")
IN_ORDER = "condition, sample, repeat"
SORTS = ("steps", "tool_calls", "tool_errors", "input_tokens", "output_tokens", "duration_s")


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """A selection of episodes and its order; empty fields select all."""

    condition: str = ""
    status: str = ""
    stop_reason: str = ""
    verdict: Verdict = ""
    """By the main metric: 1, 0, between, or missing."""
    sample: str = ""
    """A part of the sample's name."""
    sort: str = ""
    """A name of SORTS or of a metric, `-` before it for descending; else by condition, sample."""


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """The episodes of one condition."""

    condition: str
    counts: dict[str, int]
    """By status."""
    steps: float | None
    """Mean over the samples of the finished episodes, as `show` has it, like those below; None
    where an episode does not tell it."""
    input_tokens: float | None
    output_tokens: float | None
    duration_s: float | None
    metrics: dict[str, float]
    """Means over the samples, as `show` has them."""

    @property
    def episodes(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class RowPage:
    """A page of rows."""

    rows: list[EpisodeRow]
    total: int
    offset: int


class IndexPages:
    """The table, opened for reading. `metric` is the task's main one."""

    SORTS, VERDICTS = SORTS, VERDICTS

    def __init__(self, file: Path, metric: str) -> None:
        self._db = sqlite3.connect(file, timeout=5.0, check_same_thread=False)
        self._db.text_factory = as_text
        self._db.execute("PRAGMA query_only = ON")
        self._metric = metric

    def close(self) -> None:
        self._db.close()

    @staticmethod
    def filter_of(fields: Mapping[str, str]) -> EpisodeFilter:
        """The filter of the fields of an address; a verdict that there is not counts as none."""
        values: dict[str, Any] = {"stop_reason" if k == "stop" else k: v for k, v in fields.items()}
        if values.get("verdict") not in VERDICTS:
            values.pop("verdict", None)
        return EpisodeFilter(**values)

    @property
    def changes(self) -> int:
        """A number that differs after another connection has changed the table."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    @property
    def rows(self) -> int:
        """Number of episodes."""
        return int(self._db.execute("SELECT count(*) FROM episodes").fetchone()[0])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics of all episodes, the main one first."""
        names, last = [], ""
        while row := self._db.execute(  # a jump for each name, not a walk over all rows
            "SELECT name FROM metrics WHERE name > ? ORDER BY name LIMIT 1", (last,)
        ).fetchone():
            last = row[0]
            names.append(last)
        return tuple(sorted(names, key=lambda name: (name != self._metric, name)))

    def groups(self) -> list[ConditionSummary]:
        """Counts and means by condition."""
        counts: dict[str, dict[str, int]] = {}
        query = "SELECT condition, status, count(*) FROM episodes GROUP BY 1, 2"
        for condition, status, number in self._db.execute(query):
            counts.setdefault(condition, {})[status or "unfinished"] = number
        means, used = (self._means(table) for table in ("means", "used"))
        groups = []
        for condition, by_status in sorted(counts.items()):
            steps, into, out, took = map(used.get(condition, {}).get, USED)
            by_metric = means.get(condition, {})
            groups.append(ConditionSummary(condition, by_status, steps, into, out, took, by_metric))
        return groups

    def _means(self, table: str) -> dict[str, dict[str, float]]:
        means: dict[str, dict[str, float]] = {}
        for condition, name, mean in self._db.execute(
            f"SELECT condition, name, value FROM {table}"
        ):
            means.setdefault(condition, {})[name] = mean
        return means

    def stop_reasons(self) -> list[str]:
        """The stop reasons of all episodes."""
        query = "SELECT DISTINCT stop_reason FROM episodes WHERE stop_reason IS NOT NULL"
        return sorted(row[0] for row in self._db.execute(query))

    def span(self, filter_: EpisodeFilter, offset: int, limit: int) -> RowPage:
        """`limit` rows from `offset` on, and the total number."""
        where, values = self._where(filter_)
        total = self._db.execute(f"SELECT count(*) FROM episodes e {where}", values).fetchone()[0]
        join, order, more = self._order(filter_.sort)
        query = f"SELECT e.rowid FROM episodes e {join} {where} ORDER BY {order} LIMIT ? OFFSET ?"
        rowids = [row[0] for row in self._db.execute(query, (*more, *values, limit, offset))]
        marks = ", ".join("?" * len(rowids))
        query = f"SELECT rowid, {', '.join(COLUMNS)} FROM episodes WHERE rowid IN ({marks})"
        rows = {row[0]: row[1:] for row in self._db.execute(query, tuple(rowids))}
        return RowPage(
            self._rows([rows[rowid] for rowid in rowids if rowid in rows]), total, offset
        )

    def around(self, episode: str, filter_: EpisodeFilter) -> tuple[str | None, str | None]:
        """The episodes before and after this one by condition, sample, repeat."""
        place = self._db.execute(
            f"SELECT {IN_ORDER} FROM episodes WHERE episode = ?", (episode,)
        ).fetchone()
        if place is None:
            return None, None
        where, values = self._where(filter_)
        neighbours: list[str | None] = []
        for sign, way in (("<", "DESC"), (">", "ASC")):
            order = ", ".join(f"{name} {way}" for name in IN_ORDER.split(", "))
            query = (
                f"SELECT episode FROM episodes e {where or 'WHERE 1'} "
                f"AND ({IN_ORDER}) {sign} (?, ?, ?) ORDER BY {order} LIMIT 1"
            )
            row = self._db.execute(query, (*values, *place)).fetchone()
            neighbours.append(row[0] if row else None)
        return neighbours[0], neighbours[1]

    def of_samples(self, samples: Sequence[str]) -> dict[str, list[EpisodeRow]]:
        """All episodes of each of these samples, by condition and repeat."""
        marks = ", ".join("?" * len(samples))
        query = (
            f"SELECT {', '.join(COLUMNS)} FROM episodes WHERE sample IN ({marks}) "
            "ORDER BY sample, condition, repeat"
        )
        by_sample: dict[str, list[EpisodeRow]] = {sample: [] for sample in samples}
        for row in self._rows(self._db.execute(query, tuple(samples)).fetchall()):
            by_sample[row.values["sample"]].append(row)
        return by_sample

    def sample_names(self, part: str, offset: int, limit: int) -> tuple[list[str], int]:
        """Names of the samples that have an episode and `part` in their names, and how many."""
        where, values = ("WHERE instr(sample, ?)", [part]) if part else ("", [])
        query = f"SELECT DISTINCT sample FROM episodes {where} ORDER BY sample LIMIT ? OFFSET ?"
        names = [row[0] for row in self._db.execute(query, (*values, limit, offset))]
        count = f"SELECT count(DISTINCT sample) FROM episodes {where}"
        return names, self._db.execute(count, values).fetchone()[0]

    def _rows(self, records: Iterable[tuple[Any, ...]]) -> list[EpisodeRow]:
        rows = [EpisodeRow(dict(zip(COLUMNS, row, strict=True)), {}) for row in records]
        query = "SELECT name, value FROM metrics WHERE episode = ?"
        for row in rows:
            row.metrics.update(self._db.execute(query, (row.values["episode"],)).fetchall())
        return rows

    def _where(self, filter_: EpisodeFilter) -> tuple[str, list[Any]]:
        parts: list[str] = []
        values: list[Any] = []
        for name in ("condition", "status", "stop_reason"):
            if value := getattr(filter_, name):
                parts.append(f"e.{name} = ?")
                values.append(value)
        if filter_.sample:
            parts.append("instr(e.sample, ?)")
            values.append(filter_.sample)
        if filter_.verdict:
            score = "(SELECT value FROM metrics WHERE episode = e.episode AND name = ?)"
            parts.append(score + _TESTS[filter_.verdict])
            values.append(self._metric)
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values

    def _order(self, sort: str) -> tuple[str, str, list[str]]:
        """JOIN clause, ORDER BY clause, and the values of the former."""
        name, way = sort.removeprefix("-"), "DESC" if sort.startswith("-") else "ASC"
        in_order = ", ".join(f"e.{column}" for column in IN_ORDER.split(", "))
        if name in SORTS:
            return "", f"e.{name} {way} NULLS LAST, {in_order}", []
        if name in self.metrics:
            join = "LEFT JOIN metrics m ON m.episode = e.episode AND m.name = ?"
            return join, f"m.value {way} NULLS LAST, {in_order}", [name]
        return "", in_order, []


_TESTS: dict[Verdict, str] = {
    "right": " = 1",
    "wrong": " = 0",
    "partly": " BETWEEN 1e-9 AND 1 - 1e-9",
    "unscored": " IS NULL",
}
