"""Waves: the next model calls of all episodes of a run, handed in together as batches.

An episode continues, from its trace, until a call that has no reply yet: there it waits. When every
episode waits or is over, these calls go in as batches; with the results the episodes are run again
from their traces, which hold the replies and tool results so far.

Guarantees: what a batch asks is on the disk before it is handed in, and the provider's id after it;
a batch without an id is looked for at the provider before anything is handed in again. Results are
on the disk before they are used. A call is known by the digest of its episode and request and by
how often that was answered in vain, so it is in one batch only, and a result goes to no other. A
result for an unknown call, or a second one, is counted and not used. Not covered: a provider that
lists a batch later than LISTED_S after it has got it; one that puts a reply under another's key.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Literal

from pydantic import JsonValue, ValidationError

from agent_env.features.batch.apis import EXPIRED, BatchApi, BatchResult, BatchState
from agent_env.sdk.errors import DatasetError, ModelError, StorageError
from agent_env.sdk.inside import (
    BatchWait,
    Clock,
    Endpoint,
    Json,
    Plain,
    check_inside,
    encoded,
    sync_path,
)
from agent_env.sdk.records import Stored, read_file, replace_file

LISTED_S = 5.0
"""A provider lists a batch at most so long after it has got it."""
LARGEST = 4 << 30
"""Bytes of a batch's results that are read."""
PASSING = ("connection", "timeout", "server", "rate_limit", "unreadable")
"""Errors of requests for a batch's state or results, after which they are made again."""


class BatchEvent(Stored):
    """One line of batches/journal.jsonl."""

    kind: Plain[Literal["intended", "submitted", "dropped", "ended", "used"]]
    """`dropped`: it never reached the provider. `used`: a result that was of no use, or an error,
    went to its episode; the same request again is another call."""
    at: Plain[str]
    batch: Plain[str] = ""
    """Our own id."""
    id: Plain[str] = ""
    """The provider's."""
    calls: Plain[tuple[str, ...]] = ()
    state: Plain[str] = ""
    """How it ended, in the provider's word."""
    error: Plain[JsonValue] = None
    """Why all of it was refused."""
    foreign: Plain[int] = 0
    """Results for calls that it did not have; none was used."""
    doubled: Plain[int] = 0
    """Second results; none was used."""


@dataclass(slots=True)
class OpenBatch:
    """A batch that was handed in and has not ended."""

    name: str
    """Our own id."""
    calls: tuple[str, ...]
    intended_at: datetime
    id: str = ""
    """The provider's; empty until it is known that it was handed in."""


