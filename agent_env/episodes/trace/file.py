"""Traces: one file per episode, one event per line, appended as it happens.

Guaranteed: an event is handed to the operating system whole, in one write, before the episode goes
on, so a killed process loses nothing that was written; one process writes a trace at a time; a
line that the disk would not take whole is taken back. What a power loss takes depends on `fsync`:
with `replies` nothing that was paid for and acted upon, see docs/episodes.md.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from agent_env.episodes.calls.first_call import first_call
from agent_env.episodes.calls.spending import tokens_spent
from agent_env.episodes.trace.lines import Lines, TraceError, last_event, read_lines, seal
from agent_env.episodes.trace.texts import MissingText, Texts
from agent_env.errors import ConfigError, DatasetError, StorageError
from agent_env.records.safe_files import UnsafeFile, check_file, check_inside, read_file
from agent_env.records.schema import Episode, Message, PageRef, ToolSpec, Usage
from agent_env.records.trace_events import (
    TRACE_VERSION,
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    Judged,
    ModelCalled,
    ToolCalled,
)

Clock = Callable[[], datetime]
Fsync = Literal["replies", "all", "none"]

LONG = 400
"""Characters from which on a text stands in the run's store and not in the trace."""

PLACES = ("episodes", "interrupted", "broken")
"""Folders of traces in a run."""

RESERVE = 1024 * 1024
"""Bytes that must be free before a step, so that replies in flight find room."""

_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_refs: TypeAdapter[tuple[PageRef, ...]] = TypeAdapter(tuple[PageRef, ...])
_specs: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...])


class TraceWriter:
    """Appends events to one file; a new one, unless `reopen` is asked for."""

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
        """A writer that goes on below the last whole line, and the events so far. A torn line is
        cut off; raises TraceError for any other defect."""
        try:
            check_file(_folder_of(path), path)
            fd = os.open(path, os.O_RDWR | os.O_APPEND)
        except UnsafeFile as exc:
            raise _untouched(path, exc) from exc
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
        """Append one event of `kind`; the common fields are filled in here."""
        event = kind(
            v=TRACE_VERSION,
            kind=kind.model_fields["kind"].default,  # said, so that it is written
            episode=self._episode,
            seq=self._seq,
            at=stamp(self._clock()),
            **{name: value for name, value in fields.items() if value != ()},
        )
        if self._texts is not None:
            event = _moved_out(event, self._texts)
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
        """Come back when everything that `fsync` asks for is on the disk; called before each
        further step. The waiting is done in a thread, so other episodes go on. Raises StorageError
        where the disk is so full that what the step gives might not fit."""
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
                _sync_folder(self._path.parent)
                _sync_folder(self._path.parent.parent)
                self._is_new = False
        except OSError as exc:
            raise StorageError(f"cannot write the trace {self._path}: {exc.strerror}") from exc

    def close(self) -> None:
        """Give the file back, first synced where that is still due; further writes fail."""
        try:
            if self._unsynced:
                self._sync()
        finally:
            os.close(self._fd)


def _as_line(event: Event) -> bytes:
    """JSON of what was said; what is none, or was left to its default, is not written."""
    return event.model_dump_json(exclude_none=True, exclude_unset=True).encode()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def stamp(at: datetime) -> str:
    """The time as events have it: ISO 8601, UTC, milliseconds."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moved_out(event: Event, texts: Texts) -> Event:
    """The event with its long texts in the store; short ones stay where they are."""
    if isinstance(event, ToolCalled):
        return _call_moved_out(event, texts)
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


def _call_moved_out(event: ToolCalled, texts: Texts) -> ToolCalled:
    """The arguments stand in the reply too; so long ones, code mostly, are not written twice."""
    moved: dict[str, str] = {}
    update: dict[str, object] = {"texts": moved}
    if len(event.result.output) >= LONG:
        moved["output"] = texts.put(event.result.output)
    refs = _refs.dump_json(event.result.pages, exclude_none=True).decode()
    if len(refs) >= LONG:
        moved["pages"] = texts.put(refs)
    empty = {name: value for name, value in (("output", ""), ("pages", ())) if name in moved}
    if empty:
        update["result"] = event.result.model_copy(update=empty)
    if len(event.call.arguments) >= LONG:
        moved["arguments"] = texts.put(event.call.arguments)
        update["call"] = event.call.model_copy(update={"arguments": ""})
    return event.model_copy(update=update) if moved else event


def read_trace(path: Path, texts: Texts | None = None) -> list[Event]:
    """The events of a file, with the texts that stand in the run's store (`texts`, or the one
    beside); a torn last line is left out, any other defect is a TraceError."""
    return resolved(path, read_events(path), texts)


def read_events(path: Path) -> Lines:
    """As read_trace, but texts that stand in the run's store are left there."""
    try:
        data = read_file(_folder_of(path), path)
    except UnsafeFile as exc:
        raise _untouched(path, exc) from exc
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
    """The folder that the trace must not lead out of: its run's, by its place; for one that stands
    elsewhere, where it really stands."""
    folders = path.absolute().parents
    if len(folders) > 2 and folders[1].name in PLACES:
        return folders[2]
    return Path(os.path.realpath(path)).parent


def _untouched(path: Path, exc: UnsafeFile) -> TraceError:
    return TraceError(path, None, str(exc.strerror), Lines([], 0, 0), mendable=False)


def resolved(path: Path, lines: Lines, texts: Texts | None) -> list[Event]:
    """The events with their texts in place."""
    if not any(event.texts for event in lines.events):
        return lines.events
    store = texts or Texts.beside(path)
    events: list[Event] = []
    try:
        for number, event in enumerate(lines.events, start=1):
            try:
                events.append(_moved_in(event, store) if event.texts else event)
            except (MissingText, ValidationError) as exc:
                sound = Lines(events, 0, 0)
                raise TraceError(path, number, str(exc), sound, mendable=False) from exc
    finally:
        if texts is None:
            store.close()
    return events


