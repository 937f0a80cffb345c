"""The page store's file: its tables, its format version, and its rows as values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

from agent_env.errors import ConfigError, StorageError
from agent_env.records.pages import Hit, StatedDay
from agent_env.records.safe_files import check_journals

APPLICATION = 0x61675077
"""Marks the file as ours (SQLite's application_id)."""
FORMAT = 6
BUSY_S = 30.0
"""How long to wait for another process that is writing."""

_TABLES = """
CREATE TABLE bodies (digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE texts (digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE fetches (
    id INTEGER PRIMARY KEY, stands INTEGER NOT NULL, asked TEXT NOT NULL, url TEXT NOT NULL,
    fetched_at TEXT NOT NULL, status INTEGER, content_type TEXT, headers TEXT,
    body TEXT REFERENCES bodies (digest), text TEXT REFERENCES texts (digest), extractor TEXT,
    title TEXT, language TEXT, published TEXT, modified TEXT, error TEXT, dates TEXT, as_of TEXT,
    valid_from TEXT, held_until TEXT
);
CREATE UNIQUE INDEX standing ON fetches (asked, ifnull(as_of, '')) WHERE stands;
CREATE INDEX versions ON fetches (asked, valid_from);
CREATE INDEX of_url ON fetches (url, valid_from);
CREATE TABLE searches (
    provider TEXT NOT NULL, query TEXT NOT NULL, most INTEGER NOT NULL, searched_at TEXT NOT NULL,
    hits TEXT, error TEXT, PRIMARY KEY (provider, query, most)
) WITHOUT ROWID;
CREATE TABLE sources (
    digest TEXT NOT NULL, columns TEXT NOT NULL, name TEXT NOT NULL, documents INTEGER NOT NULL,
    pages INTEGER NOT NULL, left_out INTEGER NOT NULL, is_whole INTEGER NOT NULL,
    PRIMARY KEY (digest, columns)
) WITHOUT ROWID;
"""


def open_store(file: Path, read_only: bool = False) -> sqlite3.Connection:
    """A connection to the store, made where the file is new and may be written.

    ConfigError names a file that is missing, foreign, broken or of another format.
    """
    if read_only and not file.is_file():
        raise ConfigError(f"there is no page store {file}")
    try:
        if str(file) != ":memory:" and file.exists():
            with file.open("rb") as opened:
                head = opened.read(16)
            if head and head != b"SQLite format 3\0":
                raise ConfigError(f"{file} is not a page store: it is not an SQLite file")
        connection = _connected(file, read_only)
    except OSError as exc:
        raise StorageError(f"cannot open the page store {file}: {exc.strerror}") from exc
    except sqlite3.Error as exc:
        raise _as_error(file, exc) from exc
    try:
        _check_format(connection, file, read_only)
        if not read_only:  # a foreign file was refused before anything of it is changed
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error as exc:
        connection.close()
        raise _as_error(file, exc) from exc
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(file: Path, read_only: bool) -> sqlite3.Connection:
    if str(file) == ":memory:":
        return sqlite3.connect(file)
    if read_only:
        return reading(file)
    check_journals(file)
    return sqlite3.connect(file, timeout=BUSY_S)


_MOST_STEPS = 4_000_000_000
"""Of SQLite's machine over one connection to a stranger's file: minutes."""
_STEPS = 1_000_000


def reading(file: Path, schema: str | None = None) -> sqlite3.Connection:
    """A connection that only reads, and not without end; sqlite3.DatabaseError where the tables are
    not those of `schema`. In a folder that takes no files SQLite reads a WAL store only as one that
    never changes."""
    address = file.resolve().as_uri() + "?mode=ro"
    connection = sqlite3.connect(address, timeout=BUSY_S, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        connection = sqlite3.connect(address + "&immutable=1", uri=True)
    calls = count()
    connection.set_progress_handler(lambda: next(calls) * _STEPS > _MOST_STEPS, _STEPS)
    try:
        if schema is not None:
            check_schema(connection, schema)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection, file: Path, read_only: bool) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION:
        if version != FORMAT:
            raise ConfigError(f"{file} is a page store of format {version}; this agent-env reads "
                              f"format {FORMAT}")  # fmt: skip
        check_schema(connection, _TABLES, besides="search")
        return
    is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    if application or read_only or not is_empty:
        raise ConfigError(f"{file} is not a page store: it is another program's SQLite file")
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {APPLICATION};"
        f"PRAGMA user_version = {FORMAT}; COMMIT;"
    )


def check_schema(connection: sqlite3.Connection, schema: str, besides: str | None = None) -> None:
    """sqlite3.DatabaseError where the file's tables are not the wanted ones: a stranger's may hold
    views and triggers that never end. A full-text index of the name `besides` may be there."""
    wanted = _schema_of(schema)
    query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    tables = {(kind, name): sql for kind, name, sql in connection.execute(query)}
    for (kind, name), sql in tables.items():
        if wanted.get((kind, name)) == sql:
            continue
        is_index = kind == "table" and besides is not None and name.startswith(besides)
        if not is_index or (name == besides and " USING fts5" not in sql):
            raise sqlite3.DatabaseError(f"its {kind} {name[:40]!r} is not ours")
    if wanted.keys() - tables.keys():
        raise sqlite3.DatabaseError("a table is missing")


@cache
def _schema_of(script: str) -> dict[tuple[str, str], str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(kind, name): sql for kind, name, sql in rows}


def _as_error(file: Path, error: sqlite3.Error) -> ConfigError | StorageError:
    if isinstance(error, sqlite3.OperationalError):
        return StorageError(f"cannot open the page store {file}: {error}")
    return ConfigError(f"{file} is a broken page store: {error}")


