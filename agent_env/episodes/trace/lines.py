"""The lines of a trace, each with a checksum.

A line ends in `,"crc":"xxxxxxxx"}`: CRC-32 of the text before it, continued from the line above.
So a line that was changed, moved, doubled, removed or taken from another trace is detected. Lines
of version 1 have no checksum and are read all the same.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from agent_env.errors import DatasetError, first_problem
from agent_env.records.trace_events import TRACE_VERSION, Event, Judged, trace_event

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


def _is_time(text: str) -> bool:
    """Whether it is a time in ISO 8601 with its offset, so that times can be subtracted."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _misplaced(event: Event, above: list[Event]) -> str | None:
    if not _is_time(event.at):
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
