"""Traces and budget of a run whose episodes run in other processes.

A worker on any machine opens an episode, streams its events to the Coordinator and asks it before
each model call; the episode does not know where it runs. Guaranteed: a worker continues only when
what was paid for is on the disk; the limits, the concurrency and the breaker are those of the whole
run; one worker at a time has an episode, and the messages of its former workers are
refused. A lost worker costs its calls in flight: their tokens stay unknown, and their reservations
stay taken in this start.

Every method of the Coordinator is called remotely: errors are returned as values, not raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from agent_env.sdk.errors import ModelError, RunStopped, StorageError
from agent_env.sdk.inside import (
    Breaker,
    Calls,
    ConcurrencyLimit,
    Outage,
    Reservation,
    Retries,
    RunBudget,
    RunFolder,
    TraceOpener,
    error_kind,
    estimated_tokens,
    open_calls,
    utc_now,
)
from agent_env.sdk.records import Message, ModelFacts, ToolSpec, Usage
from agent_env.sdk.trace import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeKey,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    ModelCalled,
    Texts,
    ToolCalled,
    TraceWriter,
)

Reason = Literal["tokens", "cost", "time", "failures"]

KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        EpisodeStarted, ModelCalled, ToolCalled, EpisodeResumed, EpisodeFinished, EpisodeFailed
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentEvent:
    """An event to be written to a trace."""

    kind: str
    at: datetime
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EpisodeLease:
    """An episode that a worker may run."""

    lease: int
    """Names this attempt at running it; void once the episode is given to another worker."""
    events: tuple[Event, ...]
    """The events in its trace."""


@dataclass(frozen=True, slots=True)
class LimitRefusal:
    """Why a request is refused."""

    text: str
    reason: Reason | None = None
    """The run limit that was reached; None for a reason of the disk or the lease."""


@dataclass(frozen=True, slots=True)
class CallEnd:
    """How a model call ended."""

    used: Usage | None
    replied: bool
    rate_limited: bool
    held: Usage | None = None
    """Tokens that a failed call may have used, if the server did not report them."""


class _At:
    """A clock that is set by hand: events have the time at which they happened."""

    def __init__(self) -> None:
        self.now = utc_now()

    def __call__(self) -> datetime:
        return self.now


@dataclass(slots=True)
class _Lease:
    worker: str
    trace: TraceWriter
    clock: _At
    call: AsyncExitStack | None = None
    """Place and share of the model call in flight."""
    share: Reservation | None = None
    round: int = 0


@dataclass(slots=True)
class Coordinator:
    """Traces, limits and leases of one start of a run."""

    folder: RunFolder
    calls: Calls
    texts: Texts
    notes: list[str]
    """Messages to the user, in order."""
    stack: AsyncExitStack
    leases: dict[int, _Lease] = field(default_factory=dict)
    _count: int = 0
    _stopped: LimitRefusal | None = None

    @classmethod
    def of(cls, folder: RunFolder, concurrency: int) -> Coordinator:
        """The coordinator of a run's folder; the budget has what its traces spent."""
        notes, stack = list[str](), AsyncExitStack()
        calls = open_calls(folder, folder.manifest, concurrency, stack, notes.append)
        return cls(folder, calls, Texts(folder.texts), notes, stack)

    async def open(self, worker: str, key: EpisodeKey) -> EpisodeLease | LimitRefusal | None:
        """Gives the episode to this worker; None if its trace must be left alone."""
        manifest, clock = self.folder.manifest, _At()
        opener = TraceOpener(self.folder, manifest.id, clock, self.texts, self.notes.append)
        try:
            opened = opener.open(key)
        except StorageError as exc:
            return LimitRefusal(str(exc))
        if opened is None:
            return None
        trace, past = opened
        self._count += 1
        self.leases[self._count] = _Lease(worker, trace, clock)
        return EpisodeLease(self._count, past.events if past is not None else ())

    async def write(self, lease: int, events: Sequence[SentEvent]) -> LimitRefusal | None:
        """Appends the events; returns when what was paid for is on the disk."""
        entry = self.leases.get(lease)
        if entry is None:
            return LimitRefusal("the episode was given to another worker")
        try:
            for event in events:
                entry.clock.now = event.at
                entry.trace.write(KINDS[event.kind], **event.fields)
            await entry.trace.settle()
        except StorageError as exc:
            return LimitRefusal(str(exc))
        return None

    async def enter(self, lease: int, estimated: int) -> LimitRefusal | None:
        """Waits for a place among the calls in flight, and reserves the call's budget."""
        entry = self.leases.get(lease)
        if entry is None:
            return LimitRefusal("the episode was given to another worker")
        if self._stopped is not None:
            return self._stopped
        stack = AsyncExitStack()
        try:
            entry.round = await stack.enter_async_context(self.calls.pace.place())
            entry.share = await stack.enter_async_context(self.calls.budget.share_of(estimated))
        except RunStopped as exc:
            await stack.aclose()
            return LimitRefusal(str(exc), exc.reason)
        entry.call = stack
        if lease not in self.leases:  # given away while it waited
            await self._end_call(entry)
            return LimitRefusal("the episode was given to another worker")
        return None

    async def leave(self, lease: int, end: CallEnd) -> None:
        """Ends a call: its reservation is replaced by its usage."""
        entry = self.leases.get(lease)
        if entry is None or entry.share is None:
            return
        entry.share.used, entry.share.held = end.used, end.held
        if end.replied:
            self.calls.pace.succeeded()
            self.calls.breaker.succeeded()
        if end.rate_limited:
            self.calls.pace.limited(entry.round)
        await self._end_call(entry)

    async def _end_call(self, entry: _Lease) -> None:
        call, entry.call, entry.share = entry.call, None, None
        if call is not None:
            await call.aclose()

    async def failed(self, text: str, kind: Any, is_last: bool) -> None:
        """Notes a failed model call; once the breaker opens, no further call may start."""
        try:
            self.calls.breaker.note(ModelError(text, kind=kind), is_last)
        except RunStopped as exc:
            self._stopped = LimitRefusal(str(exc), exc.reason)

    async def tell(self, text: str) -> None:
        """Keeps a worker's message to the user."""
        self.notes.append(text)

    async def close(self, lease: int) -> None:
        """Ends a worker's lease of an episode."""
        entry = self.leases.pop(lease, None)
        if entry is not None:
            if entry.share is not None:  # in flight as its worker was lost
                entry.share.held = entry.share.needed
            await self._end_call(entry)
            entry.trace.close()

    async def release(self, worker: str) -> int:
        """Ends all leases of a lost worker; returns their number."""
        lost = [lease for lease, entry in self.leases.items() if entry.worker == worker]
        for lease in lost:
            await self.close(lease)
        return len(lost)

    async def state(self) -> tuple[str, list[str]]:
        """The number of calls in flight as text, and the new messages to the user."""
        notes, self.notes[:] = list(self.notes), []
        return str(self.calls.pace), notes

    async def shut(self) -> None:
        """Closes everything."""
        for lease in list(self.leases):
            await self.close(lease)
        await self.stack.aclose()
        self.texts.close()