@dataclass(slots=True)
class Waves:
    """The calls of one run that go by batch."""

    folder: Path
    """The run's."""
    run: str
    """The run's identity."""
    api: BatchApi
    tier: str | None
    """The service tier of the replies, for their price."""
    attempts: int
    """Calls for one reply; the last error is final."""
    note: Callable[[str], None]
    clock: Clock
    new: dict[str, bytes] = field(default_factory=dict)
    """The calls of this wave that are in no batch yet: their lines, by call."""
    waiting: set[str] = field(default_factory=set)
    """The calls of this wave that are in an open batch."""
    open: dict[str, OpenBatch] = field(default_factory=dict)
    """By our own id."""
    results: dict[str, BatchResult] = field(default_factory=dict)
    """By call, of batches that have ended."""
    _count: int = 0
    """Batches so far."""
    _misses: Counter[str] = field(default_factory=Counter)
    """By request: calls that were answered in vain."""
    _misses_now: Counter[str] = field(default_factory=Counter)
    """The same, of this start."""
    _open_calls: set[str] = field(default_factory=set)
    """The calls that are in open batches as the wave begins."""
    _answers: set[str] = field(default_factory=set)
    """The calls of this wave whose reply was given."""
    episode: ContextVar[str] = field(default_factory=lambda: ContextVar("episode"))
    """Which episode calls: the models between it and `post` do not say it."""

    # What the episodes see ------------------------------------------------------------------------

    async def post(self, endpoint: Endpoint, path: str, body: Json) -> Json:
        """The reply to the request, from the results; ModelError where they have an error,
        BatchWait where they have neither yet."""
        whole = f"{self.run}\0{self.episode.get()}\0{path}\0".encode() + encoded(body)
        request = sha256(whole).hexdigest()[:40]
        if f"{request}-{self._misses[request] + 1}" in self._answers:
            self._add_miss(request)  # the episode asks again: the reply was of no use
        call = f"{request}-{self._misses[request] + 1}"
        result = self.results.get(call)
        if result is None:
            if call in self._open_calls:
                self.waiting.add(call)
            else:
                self.new[call] = self.api.line(call, body)
            raise BatchWait(f"{self.episode.get()} waits for a batch")
        if result.body is not None:
            self._answers.add(call)
            return result.body if self.tier is None else {**result.body, "service_tier": self.tier}
        self._add_miss(request)
        raise self._failure(endpoint, result, body, request)

    def _add_miss(self, request: str) -> None:
        self._misses[request] += 1
        self._misses_now[request] += 1
        self._write("used", calls=(request,))

    def _failure(
        self, endpoint: Endpoint, result: BatchResult, body: Json, request: str
    ) -> ModelError:
        """The error of a call; not the server's absence, which nobody waits for here."""
        status = result.status if result.status is None or result.status < 500 else None
        error = endpoint.failures.reported(result.error, body, status)
        if self._misses_now[request] < self.attempts:
            return error
        return ModelError(f"{error} [given up after {self._misses_now[request]} batches]")

    # The waves ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Before the episodes are run again."""
        self.new.clear()
        self.waiting.clear()
        self._answers.clear()
        self._open_calls = {call for batch in self.open.values() for call in batch.calls}

    async def submit(self) -> int:
        """Hands the new calls in; returns in how many batches."""
        groups = list(self._groups())
        for calls in groups:
            self._count += 1
            name = f"ae-{self.run[:12]}-{self._count}-{token_hex(4)}"
            batch = OpenBatch(name, tuple(calls), self.clock())
            self._write("intended", batch=name, calls=batch.calls)
            self.open[name] = batch
            try:
                self._submitted(batch, await self.api.submit(name, [self.new[c] for c in calls]))
            except ModelError as exc:
                if exc.kind not in PASSING:
                    self._drop(batch)
                    raise
                self.note(f"whether a batch was handed in is not known yet: {exc}")
        self.new.clear()
        return len(groups)

    def _drop(self, batch: OpenBatch) -> None:
        self._write("dropped", batch=batch.name)
        del self.open[batch.name]

    def _groups(self) -> Iterator[list[str]]:
        """The calls, as many as one batch may have."""
        group, size = list[str](), 0
        for call, line in self.new.items():
            is_full = len(group) >= self.api.most_calls
            if group and (is_full or size + len(line) + 1 > self.api.most_bytes):
                yield group
                group, size = [], 0
            group.append(call)
            size += len(line) + 1
        if group:
            yield group

    def _submitted(self, batch: OpenBatch, id: str) -> None:
        self._write("submitted", batch=batch.name, id=id)
        batch.id = id

    async def collect(self) -> list[str]:
        """Takes the results of the batches that have ended; returns where the others stand. A
        request that fails in passing is made again the next time."""
        standing = []
        for batch in list(self.open.values()):
            try:
                if not batch.id and not await self._reached(batch):
                    continue
                state = await self.api.state(batch.id)
                if state.is_ended:
                    self._end(batch, state)
                else:
                    standing.append(f"{batch.id}: {state.word}")
            except ModelError as exc:
                if exc.kind not in PASSING:
                    raise
                standing.append(f"{batch.id or batch.name}: {exc}")
        return standing

    async def _reached(self, batch: OpenBatch) -> bool:
        """Whether it reached the provider, where the process or the connection ended before that
        was known."""
        age_s = (self.clock() - batch.intended_at).total_seconds()
        if age_s < LISTED_S:
            await asyncio.sleep(LISTED_S - max(0.0, age_s))
        id = await self.api.find(batch.name, batch.calls, batch.intended_at)
        if id is None:
            self._drop(batch)
            return False
        self._submitted(batch, id)
        return True

    def _end(self, batch: OpenBatch, state: BatchState) -> None:
        data = "\n".join([*state.lines, ""]).encode("utf-8", "surrogatepass")
        try:
            replace_file(self._file(batch.name), data, mode=0o600, sync=True)
        except OSError as exc:
            raise StorageError(f"cannot write {self._file(batch.name)}: {exc.strerror}") from exc
        foreign, doubled = self._take(batch.calls, state.lines, state.error)
        if foreign or doubled:
            self.note(
                f"batch {batch.id}: {foreign} results for calls that it did not have, {doubled} "
                "second results; none of these was used"
            )
        counts = {"foreign": foreign, "doubled": doubled}
        self._write("ended", batch=batch.name, state=state.word, error=state.error, **counts)
        del self.open[batch.name]

    def _take(
        self, calls: Sequence[str], lines: Sequence[str], error: JsonValue
    ) -> tuple[int, int]:
        """Adds the results of a batch, also of calls without one; how many were foreign and how
        many were there already."""
        ours, lacking, foreign, doubled = frozenset(calls), set(calls), 0, 0
        for line in lines:
            result = self.api.read(line)
            if result is None or result.call not in ours:
                foreign += 1
            elif result.call not in lacking:
                doubled += 1
            else:
                lacking.remove(result.call)
                self.results[result.call] = result
        if lines and lacking == ours:
            raise ModelError("no result of a batch names a call of it", kind="bad_request")
        for call in lacking:
            status = None if error is None or _may_pass(error) else 400
            self.results[call] = BatchResult(call, error=error or EXPIRED, status=status)
        return foreign, doubled

    async def cancel(self) -> None:
        """Ends the open batches, whose replies nobody needs."""
        for batch in self.open.values():
            try:
                await self.api.cancel(batch.id)
            except ModelError as exc:
                self.note(f"batch {batch.id} could not be cancelled: {exc}")

    # The journal ----------------------------------------------------------------------------------

    def read(self) -> None:
        """What earlier starts of the run handed in; DatasetError where the journal is no such
        file."""
        path = self._file("journal", ".jsonl")
        for number, event in self._events(path):
            match event.kind:
                case "intended":
                    self._count += 1
                    at = datetime.fromisoformat(event.at)
                    self.open[event.batch] = OpenBatch(event.batch, event.calls, at)
                case "used":
                    self._misses.update(event.calls)
                case _ if event.batch not in self.open:
                    raise DatasetError(path, number, f"there is no batch '{event.batch}' above")
                case "submitted":
                    self.open[event.batch].id = event.id
                case "dropped":
                    del self.open[event.batch]
                case "ended":
                    batch = self.open.pop(event.batch)
                    data = self._bytes(self._file(event.batch)).decode("utf-8", "replace")
                    lines = [line for line in data.split("\n") if line]
                    self._take(batch.calls, lines, event.error)

    def _events(self, path: Path) -> Iterator[tuple[int, BatchEvent]]:
        """Without a last line that a process which was ended has left torn."""
        data = self._bytes(path)
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            replace_file(path, whole, sync=True)
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                yield number, BatchEvent.model_validate_json(line)
            except (ValidationError, ValueError) as exc:
                raise DatasetError(path, number, "is not a line of this journal") from exc

    def _bytes(self, path: Path) -> bytes:
        try:
            return read_file(self.folder, path, LARGEST)
        except FileNotFoundError:
            return b""
        except OSError as exc:
            raise StorageError(f"cannot read {path}: {exc.strerror or exc}") from exc

    def _write(self, kind: str, **fields: object) -> None:
        fields |= {"kind": kind, "at": self.clock().isoformat()}
        event, path = BatchEvent.model_validate(fields), self._file("journal", ".jsonl")
        text = event.model_dump_json(exclude_defaults=True).encode() + b"\n"
        try:
            path.parent.mkdir(exist_ok=True)
            check_inside(self.folder, path)
            with path.open("ab", buffering=0) as file:
                file.write(text)
            if kind != "used":
                sync_path(path)
        except OSError as exc:
            raise StorageError(f"cannot write {path}: {exc.strerror}") from exc

    def _file(self, name: str, end: str = ".results.jsonl") -> Path:
        if "/" in name or name.startswith("."):
            raise DatasetError(self.folder / "batches", None, f"'{name}' is not a name of a batch")
        return self.folder / "batches" / f"{name}{end}"


def _may_pass(error: JsonValue) -> bool:
    """Whether a batch that was refused as a whole may be taken later: too much is waiting."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return "limit" in code or code == "429" or code.startswith("5")
