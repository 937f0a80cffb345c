"""The page store's file: its tables, its format version, and what is said of other files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from agent_env.errors import ConfigError, StorageError
from agent_env.records.safe_files import check_journals

APPLICATION = 0x61675077
"""Marks the file as ours (SQLite's application_id)."""
FORMAT = 2
BUSY_S = 30.0
"""How long to wait for another process that is writing."""

_TABLES = """
CREATE TABLE bodies (digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE texts (digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE fetches (
    id INTEGER PRIMARY KEY, stands INTEGER NOT NULL, asked TEXT NOT NULL, url TEXT NOT NULL,
    fetched_at TEXT NOT NULL, status INTEGER, content_type TEXT, headers TEXT,
    body TEXT REFERENCES bodies (digest), text TEXT REFERENCES texts (digest), extractor TEXT,
    title TEXT, language TEXT, published TEXT, modified TEXT, error TEXT
);
CREATE UNIQUE INDEX standing ON fetches (asked) WHERE stands;
CREATE INDEX of_url ON fetches (url);
CREATE TABLE searches (
    provider TEXT NOT NULL, query TEXT NOT NULL, most INTEGER NOT NULL, searched_at TEXT NOT NULL,
    hits TEXT, error TEXT, PRIMARY KEY (provider, query, most)
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
            _check_head(file)
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


def _check_head(file: Path) -> None:
    with file.open("rb") as opened:
        head = opened.read(16)
    if head and head != b"SQLite format 3\0":
        raise ConfigError(f"{file} is no page store: it is not an SQLite file")


def _connected(file: Path, read_only: bool) -> sqlite3.Connection:
    if str(file) == ":memory:":
        return sqlite3.connect(file)
    if read_only:
        return reading(file)
    check_journals(file)
    return sqlite3.connect(file, timeout=BUSY_S)


def reading(file: Path) -> sqlite3.Connection:
    """A connection that only reads. In a folder that takes no files SQLite reads a WAL store only
    as one that never changes."""
    address = file.resolve().as_uri() + "?mode=ro"
    connection = sqlite3.connect(address, timeout=BUSY_S, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return sqlite3.connect(address + "&immutable=1", uri=True)
    return connection


def _check_format(connection: sqlite3.Connection, file: Path, read_only: bool) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if application == APPLICATION and version == FORMAT:
        check_schema(connection, _TABLES, besides="search")
        return
    if application == APPLICATION:
        age = "an older" if version < FORMAT else "a newer"
        raise ConfigError(
            f"{file} is a page store of {age} format ({version}); this version reads {FORMAT}"
        )
    if {"bodies", "pages"} <= tables:
        raise ConfigError(
            f"{file} is a page store of an older format (1); this version reads {FORMAT}"
        )
    if tables or application or read_only:
        raise ConfigError(f"{file} is no page store: it is another program's SQLite file")
    connection.executescript(
        f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {APPLICATION};"
        f"PRAGMA user_version = {FORMAT}; COMMIT;"
    )


def check_schema(connection: sqlite3.Connection, schema: str, besides: str | None = None) -> None:
    """sqlite3.DatabaseError where the file's tables are not the wanted ones: a stranger's may hold
    views and triggers that never end. A full-text index of the name `besides` may be there."""
    own = _schema_of(schema)
    query = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
    tables = {(kind, name): sql for kind, name, sql in connection.execute(query)}
    for (kind, name), sql in tables.items():
        if own.get((kind, name)) == sql:
            continue
        is_index = kind == "table" and besides is not None and name.startswith(besides)
        if not is_index or (name == besides and " USING fts5" not in sql):
            raise sqlite3.DatabaseError(f"its {kind} {name[:40]!r} is not ours")
    if own.keys() - tables.keys():
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
