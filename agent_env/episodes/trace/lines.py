"""Traces as files: one per episode, one line per event with a checksum, appended as it happens.

A line ends in `,"crc":"xxxxxxxx"}`: CRC-32 of the text before it, continued from the line above.
So a line that was changed, moved, doubled, removed or taken from another trace is detected.

Guaranteed: an event goes to the operating system in one write before the episode continues, so a
killed process loses no event; one process writes a trace at a time; a line that the disk takes
only in part is removed. With `sync` a power loss takes nothing that was paid for and acted
upon, see docs/episodes.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.episodes.trace.texts import MissingText, Texts, with_texts, with_texts_stored
from agent_env.errors import ConfigError, DatasetError, StorageError, first_problem
from agent_env.records.safe_files import UnsafeFile, check_file, check_inside, read_file, sync_path
from agent_env.records.texts import is_time
from agent_env.records.trace_events import (
    TRACE_VERSION,
    EpisodeFinished,
    EpisodeStarted,
    Event,
    Judged,
    ModelCalled,
    trace_event,
)

_MARK = b',"crc":"'
_SEAL = len(_MARK) + 8 + 2


class TraceError(DatasetError):
    """A defect of a trace; `sound` has the lines before it."""

    def __init__(
        self, file: Path, line: int | None, reason: str, sound: Lines, mendable: bool = True
    ):
        super().__init__(file, line, reason)
        self.sound = sound
        self.mendable = mendable
        """Whether the episode may continue from the sound events; false if the rest is of another
        version."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The sound lines at the start of a trace."""

    events: list[Event]
    size: int
    """Bytes, the last newline included; the rest is torn."""
    crc: int
    """Of the last line; 0 without lines."""


def seal(body: bytes, before: int) -> tuple[bytes, int]:
    """A JSON object as a line with its checksum, and the checksum; `before` is the last line's."""
    crc = zlib.crc32(body[:-1], before)
    return b'%b%b%08x"}\n' % (body[:-1], _MARK, crc), crc


def read_lines(path: Path, data: bytes) -> Lines:
    """The events of a trace without a torn last line; TraceError for any other defect."""
    whole = data.rstrip(b"\0")  # a power loss may leave a grown file without its content
    lines = whole.split(b"\n")[:-1]
    events: list[Event] = []
    size = crc = 0
    for number, line in enumerate(lines, start=1):
        event, crc_now, problem, mendable = _parse_line(line, crc, events)
        if event is None:
            raise TraceError(path, number, problem, Lines(events, size, crc), mendable)
        events.append(event)
        size, crc = size + len(line) + 1, crc_now
    return Lines(events, size, crc)


def _without_verdicts(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if not isinstance(event, Judged))


def _parse_line(
    line: bytes, before: int, above: list[Event]
) -> tuple[Event | None, int, str, bool]:
    """The event and its checksum; or None, the problem and whether it can be mended."""
    body, written = _unsealed(line)
    crc = zlib.crc32(body[:-1] if written else body, before)
    try:
        event: Event = trace_event.validate_json(body)
    except ValidationError as exc:
        version = _version(body)
        if version is not None and version != TRACE_VERSION:
            return None, 0, _other(version), False
        return None, 0, f"not a trace event: {first_problem(exc.errors())}", True
    if event.v != TRACE_VERSION:
        return None, 0, _other(event.v), False
    problem = _misplaced(event, above)
    if problem is None and written != b"%08x" % crc:
        problem = (
            "its checksum does not fit; a byte was changed, or the line is from another trace"
            if written
            else "its checksum is missing"
        )
    return (event, crc, "", True) if problem is None else (None, 0, problem, True)


def _unsealed(line: bytes) -> tuple[bytes, bytes]:
    """The line without its seal, and its checksum (empty for none)."""
    if line[-_SEAL:].startswith(_MARK) and line.endswith(b'"}'):
        return line[:-_SEAL] + b"}", line[-10:-2]
    return line, b""


def _misplaced(event: Event, above: list[Event]) -> str | None:
    if not is_time(event.at):
        return "not a trace event: 'at' is not a time in ISO 8601 with its offset"
    if above and event.episode != above[0].episode:
        return f"is a line of the episode {event.episode}, not of {above[0].episode}"
    if event.seq < len(above):
        return f"event {event.seq} stands where {len(above)} should; lines are doubled or moved"
    if event.seq > len(above):
        return f"event {event.seq} stands where {len(above)} should; lines are missing or moved"
    return None


