"""A run's episodes as rows of a table: RUN/index.db, derived from the traces.

It may be deleted at any time and is then rebuilt. A trace of unchanged size and modification time
is not read again; a broken one has a row with its defect.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_events
from agent_env.errors import ConfigError, DatasetError, StorageError
from agent_env.records.safe_files import UnsafeFile, check_database, check_inside
from agent_env.records.schema import Score
from agent_env.scoring.sample_means import SampleMeans
from agent_env.tasks.sample_files import Filter
from agent_env.web.store_file import check_schema

NAME = "index.db"
VERSION = 6
BATCH = 1000
"""Traces read between two commits, so that readers see a large run grow."""

COLUMNS = (
    "episode", "condition", "sample", "repeat", "model", "status", "stop_reason", "failure",
    "steps", "tool_calls", "tool_errors", "input_tokens", "output_tokens", "duration_s", "broken",
)  # fmt: skip
CHOICES = ("condition", "model", "status", "stop_reason")
"""Those of COLUMNS with few values."""
OUTCOME = "outcome"
"""A field to filter by, from scores.jsonl."""
USED = ("steps", "input_tokens", "output_tokens", "duration_s")
SUMS = ("steps", "tool_calls", "tool_errors", "input_tokens", "output_tokens", "duration_s")
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS episodes (
    {", ".join(COLUMNS)}, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, PRIMARY KEY (episode));
CREATE TABLE IF NOT EXISTS metrics (
    episode TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (episode, name));
CREATE TABLE IF NOT EXISTS outcomes (episode TEXT PRIMARY KEY, outcome TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS means (
    condition TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (condition, name));
CREATE TABLE IF NOT EXISTS used (
    condition TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (condition, name));
CREATE TABLE IF NOT EXISTS seen (file TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER);
CREATE INDEX IF NOT EXISTS in_order ON episodes (condition, sample, repeat);
CREATE INDEX IF NOT EXISTS by_sample ON episodes (sample);
CREATE INDEX IF NOT EXISTS counted ON episodes (condition, status);
CREATE INDEX IF NOT EXISTS scored ON metrics (name, episode, value);
PRAGMA user_version = {VERSION};
"""
_TEXTS = ("episode", "condition", "sample", "model", "status", "stop_reason", "failure")


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One episode."""

    values: dict[str, Any]
    """By COLUMNS; None is unknown."""
    metrics: dict[str, float]
    """From scores.jsonl; empty if missing there."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over episodes."""

    episodes: int
    sums: dict[str, float | None]
    """By SUMS; None if all values are unknown."""
    unknown: dict[str, int]
    """Number of episodes with an unknown value, by SUMS."""
    metrics: dict[str, dict[str, float]]
    """By condition and metric: the mean over samples, as `show` has it."""