def _moved_in(event: Event, texts: Texts) -> Event:
    found = {name: texts.get(digest) for name, digest in (event.texts or {}).items()}
    fields: dict[str, Any] = {"texts": None}
    if isinstance(event, ToolCalled):
        result: dict[str, Any] = {k: found[k] for k in ("output",) if k in found}
        if "pages" in found:
            result["pages"] = _refs.validate_json(found["pages"])
        fields["result"] = event.result.model_copy(update=result)
        if "arguments" in found:
            fields["call"] = event.call.model_copy(update={"arguments": found["arguments"]})
    if isinstance(event, EpisodeStarted | Judged) and "messages" in found:
        fields["messages"] = _messages.validate_json(found["messages"])
    if isinstance(event, EpisodeStarted) and "tools" in found:
        fields["tools"] = _specs.validate_json(found["tools"])
    return event.model_copy(update=fields)


def is_finished(path: Path) -> bool:
    """Whether the episode of this file came to its end; not so where it failed, was cut off, or
    the file is broken."""
    return isinstance(read_end(path), EpisodeFinished)


def read_end(path: Path) -> Event | None:
    """The episode's last event; None where there is none, or the file is broken. Checks every
    checksum, but reads that event only, and the verdicts behind it."""
    try:
        return last_event(path, read_file(_folder_of(path), path))
    except (DatasetError, OSError):
        return None


def own_events(events: Iterable[Event]) -> list[Event]:
    """The episode's events, without the verdicts that judges gave on it afterwards."""
    return [event for event in events if not isinstance(event, Judged)]


def fold(told: Sequence[Event]) -> Episode:
    """The episode that the events tell."""
    events = own_events(told)
    start = events[0] if events else None
    if not isinstance(start, EpisodeStarted):
        raise ValueError("a trace begins with episode_started")
    calls = [e for e in events if isinstance(e, ModelCalled) and e.reply is not None]
    tools = [e for e in events if isinstance(e, ToolCalled) and not gave_nothing(e)]
    spent = tokens_spent(events)
    return Episode(
        sample=start.sample,
        condition=start.condition.name,
        repeat=start.repeat,
        model=start.model,
        messages=trajectory(events),
        pages=tuple(ref for e in tools for ref in e.result.pages),
        steps=len(calls),
        tool_calls=len(tools),
        tool_errors=sum(e.result.error is not None for e in tools),
        tools=tuple(spec.name for spec in start.tools),
        hosted_calls=sum(_hosted_calls(e.reply.usage) for e in calls if e.reply is not None),
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cached_tokens=spent.cached_tokens,
        reasoning_tokens=spent.reasoning_tokens,
        failed_calls=spent.failed_calls,
        uncounted_calls=spent.uncounted_calls,
        cache_hits=spent.cache_hits,
        cut_outputs=len({n for call in calls for n in call.kept or ()}),
        paid=spent.paid,
        charged=spent.charged,
        usage_sources=spent.sources,
        duration_s=worked_s(events),
        **first_call(start, [e.reply for e in calls if e.reply is not None]),
        judged=tuple(event.told for event in told if isinstance(event, Judged)),
        **_ending(events[-1]),
    )


def _ending(last: Event) -> dict[str, Any]:
    if isinstance(last, EpisodeFinished):
        return {
            "status": "finished",
            "answer": last.answer,
            "stop_reason": last.stop_reason,
            "citations": last.citations,
        }
    if isinstance(last, EpisodeFailed):
        return {"status": "failed", "failure": f"{last.error}: {last.message}"}
    return {"status": "unfinished"}


def trajectory(events: Iterable[Event]) -> tuple[Message, ...]:
    """The messages in the order in which the model saw them."""
    messages: list[Message] = []
    results: dict[str, Message] = {}
    order: list[str] = []
    for event in events:
        if isinstance(event, EpisodeStarted):
            messages.extend(event.messages)
        elif isinstance(event, ToolCalled) and not gave_nothing(event):
            results[event.call.id] = Message(
                role="tool", tool_call_id=event.call.id, content=event.result.output
            )
        elif isinstance(event, ModelCalled) and event.reply is not None:
            messages.extend(results[i] for i in order if i in results)
            messages.extend(event.added)
            messages.append(event.reply.message)
            order, results = [call.id for call in event.reply.message.tool_calls], {}
    messages.extend(results[i] for i in order if i in results)
    return tuple(messages)


def _hosted_calls(usage: Usage) -> int:
    """Calls of the provider's tools; a container is none."""
    return sum(n for kind, n in (usage.hosted_calls or {}).items() if kind != "container")


def gave_nothing(event: ToolCalled) -> bool:
    """Whether the call failed or was cancelled, so that the model never read a result. Version 1
    does not say so; there such a call has an error and no output."""
    return event.ended is not None or (event.v == 1 and event.result.error is not None
                                       and not event.result.output)  # fmt: skip


def worked_s(events: Sequence[Event]) -> float:
    """Seconds from the first event to the last, without pauses, outages and what was judged."""
    events = own_events(events)
    at = [datetime.fromisoformat(event.at) for event in events]
    spans = (
        (after - before).total_seconds()
        for before, after, event in zip(at, at[1:], events[1:], strict=False)
        if not isinstance(event, EpisodeResumed)
    )
    away = (e.away_s or 0.0 for e in events if isinstance(e, ModelCalled))
    return max(0.0, round(sum(spans) - sum(away), 3))