def _version(body: bytes) -> int | None:
    try:
        version = json.loads(body)["v"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return version if isinstance(version, int) else None


def _other(version: int) -> str:
    return f"is of trace version {version}; this agent-env reads version {TRACE_VERSION}"


PLACES = ("episodes", "broken")
"""Folders of traces in a run."""


def read_trace(path: Path, texts: Texts | None = None) -> list[Event]:
    """The events of a file, with their texts from the run's store (`texts`, or that of the trace's
    folder); without a torn last line. TraceError for any other defect."""
    return resolved(path, read_events(path), texts)


def read_events(path: Path) -> Lines:
    """As read_trace, without the texts from the run's store."""
    try:
        data = read_file(_folder_of(path), path)
    except UnsafeFile as exc:
        raise _unsafe_trace(path, exc) from exc
    except IsADirectoryError as exc:
        raise ConfigError(
            f"{path} is a folder, no trace; agent-env episodes list {path} lists a run's episodes"
        ) from exc
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise ConfigError(f"{path} is not a trace: {exc.strerror}") from exc
    except OSError as exc:
        raise StorageError(f"cannot read the trace {path}: {exc.strerror}") from exc
    return read_lines(path, data)


def _folder_of(path: Path) -> Path:
    """The folder that the trace must not lead out of: its run's; outside of runs, its own."""
    folders = path.absolute().parents
    if len(folders) > 2 and folders[1].name in PLACES:
        return folders[2]
    return Path(os.path.realpath(path)).parent


def _unsafe_trace(path: Path, exc: UnsafeFile) -> TraceError:
    return TraceError(path, None, str(exc.strerror), Lines([], 0, 0), mendable=False)


def resolved(path: Path, lines: Lines, texts: Texts | None) -> list[Event]:
    """The events with their texts from the store."""
    if not any(event.texts for event in lines.events):
        return lines.events
    store = texts or Texts.of_trace(path)
    events: list[Event] = []
    try:
        for number, event in enumerate(lines.events, start=1):
            try:
                events.append(with_texts(event, store) if event.texts else event)
            except (MissingText, ValidationError) as exc:
                sound = Lines(events, 0, 0)
                raise TraceError(path, number, str(exc), sound, mendable=False) from exc
    finally:
        if texts is None:
            store.close()
    return events


def is_finished(path: Path) -> bool:
    """Whether the episode of this file is finished; false if it failed, was interrupted, or the
    file is broken."""
    return os.path.lexists(path) and isinstance(read_end(path), EpisodeFinished)


def read_end(path: Path) -> Event | None:
    """The episode's last event; None without events, or for a broken file. Checks every checksum,
    but parses only this event and the verdicts after it."""
    try:
        data = read_file(_folder_of(path), path)
        crc = 0
        lines = data.rstrip(b"\0").split(b"\n")[:-1]
        for line in lines:
            body, written = _unsealed(line)
            crc = zlib.crc32(body[:-1] if written else body, crc)
            if written != b"%08x" % crc:
                return next(_without_verdicts(reversed(read_lines(path, data).events)), None)
        read = (trace_event.validate_json(_unsealed(line)[0]) for line in reversed(lines))
        try:
            event = next(_without_verdicts(read), None)
        except ValidationError:  # sealed by somebody else; reading it whole says what is wrong
            event = next(_without_verdicts(reversed(read_lines(path, data).events)), None)
        return event if event is not None and event.v == TRACE_VERSION else None
    except (DatasetError, OSError):
        return None


Clock = Callable[[], datetime]

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
        sync: bool = False,
    ) -> None:
        try:
            check_inside(_folder_of(path), path)
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as exc:
            raise StorageError(f"cannot create the trace {path}: {exc.strerror}") from exc
        self._begin(path, episode, clock, texts, sync, fd)
        self._unsynced = sync
        self._is_new = True

    @classmethod
    def reopen(
        cls, path: Path, clock: Clock, texts: Texts | None = None, sync: bool = False
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
        writer._begin(path, "", clock, texts, sync, fd)
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
        self, path: Path, episode: str, clock: Clock, texts: Texts | None, sync: bool, fd: int
    ) -> None:
        self._path = path
        self._episode = episode
        self._clock = clock
        self._texts = texts
        self._syncs_replies = sync
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
        text = event.model_dump_json(exclude_none=True, exclude_unset=True)
        line, crc = seal(text.encode(), self._crc)
        try:
            data = line
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as exc:
            os.ftruncate(self._fd, self._size)
            raise StorageError(f"cannot write the trace {self._path}: {exc.strerror}") from exc
        self._seq, self._crc, self._size = self._seq + 1, crc, self._size + len(line)
        paid = isinstance(event, Judged) or (
            isinstance(event, ModelCalled) and event.reply is not None
        )
        self._unsynced |= self._syncs_replies and paid
        if isinstance(event, EpisodeStarted):
            folder = _folder_of(self._path)
            file = folder / BEGUN
            try:
                check_file(folder, file)
                with file.open("ab", buffering=0) as opened:
                    opened.write(f"{event.at} {event.episode}\n".encode("utf-8", "surrogatepass"))
            except OSError as exc:
                raise StorageError(f"cannot write {file}: {exc.strerror}") from exc

    async def settle(self) -> None:
        """Returns when what was paid for is on the disk, if that is due; called before each further
        step. Waits in a thread, so that other episodes continue. Raises StorageError if the disk
        may be too full for the step."""
        disk = os.fstatvfs(self._fd)
        if disk.f_bavail * disk.f_frsize < RESERVE:
            free_kb = disk.f_bavail * disk.f_frsize // 1024
            raise StorageError(f"cannot continue: {free_kb} kB left on the disk of {self._path}")
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


def stamp(at: datetime) -> str:
    """The time as events have it: ISO 8601, UTC, milliseconds."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_default(kind: type[Event], name: str, value: Any) -> bool:
    """Whether it is an empty tuple that need not be written: none where the default is None."""
    return value == () and (
        name not in (fields := kind.model_fields) or fields[name].default is not None
    )


BEGUN = "begun.txt"
"""The episodes that a run began, one a line with its time: one that is in it more often than
there are traces of it was begun again."""