def metric_means(
    db: sqlite3.Connection, episodes: str = "", values: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """By condition and metric, the mean over samples of the scored episodes; of those that a query
    with these values gives, where there is one."""
    only = f"WHERE episode IN ({episodes})" if episodes else ""
    names = [name for (name,) in db.execute("SELECT DISTINCT name FROM metrics")]
    columns = _Means(names)
    rows = db.execute(f"SELECT episode, name, value FROM metrics {only} ORDER BY episode", values)
    for episode, group in groupby(rows, itemgetter(0)):
        sample, metrics = episode.rpartition(".")[0], {name: value for _, name, value in group}
        columns.add(sample.partition("/")[0], sample, map(metrics.get, names))
    return columns.by_condition()


def used_means(db: sqlite3.Connection) -> dict[str, dict[str, float]]:
    """By condition and quantity of USED: the mean over samples of the finished episodes, without
    quantities that one of them does not tell."""
    columns = _Means(USED)
    query = f"SELECT condition, sample, {', '.join(USED)} FROM episodes WHERE status = 'finished'"
    for condition, sample, *values in db.execute(query):
        columns.add(condition, sample, values)
    return columns.by_condition(are_known=True)


class _Means:
    """The means of these names, by condition."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._columns = names, dict[str, list[SampleMeans]]()

    def add(self, condition: str, sample: str, values: Iterable[float | None]) -> None:
        own = self._columns.setdefault(condition, [SampleMeans() for _ in self._names])
        for column, value in zip(own, values, strict=True):
            column.add(sample, value)

    def by_condition(self, are_known: bool = False) -> dict[str, dict[str, float]]:
        """`are_known`: only of what every episode tells."""
        return {
            condition: {
                name: mean
                for name, column in zip(self._names, own, strict=True)
                if (column.is_known or not are_known) and (mean := column.mean) is not None
            }
            for condition, own in self._columns.items()
        }


def _check_values(db: sqlite3.Connection) -> None:
    """sqlite3.DatabaseError where a stranger's table holds values that we never write: SQLite
    stores any value in any column."""
    tests = [f"typeof({name}) NOT IN ('text', 'null')" for name in _TEXTS]
    for name in (*SUMS, "repeat"):
        tests.append(f"typeof({name}) NOT IN ('integer', 'real', 'null') OR abs({name}) > 1e15")
        if name != "duration_s":
            tests.append(f"typeof({name}) = 'real'")
    tests.append("typeof(broken) NOT IN ('text', 'null')")
    for query in (
        f"SELECT 1 FROM episodes WHERE {' OR '.join(tests)} LIMIT 1",
        "SELECT 1 FROM metrics WHERE typeof(value) <> 'real' OR abs(value) > 1e300 "
        "OR typeof(name) <> 'text' LIMIT 1",
        "SELECT 1 FROM outcomes WHERE typeof(outcome) <> 'text' LIMIT 1",
        *(
            f"SELECT 1 FROM {table} WHERE typeof(value) <> 'real' OR abs(value) > 1e300 "
            "OR typeof(name) <> 'text' OR typeof(condition) <> 'text' LIMIT 1"
            for table in ("means", "used")
        ),
    ):
        if db.execute(query).fetchone():
            raise sqlite3.DatabaseError("it holds values of another type")


class Index:
    """The open table; `update` reads new traces into it."""

    def __init__(self, folder: RunFolder, file: Path | None = None, check: bool = True) -> None:
        """The table in the run's folder, or in `file`; `check`: its values are checked, too."""
        self._folder, self._check = folder, check
        self._file = file or folder.path / NAME
        try:
            check_database(self._file.parent, self._file)
            self._db = self._open(self._file)
        except (UnsafeFile, IsADirectoryError):  # it would lead elsewhere, or never end
            self._db = self._open(":memory:")
        except sqlite3.OperationalError:  # a folder that is only to be read
            self._db = self._open(":memory:")
        except sqlite3.DatabaseError:  # broken, or of another version: it is derived
            for end in ("", "-wal", "-shm"):
                self._file.with_name(self._file.name + end).unlink(missing_ok=True)
            self._db = self._open(self._file)

    def _open(self, where: str | Path) -> sqlite3.Connection:
        db = sqlite3.connect(where, timeout=30.0)
        db.text_factory = as_text
        version = db.execute("PRAGMA user_version").fetchone()[0]
        try:
            if version not in (0, VERSION):
                raise sqlite3.DatabaseError("another version")
            if version:
                check_schema(db, _SCHEMA)
                if self._check:
                    _check_values(db)
        except sqlite3.DatabaseError:
            db.close()
            raise
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # it can be made again
        if version == 0:  # an open table is not written to, or readers would see a change
            db.executescript(_SCHEMA)
        return db

    def close(self) -> None:
        self._db.close()

    def update(self) -> int:
        """Reads new and changed traces, and the scores; returns the number of traces read."""
        known = {
            episode: (size, mtime)
            for episode, size, mtime in self._db.execute(
                "SELECT episode, size, mtime_ns FROM episodes"
            )
        }
        run, count = self._folder.identity(), 0
        marks = ", ".join("?" * (len(COLUMNS) + 2))
        try:
            with self._db:
                for name, path, state in _files(self._folder.path / "episodes"):
                    if known.pop(name, None) != state:
                        values = dict.fromkeys(COLUMNS) | _row(self._folder, name, path, run)
                        row = (*(_storable(values[column]) for column in COLUMNS), *state)
                        self._db.execute(f"INSERT OR REPLACE INTO episodes VALUES ({marks})", row)
                        count += 1
                        if count % BATCH == 0:
                            self._db.commit()
                gone = [(name,) for name in known]
                self._db.executemany("DELETE FROM episodes WHERE episode = ?", gone)
                if count or gone:
                    self._keep("used", used_means(self._db))
                self._update_metrics()
        except sqlite3.Error as exc:
            raise StorageError(f"cannot write {self._file}: {exc}") from exc
        return count

    def _update_metrics(self) -> None:
        file = self._folder.path / "scores.jsonl"
        try:
            stat = file.stat()
        except OSError:
            for table in ("metrics", "outcomes", "means", "seen"):
                self._db.execute(f"DELETE FROM {table}")
            return
        state = (stat.st_size, stat.st_mtime_ns)
        if self._db.execute("SELECT size, mtime_ns FROM seen").fetchone() == state:
            return
        for table in ("metrics", "outcomes"):
            self._db.execute(f"DELETE FROM {table}")
        try:
            data = self._folder.read(file.name)
        except DatasetError:  # no plain file: derived, so it counts as none
            data = b""
        scores = list(_scores(data))
        metrics = ((name, *each) for name, score in scores for each in score.metrics.items())
        self._db.executemany("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)", metrics)
        outcomes = ((name, score.outcome) for name, score in scores)
        self._db.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", outcomes)
        self._keep("means", metric_means(self._db))
        self._db.execute("INSERT OR REPLACE INTO seen VALUES ('scores.jsonl', ?, ?)", state)

    def _keep(self, table: str, means: Mapping[str, Mapping[str, float]]) -> None:
        rows = [(place, *each) for place, by_name in means.items() for each in by_name.items()]
        self._db.execute(f"DELETE FROM {table}")
        self._db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)

    def lacks_scores(self) -> bool:
        """Whether a finished episode has no score in scores.jsonl: its run was stopped."""
        unscored = "episode NOT IN (SELECT episode FROM outcomes)"
        query = f"SELECT 1 FROM episodes WHERE status = 'finished' AND {unscored} LIMIT 1"
        return self._db.execute(query).fetchone() is not None

    def rows(self, filters: Sequence[Filter], limit: int | None = None) -> list[EpisodeRow]:
        """The episodes that satisfy all filters, by condition, sample, repeat."""
        where, values = self._where(filters)
        order = "ORDER BY condition, sample, repeat LIMIT ?"
        query = f"SELECT {', '.join(COLUMNS)} FROM episodes {where} {order}"
        records = self._db.execute(query, (*values, -1 if limit is None else limit)).fetchall()
        rows = [EpisodeRow(dict(zip(COLUMNS, row, strict=True)), {}) for row in records]
        metric = "SELECT name, value FROM metrics WHERE episode = ? ORDER BY rowid"
        for row in rows:
            row.metrics.update(self._db.execute(metric, (row.values["episode"],)).fetchall())
        return rows

    def totals(self, filters: Sequence[Filter]) -> Totals:
        """Sums over the episodes that satisfy all filters; no trace is read."""
        where, values = self._where(filters)
        parts = ", ".join(f"sum({name}), count(*) - count({name})" for name in SUMS)
        row = self._db.execute(f"SELECT count(*), {parts} FROM episodes {where}", values).fetchone()
        sums = dict(zip(SUMS, row[1::2], strict=True))
        unknown = {name: n for name, n in zip(SUMS, row[2::2], strict=True) if n}
        chosen = f"SELECT episode FROM episodes {where}" if where else ""
        return Totals(row[0], sums, unknown, metric_means(self._db, chosen, values))

    def check(self, filters: Sequence[Filter], known: Mapping[str, Collection[str]]) -> None:
        """ConfigError for a filter value of CHOICES that is neither in the table nor `known`."""
        for each in filters:
            if each.field not in (*CHOICES, OUTCOME):
                continue
            query = f"SELECT DISTINCT coalesce({each.field}, 'none') FROM episodes"
            if each.field == OUTCOME:
                query = "SELECT DISTINCT outcome FROM outcomes"
            present = {value for (value,) in self._db.execute(query)}
            values = [*known.get(each.field, ()), *sorted(present)]
            if wrong := next((value for value in each.values if value not in values), None):
                choices = ", ".join(dict.fromkeys(values)) or "none yet"
                raise ConfigError(f"--where: no {each.field} '{wrong}'; known: {choices}")

    def _where(self, filters: Sequence[Filter]) -> tuple[str, list[str]]:
        parts: list[str] = []
        values: list[str] = []
        metrics = {name for (name,) in self._db.execute("SELECT DISTINCT name FROM metrics")}
        for each in filters:
            marks = ", ".join("?" * len(each.values))
            if each.field in COLUMNS:
                parts.append(f"coalesce(cast({each.field} AS TEXT), 'none') IN ({marks})")
                values += each.values
            elif each.field == OUTCOME:
                parts.append(
                    f"episode IN (SELECT episode FROM outcomes WHERE outcome IN ({marks}))"
                )
                values += each.values
            elif each.field in metrics:
                parts.append(
                    "episode IN (SELECT episode FROM metrics "
                    f"WHERE name = ? AND value IN ({', '.join('?' * len(each.values))}))"
                )
                values.append(each.field)
                values += [_number(each, value) for value in each.values]  # type: ignore[misc]
            else:
                known = ", ".join([*COLUMNS, OUTCOME, *sorted(metrics)])
                raise ConfigError(f"--where: no field '{each.field}'; known: {known}")
        return (f"WHERE {' AND '.join(parts)}" if parts else ""), values


