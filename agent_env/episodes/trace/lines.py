"""Reads traces: lines, each with a checksum, and their events.

A line ends in `,"crc":"xxxxxxxx"}`: CRC-32 of the text before it, continued from the line above.
So a line that was changed, moved, doubled, removed or taken from another trace is detected. Lines
of version 1 have no checksum and are read all the same.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent_env.episodes.trace.texts import MissingText, Texts, with_texts
from agent_env.errors import ConfigError, DatasetError, StorageError, first_problem
from agent_env.records.safe_files import UnsafeFile, read_file
from agent_env.records.schema import is_time
from agent_env.records.trace_events import (
    TRACE_VERSION,
    EpisodeFinished,
    Event,
    Judged,
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
        """Whether the episode may continue from the sound events; false if a later version of
        agent-env wrote the rest."""


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


def last_event(path: Path, data: bytes) -> Event | None:
    """The last event of a trace before the verdicts of judges. Parses only this event if all lines
    have a checksum, else the whole trace. Raises TraceError."""
    crc = 0
    lines = data.rstrip(b"\0").split(b"\n")[:-1]
    for line in lines:
        body, written = _unsealed(line)
        crc = zlib.crc32(body[:-1] if written else body, crc)
        if written != b"%08x" % crc:
            return next(_own(reversed(read_lines(path, data).events)), None)
    read = (trace_event.validate_json(_unsealed(line)[0]) for line in reversed(lines))
    try:
        event = next(_own(read), None)
    except ValidationError:  # sealed by somebody else; reading it whole says what is wrong
        event = next(_own(reversed(read_lines(path, data).events)), None)
    return event if event is not None and event.v <= TRACE_VERSION else None


def _own(events: Iterable[Event]) -> Iterator[Event]:
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
        if version is not None and version > TRACE_VERSION:
            return None, 0, _later(version), False
        return None, 0, f"not a trace event: {first_problem(exc.errors())}", True
    if event.v > TRACE_VERSION:
        return None, 0, _later(event.v), False
    problem = _misplaced(event, above)
    if problem is None and (written or event.v > 1) and written != b"%08x" % crc:
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
        return "not a trace event: 'at' is no time in ISO 8601 with its offset"
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


def _later(version: int) -> str:
    return (
        f"was written by a later agent-env (trace version {version}; this one reads up to "
        f"{TRACE_VERSION})"
    )


PLACES = ("episodes", "interrupted", "broken")
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
            f"{path} is a folder, no trace; agent-env episodes {path} lists a run's episodes"
        ) from exc
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise ConfigError(f"{path} is no trace: {exc.strerror}") from exc
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
    return isinstance(read_end(path), EpisodeFinished)


def read_end(path: Path) -> Event | None:
    """The episode's last event; None without events, or for a broken file. Checks every checksum,
    but parses only this event and the verdicts after it."""
    try:
        return last_event(path, read_file(_folder_of(path), path))
    except (DatasetError, OSError):
        return None
