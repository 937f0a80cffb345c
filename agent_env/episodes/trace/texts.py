"""The distinct long texts of a run: RUN/texts.db.

Guaranteed: a text is stored before the trace line that names it; a killed process loses none;
several processes may write at the same time; a text that is read has the requested digest.
Not guaranteed: texts after a power loss, unless `sync` was called after `put`.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import zstandard

from agent_env.errors import StorageError
from agent_env.records.safe_files import check_database, sync_path
from agent_env.web.store_file import check_schema, reading

NAME = "texts.db"
LARGEST = 256 * 1024 * 1024
"""Bytes of one text."""
WAIT_S = 30.0
"""How long a writer waits for another process."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS texts (digest BLOB PRIMARY KEY, text BLOB NOT NULL)"


class MissingText(Exception):
    """A text that is missing or damaged in the store; the message says which."""


class Texts:
    """The store; opened at the first `get` or `put`, for writing only by `put`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._connection: sqlite3.Connection | None = None
        self._is_written = False
        self._known: set[bytes] = set()
        self._synced = 0
        """How many of the known texts are on the disk for certain."""
        self._pack = zstandard.ZstdCompressor(level=3)
        self._unpack = zstandard.ZstdDecompressor()

    @classmethod
    def beside(cls, trace: Path) -> Texts:
        """The store of the run of this trace."""
        return cls(trace.resolve().parents[2] / NAME)

    def put(self, text: str) -> str:
        """Stores the text; returns its digest (SHA-256, hexadecimal)."""
        data = text.encode("utf-8", "surrogatepass")
        key = hashlib.sha256(data).digest()
        if key not in self._known:
            try:
                with self._open() as connection:
                    connection.execute(
                        "INSERT OR IGNORE INTO texts VALUES (?, ?)",
                        (key, self._pack.compress(data)),
                    )
            except sqlite3.Error as exc:
                raise StorageError(f"cannot write {self._file}: {exc}") from exc
            self._known.add(key)
        return key.hex()

    def get(self, digest: str) -> str:
        """The text of this digest; raises MissingText."""
        try:
            key = bytes.fromhex(digest)
            row = self._read(key)
            data = self._unpacked(row[0]) if row else None
        except (ValueError, sqlite3.Error, zstandard.ZstdError) as exc:
            raise MissingText(f"text {digest[:12]}… cannot be read from {NAME}: {exc}") from exc
        if data is None:
            raise MissingText(f"text {digest[:12]}… is not in {NAME}")
        if hashlib.sha256(data).digest() != key:
            raise MissingText(f"text {digest[:12]}… was changed in {NAME}")
        return data.decode("utf-8", "surrogatepass")

    def _unpacked(self, packed: object) -> bytes:
        if not isinstance(packed, bytes):  # SQLite stores any value in any column
            raise ValueError("it is no bytes")
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= LARGEST:
            raise ValueError(f"its stated size is {size} bytes")
        data: bytes = self._unpack.decompress(packed)
        return data

    def _read(self, key: bytes) -> tuple[bytes] | None:
        if self._connection is None:
            if not self._file.exists():
                return None
            self._check()
            self._connection = reading(self._file)
            check_schema(self._connection, _SCHEMA)
        query = "SELECT text FROM texts WHERE digest = ?"
        row: tuple[bytes] | None = self._connection.execute(query, (key,)).fetchone()
        return row

    def sync(self) -> None:
        """Forces all texts to the disk. SQLite itself does so only now and then (NORMAL); the
        newest texts are in its log. Several threads may call it while texts are put."""
        if (count := len(self._known)) == self._synced:
            return
        with suppress(FileNotFoundError):
            sync_path(self._file.with_name(f"{self._file.name}-wal"))
        self._synced = max(self._synced, count)

    def _check(self) -> None:
        """MissingText if SQLite would reach outside the run through this file."""
        try:
            check_database(self._file.parent, self._file)
        except OSError as exc:
            raise MissingText(f"{NAME} cannot be opened: {exc.strerror}") from exc

    def close(self) -> None:
        """Closes the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection, self._is_written = None, False

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._is_written:
            return self._connection
        self.close()
        try:
            self._check()
        except MissingText as exc:
            raise StorageError(str(exc)) from exc
        self._connection = connection = sqlite3.connect(self._file, timeout=WAIT_S)
        _keep_log(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
        check_schema(connection, _SCHEMA)
        self._is_written = True
        return connection


def _keep_log(connection: sqlite3.Connection) -> None:
    """Switches a new store to a write-ahead log. While another process does the same, SQLite fails
    at once with "locked", whatever the timeout; so the waiting is done here."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.02)