COLUMNS = (
    "asked, url, fetched_at, status, content_type, headers, fetches.body, fetches.text, "
    "extractor, title, language, published, modified, error, dates, as_of, valid_from, held_until, "
    "stands"
)
"""Of `fetches`, in the order of Fetch's fields."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was said where a page or a search could not be had."""

    error: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """One row of the store: what an address gave, without the bytes."""

    asked: str
    url: str
    """Where redirects led."""
    fetched_at: str
    status: int | None = None
    content_type: str | None = None
    headers: str | None = None
    """JSON object."""
    digest: str | None = None
    """Of the bytes."""
    text_digest: str | None = None
    extractor: str | None = None
    title: str | None = None
    language: str | None = None
    published: str | None = None
    modified: str | None = None
    error: str | None = None
    """Why there is no page."""
    dates: str | None = None
    """JSON, as `packed_days` writes it; None where nobody looked for dates."""
    as_of: str | None = None
    """YYYY-MM-DD: the day for which a run asked; None where it asked for the page of its time."""
    valid_from: str | None = None
    """From when the version held, YYYY-MM-DDTHH:MM:SSZ, until the next one's start; None for what
    is not a version, such as a server that did not answer."""
    held_until: str | None = None
    """The latest time at which it is known to have held."""
    stands: bool = True
    """Whether this is what the address gives; else it is an earlier or another store's answer."""

    @property
    def leads_on(self) -> bool:
        """Whether the address was a redirect then, to `url`."""
        return self.error is not None and self.url != self.asked


@dataclass(frozen=True, slots=True)
class Search:
    """One stored search."""

    provider: str
    query: str
    limit: int
    searched_at: str
    hits: tuple[Hit, ...] | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder of documents that were imported, or are being."""

    digest: str
    """SHA-256 of its bytes; of a folder, over the names and bytes of its files."""
    columns: str
    """As the user named them; empty where they were recognised."""
    name: str
    documents: int = 0
    """Read so far."""
    pages: int = 0
    """Of these, stored."""
    left_out: int = 0
    is_whole: bool = False
    """Whether it was read to its end."""

    @property
    def duplicates(self) -> int:
        """Documents that the store had word for word."""
        return self.documents - self.pages - self.left_out


def as_fetch(row: tuple[Any, ...]) -> Fetch:
    """From the columns; sqlite3.DatabaseError where a stranger's file holds something else."""
    fetch = replace(Fetch(*row), stands=bool(row[-1]))
    needed, optional = row[:3], (*row[4:5], *row[6:-1])
    is_sound = all(isinstance(value, str) for value in needed)
    is_sound &= all(isinstance(value, str | None) for value in optional)
    if not is_sound or not isinstance(fetch.status, int | None):
        raise sqlite3.DatabaseError("a row of its fetches holds values of another type")
    if fetch.headers is not None and not _is_headers(fetch.headers):
        raise sqlite3.DatabaseError("a row of its fetches holds headers that are none")
    return fetch


def _is_headers(text: object) -> bool:
    """Whether it is a JSON object of texts."""
    try:
        headers = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(headers, dict) and all(isinstance(v, str) for v in headers.values())


def utc_second(text: str) -> str | None:
    """A time as rows name it, YYYY-MM-DDTHH:MM:SSZ; None for what is not a time or has no zone."""
    try:
        moment = datetime.fromisoformat(text)
        utc = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return None if moment.tzinfo is None else f"{utc:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")


def failed_fetch(asked: str, failure: Failure, at: str) -> Fetch:
    """The row of a page that could not be had."""
    return Fetch(asked, asked, at, error=failure.error)


def as_search(row: tuple[Any, ...]) -> Search:
    """From the columns of `searches`; sqlite3.DatabaseError as above."""
    provider, query, limit, at, hits, error = row
    texts = all(isinstance(value, str) for value in (provider, query, at))
    if not texts or not isinstance(limit, int) or not isinstance(error, str | None):
        raise sqlite3.DatabaseError("a row of its searches holds values of another type")
    return Search(provider, query, limit, at, None if hits is None else hits_of(hits), error)


def same_fetch(one: Fetch, other: Fetch) -> bool:
    """Whether two rows of an address tell of the same fetch."""
    fields = attrgetter(
        "url", "digest", "text_digest", "error", "fetched_at", "as_of", "valid_from"
    )
    return bool(fields(one) == fields(other))


def packed_hits(hits: Sequence[Hit]) -> str:
    rows = [hit.model_dump(include={"url", "title", "snippet", "published"}) for hit in hits]
    return json.dumps(rows, ensure_ascii=False)


def packed_days(days: Sequence[StatedDay] | None) -> str | None:
    """[day, kind, source] of each."""
    return None if days is None else json.dumps([[d.day, d.kind, d.source] for d in days])


def days_of(text: str | None) -> tuple[StatedDay, ...] | None:
    """sqlite3.DatabaseError for what `packed_days` did not write."""
    try:
        if text is None:
            return None
        return tuple(
            StatedDay(day=day, kind=kind, source=source) for day, kind, source in json.loads(text)
        )
    except (ValueError, TypeError, RecursionError):
        raise sqlite3.DatabaseError("a row of its fetches holds dates that are none") from None


def hits_of(text: object) -> tuple[Hit, ...]:
    """sqlite3.DatabaseError for what `packed_hits` did not write."""
    try:
        if isinstance(text, str):
            return tuple(Hit(**row) for row in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        pass
    raise sqlite3.DatabaseError("a row of its searches holds results that are none")