class Post(Protocol):
    """How a Coordinator is reached."""

    async def ask(self, method: str, *arguments: Any) -> Any:
        """The method's result."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls the method without waiting for it."""


class StreamedTrace(TraceWriter):
    """A trace whose events go to the coordinator at once; `settle` waits until they are safe."""

    def __init__(self, post: Post, lease: int, is_new: bool) -> None:
        self._post = post
        self._lease = lease
        self._unsent: list[SentEvent] = []
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal: LimitRefusal | None = None
        self._written = 0 if is_new else 1

    @property
    def is_empty(self) -> bool:
        return self._written == 0

    def write(self, kind: type[Event], **fields: Any) -> None:
        self._written += 1
        self._unsent.append(SentEvent(kind.__name__, utc_now(), fields))
        task = asyncio.ensure_future(self._send())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        await self._send()
        if self._refusal is not None:
            raise StorageError(self._refusal.text)

    async def _send(self) -> None:
        async with self._sending:
            events, self._unsent = self._unsent, []
            if events and self._refusal is None:
                self._refusal = await self._post.ask("write", self._lease, events)

    def close(self) -> None:
        """Does nothing; the worker closes its lease when all is sent."""


@dataclass(slots=True)
class _Line:
    """The one model call that an episode has in flight."""

    post: Post
    lease: int
    replied: bool = False
    rate_limited: bool = False


@dataclass(slots=True)
class RemotePace(ConcurrencyLimit):
    line: _Line = field(kw_only=True)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[int]:
        yield 0  # taken together with the share

    def succeeded(self) -> None:
        self.line.replied = True

    def limited(self, round_: int) -> None:
        self.line.rate_limited = True


@dataclass(slots=True)
class RemoteBudget(RunBudget):
    """The budget of one episode; only the coordinator knows that of the run."""

    line: _Line = field(kw_only=True)

    @asynccontextmanager
    async def share(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[Reservation]:
        line = self.line
        line.replied = line.rate_limited = False
        estimated = estimated_tokens(messages, tools)
        refusal = await line.post.ask("enter", line.lease, estimated)
        if refusal is not None:
            if refusal.reason is None:
                raise StorageError(refusal.text)
            raise RunStopped(refusal.text, reason=refusal.reason)
        share = Reservation(0, 0.0, estimated)
        try:
            yield share
        finally:
            self.settle(share)
            end = CallEnd(share.used, line.replied, line.rate_limited, share.held)
            line.post.tell("leave", line.lease, end)


@dataclass(slots=True)
class RemoteBreaker(Breaker):
    line: _Line = field(kw_only=True)

    def succeeded(self) -> None:
        """Does nothing; the end of the call says it to the coordinator."""

    def note(self, error: ModelError, is_last: bool) -> None:
        self.line.post.tell("failed", str(error), error_kind(error), is_last)


def remote_calls(
    post: Post,
    lease: int,
    retries: Retries,
    facts: ModelFacts | None,
    max_output: int | None = None,
    outage: Outage | None = None,
) -> Calls:
    """The call settings of one episode; a worker's episodes share `outage`."""
    line = _Line(post, lease)
    return Calls(
        pace=RemotePace(most=1, line=line),
        retries=retries,
        budget=RemoteBudget(facts=facts, max_output=max_output, line=line),
        breaker=RemoteBreaker(line=line),
        outage=outage or Outage(),
    )
