"""Writes traces: one file per episode, one line per event, appended as it happens.

Guaranteed: an event goes to the operating system in one write before the episode continues, so a
killed process loses no event; one process writes a trace at a time; a line that the disk takes
only in part is removed. What a power loss takes depends on `fsync`: with `replies` nothing that was
paid for and acted upon, see docs/episodes.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from agent_env.episodes.trace.lines import _folder_of, _unsafe_trace, read_lines, resolved, seal
from agent_env.episodes.trace.texts import Texts, with_texts_stored
from agent_env.errors import StorageError
from agent_env.records.safe_files import UnsafeFile, check_file, check_inside, read_file, sync_path
from agent_env.records.trace_events import TRACE_VERSION, Event, Judged, ModelCalled

Clock = Callable[[], datetime]
Fsync = Literal["replies", "all", "none"]

RESERVE = 1024 * 1024
"""Bytes that must be free before a step, for the replies in flight."""


class TraceWriter:
    """Appends events to one file, a new one unless made by `reopen`."""

    def __init__(
        self,
        path: Path,
        episode: str,
        clock: Clock,
        texts: Texts | None = None,
        fsync: Fsync = "none",
    ) -> None:
        try:
            check_inside(_folder_of(path), path)
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as exc:
            raise StorageError(f"cannot create the trace {path}: {exc.strerror}") from exc
        self._begin(path, episode, clock, texts, fsync, fd)
        self._unsynced = fsync != "none"
        self._is_new = True

    @classmethod
    def reopen(
        cls, path: Path, clock: Clock, texts: Texts | None = None, fsync: Fsync = "none"
    ) -> tuple[TraceWriter, list[Event]]:
        """A writer that continues after the last whole line, and the events so far. Removes a torn
        line; raises TraceError for any other defect."""
        try:
            check_file(_folder_of(path), path)
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
        except UnsafeFile as exc:
            raise _unsafe_trace(path, exc) from exc
        except OSError as exc:
            raise StorageError(f"cannot open the trace {path}: {exc.strerror}") from exc
        writer = cls.__new__(cls)
        writer._begin(path, "", clock, texts, fsync, fd)
        try:
            lines = read_lines(path, read_file(_folder_of(path), path))
            os.ftruncate(fd, lines.size)
            events = resolved(path, lines, texts)
        except BaseException:
            os.close(fd)
            raise
        writer._seq, writer._crc, writer._size = len(events), lines.crc, lines.size
        writer._episode = events[0].episode if events else ""
        return writer, events

    def _begin(
        self, path: Path, episode: str, clock: Clock, texts: Texts | None, fsync: Fsync, fd: int
    ) -> None:
        self._path = path
        self._episode = episode
        self._clock = clock
        self._texts = texts
        self._fsync = fsync
        self._fd = fd
        self._seq = self._crc = self._size = 0
        self._unsynced = self._is_new = False
        self._syncing = asyncio.Lock()
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise StorageError(f"{path} is being written by another process") from None

    @property
    def is_empty(self) -> bool:
        """Whether no event has been written."""
        return self._seq == 0

    def write(self, kind: type[Event], **fields: Any) -> None:
        """Appends one event of `kind`, with the common fields."""
        event = kind(
            v=TRACE_VERSION,
            kind=kind.model_fields["kind"].default,  # set, so that it is written
            episode=self._episode,
            seq=self._seq,
            at=stamp(self._clock()),
            **{name: value for name, value in fields.items() if not _is_default(kind, name, value)},
        )
        if self._texts is not None:
            event = with_texts_stored(event, self._texts)
        line, crc = seal(_as_line(event), self._crc)
        try:
            _write_all(self._fd, line)
        except OSError as exc:
            os.ftruncate(self._fd, self._size)
            raise StorageError(f"cannot write the trace {self._path}: {exc.strerror}") from exc
        self._seq, self._crc, self._size = self._seq + 1, crc, self._size + len(line)
        paid = isinstance(event, Judged) or (
            isinstance(event, ModelCalled) and event.reply is not None
        )
        self._unsynced |= self._fsync == "all" or (self._fsync == "replies" and paid)

    async def settle(self) -> None:
        """Returns when everything that `fsync` demands is on the disk; called before each further
        step. Waits in a thread, so that other episodes continue. Raises StorageError if the disk
        may be too full for the step."""
        disk = os.fstatvfs(self._fd)
        if disk.f_bavail * disk.f_frsize < RESERVE:
            left = disk.f_bavail * disk.f_frsize // 1024
            raise StorageError(f"cannot go on: {left} kB are left on the disk of {self._path}")
        if not self._unsynced:
            return
        async with self._syncing:
            if self._unsynced:
                await asyncio.to_thread(self._sync)
                self._unsynced = False

    def _sync(self) -> None:
        try:
            if self._texts is not None:
                self._texts.sync()
            os.fsync(self._fd)
            if self._is_new:
                sync_path(self._path.parent)
                sync_path(self._path.parent.parent)
                self._is_new = False
        except OSError as exc:
            raise StorageError(f"cannot write the trace {self._path}: {exc.strerror}") from exc

    def close(self) -> None:
        """Closes the file, synced first if due; further writes fail."""
        try:
            if self._unsynced:
                self._sync()
        finally:
            os.close(self._fd)


def _as_line(event: Event) -> bytes:
    """JSON of the fields that were set and are not None."""
    return event.model_dump_json(exclude_none=True, exclude_unset=True).encode()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def stamp(at: datetime) -> str:
    """The time as events have it: ISO 8601, UTC, milliseconds."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_default(kind: type[Event], name: str, value: Any) -> bool:
    """Whether it is an empty tuple that need not be written: none where the default is None."""
    return value == () and (name not in (its := kind.model_fields) or its[name].default is not None)
