"""The distinct long texts of a run (RUN/texts.db), and moving those of events there and back.

Guaranteed: a text is stored before the trace line that names it; a killed process loses none;
several processes may write at the same time; a text that is read has the requested digest.
Not guaranteed: texts after a power loss, unless `sync` was called after `put`.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import zstandard
from pydantic import TypeAdapter

from agent_env.errors import StorageError
from agent_env.records.safe_files import check_database, make_private, sync_path
from agent_env.records.schema import Message, PageRef, ToolSpec
from agent_env.records.trace_events import (
    EpisodeStarted,
    Event,
    Judged,
    ToolCalled,
)
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
    def of_trace(cls, trace: Path) -> Texts:
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

    def items(self) -> Iterator[tuple[str, str]]:
        """All sound texts with their digests, in the order of these."""
        with suppress(MissingText, ValueError, sqlite3.Error):
            self._read(b"")  # opens and checks it, where there is one
        query = "SELECT digest FROM texts ORDER BY digest"
        for (key,) in self._connection.execute(query) if self._connection else ():
            with suppress(MissingText, AttributeError):
                yield key.hex(), self.get(key.hex())

    def _unpacked(self, packed: object) -> bytes:
        if not isinstance(packed, bytes):  # SQLite stores any value in any column
            raise ValueError("it is not bytes")
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
            self._connection = reading(self._file, _SCHEMA)
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
        make_private(self._file)
        connection = sqlite3.connect(self._file, timeout=WAIT_S)
        try:
            _keep_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_SCHEMA)
            check_schema(connection, _SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        self._connection, self._is_written = connection, True
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


LONG = 400
"""Minimum characters of a text in the run's store instead of the trace."""

_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_refs: TypeAdapter[tuple[PageRef, ...]] = TypeAdapter(tuple[PageRef, ...])
_specs: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...])


def with_texts_stored(event: Event, texts: Texts) -> Event:
    """The event with its long texts in the store instead."""
    if isinstance(event, ToolCalled):
        return _with_call_stored(event, texts)
    if not isinstance(event, EpisodeStarted | Judged):
        return event
    moved: dict[str, str] = {}
    dumps = {"messages": _messages.dump_json(event.messages, exclude_none=True).decode()}
    if isinstance(event, EpisodeStarted):
        dumps["tools"] = _specs.dump_json(event.tools, exclude_none=True).decode()
    for name, text in dumps.items():
        if len(text) >= LONG:
            moved[name] = texts.put(text)
    return event.model_copy(update=dict.fromkeys(moved, ()) | {"texts": moved}) if moved else event


def _with_call_stored(event: ToolCalled, texts: Texts) -> ToolCalled:
    """Long arguments, mostly code, are in the reply too; so they are not written twice."""
    moved: dict[str, str] = {}
    update: dict[str, object] = {"texts": moved}
    short: dict[str, object] = {}
    result = event.result
    if len(result.output) >= LONG:
        moved["output"], short["output"] = texts.put(result.output), ""
    refs = _refs.dump_json(result.pages, exclude_none=True).decode()
    if len(refs) >= LONG:
        moved["pages"], short["pages"] = texts.put(refs), ()
    if (fault := result.fault) is not None and len(fault.true_output or "") >= LONG:
        moved["true_output"] = texts.put(fault.true_output or "")
        short["fault"] = fault.model_copy(update={"true_output": ""})
    if short:
        update["result"] = result.model_copy(update=short)
    if len(event.call.arguments) >= LONG:
        moved["arguments"] = texts.put(event.call.arguments)
        update["call"] = event.call.model_copy(update={"arguments": ""})
    return event.model_copy(update=update) if moved else event


def with_texts(event: Event, texts: Texts) -> Event:
    by_field = {name: texts.get(digest) for name, digest in (event.texts or {}).items()}
    fields: dict[str, Any] = {"texts": None}
    if isinstance(event, ToolCalled):
        result: dict[str, Any] = {k: by_field[k] for k in ("output",) if k in by_field}
        if "pages" in by_field:
            result["pages"] = _refs.validate_json(by_field["pages"])
        if "true_output" in by_field and event.result.fault is not None:
            fault = {"true_output": by_field["true_output"]}
            result["fault"] = event.result.fault.model_copy(update=fault)
        fields["result"] = event.result.model_copy(update=result)
        if "arguments" in by_field:
            fields["call"] = event.call.model_copy(update={"arguments": by_field["arguments"]})
    if isinstance(event, EpisodeStarted | Judged) and "messages" in by_field:
        fields["messages"] = _messages.validate_json(by_field["messages"])
    if isinstance(event, EpisodeStarted) and "tools" in by_field:
        fields["tools"] = _specs.validate_json(by_field["tools"])
    return event.model_copy(update=fields)