def _number(filter_: Filter, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--where: {filter_.field}={text} is not a number") from None


def _files(folder: Path) -> Iterator[tuple[str, Path, tuple[int, int]]]:
    """Every trace with its size and time of change, without opening it."""
    if not folder.is_dir():
        return
    for condition in os.scandir(folder):
        if not condition.is_dir() or not _is_inside(folder, Path(condition.path)):
            continue
        for entry in os.scandir(condition.path):
            if entry.name.endswith(".jsonl"):
                stat = entry.stat(follow_symlinks=False)
                name = f"{condition.name}/{entry.name.removesuffix('.jsonl')}"
                yield name, Path(entry.path), (stat.st_size, stat.st_mtime_ns)


def _is_inside(folder: Path, path: Path) -> bool:
    with suppress(UnsafeFile):
        check_inside(folder.parent, path)
        return True
    return False


def _storable(value: Any) -> Any:
    """None for a number of a trace that is too large for a table: nobody counted it."""
    return None if isinstance(value, int | float) and abs(value) > 1e15 else value


def as_text(data: bytes) -> str:
    """A text of a table that a stranger may have made."""
    return data.decode(errors="replace")


def _row(folder: RunFolder, name: str, path: Path, run: str | None) -> dict[str, Any]:
    condition, _, rest = name.partition("/")
    sample, _, repeat = rest.rpartition(".")
    row: dict[str, Any] = {"episode": name, "condition": condition, "sample": sample}
    row["repeat"] = int(repeat) if repeat.isdecimal() else None
    try:
        events = read_events(path).events
        problem = folder.misfit(path, run, events)
        if problem is not None or not events:
            return row | {"status": "broken" if problem else "unfinished", "broken": problem}
        episode = fold(events)
    except (DatasetError, ConfigError, StorageError, ValueError) as exc:
        return row | {"status": "broken", "broken": str(exc)}
    return row | {name: getattr(episode, name) for name in _FOLDED}


_FOLDED = ("model", "status", "stop_reason", "failure", *SUMS)


def _scores(data: bytes) -> Iterator[tuple[str, Score]]:
    for line in data.splitlines():
        with suppress(ValidationError):  # scores.jsonl is derived too; scoring again mends it
            score = Score.model_validate_json(line)
            yield f"{score.condition}/{score.sample}.{score.repeat}", score
