"""The one place through which episodes that run elsewhere write their traces and spend.

A worker, on whatever machine, opens an episode, streams its events here and asks here before each
model call. Guaranteed: a worker goes on only when what it sent stands in the trace as `fsync` asks;
the limits, the pace and the breaker are those of the whole run; an episode is one worker's at a
time, and what a worker says whose episode was given away is refused. A worker that is lost costs
the calls it had in flight: their tokens stay unknown, and their shares stay taken in this start.

Every method is called from afar: what goes wrong comes back as a value, not as an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from agent_env.episodes.again.resume import TraceOpener
from agent_env.episodes.calls.budget import Share
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.options import open_calls
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.texts import Texts
from agent_env.episodes.trace.writer import TraceWriter
from agent_env.errors import ModelError, RunStopped, StorageError
from agent_env.records.schema import Usage
from agent_env.records.trace_events import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    ModelCalled,
    ToolCalled,
)

Reason = Literal["tokens", "cost", "time", "failures"]

KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        EpisodeStarted, ModelCalled, ToolCalled, EpisodeResumed, EpisodeFinished, EpisodeFailed
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """One event on its way to its trace."""

    kind: str
    at: datetime
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """An episode that a worker may run."""

    lease: int
    """Names this attempt at running it; void once the episode is given to another worker."""
    events: tuple[Event, ...]
    """What its trace holds already."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something cannot be."""

    text: str
    reason: Reason | None = None
    """The limit of the run that was reached; None where it is the disk or the lease."""


@dataclass(frozen=True, slots=True)
class Left:
    """How a model call ended."""

    used: Usage | None
    replied: bool
    rate_limited: bool
    held: Usage | None = None
    """What a failed call may have used, where nobody told."""


class _At:
    """A clock that is set by hand: events bear the time at which they happened."""

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
    share: Share | None = None
    round: int = 0


@dataclass(slots=True)
class Keeper:
    """Traces, limits and leases of one start of a run."""

    folder: RunFolder
    calls: Calls
    texts: Texts
    notes: list[str]
    """What the user must hear, in order."""
    stack: AsyncExitStack
    leases: dict[int, _Lease] = field(default_factory=dict)
    _count: int = 0
    _stopped: Refused | None = None

    @classmethod
    def of(cls, folder: RunFolder, concurrency: int) -> Keeper:
        """For a run's folder; what its traces spent is in the budget."""
        notes, stack = list[str](), AsyncExitStack()
        calls = open_calls(folder, folder.manifest(), concurrency, stack, notes.append)
        return cls(folder, calls, Texts(folder.texts), notes, stack)

    async def open(self, worker: str, key: EpisodeKey) -> Opened | Refused | None:
        """Give the episode to this worker; None where its trace must be left alone."""
        manifest, clock = self.folder.manifest(), _At()
        opener = TraceOpener(
            self.folder, manifest.id, clock, self.texts, manifest.fsync, self.notes.append
        )
        try:
            opened = opener.open(key)
        except StorageError as exc:
            return Refused(str(exc))
        if opened is None:
            return None
        trace, past = opened
        self._count += 1
        self.leases[self._count] = _Lease(worker, trace, clock)
        return Opened(self._count, past.events if past is not None else ())

    async def write(self, lease: int, said: Sequence[Said]) -> Refused | None:
        """Append the events; comes back when they are as safe as `fsync` asks."""
        held = self.leases.get(lease)
        if held is None:
            return Refused("the episode was given to another worker")
        try:
            for event in said:
                held.clock.now = event.at
                held.trace.write(KINDS[event.kind], **event.fields)
            await held.trace.settle()
        except StorageError as exc:
            return Refused(str(exc))
        return None

    async def enter(self, lease: int, estimated: int) -> Refused | None:
        """Wait for a place among the calls in flight, and reserve the call's share."""
        held = self.leases.get(lease)
        if held is None:
            return Refused("the episode was given to another worker")
        if self._stopped is not None:
            return self._stopped
        stack = AsyncExitStack()
        try:
            held.round = await stack.enter_async_context(self.calls.pace.place())
            held.share = await stack.enter_async_context(self.calls.budget.share_of(estimated))
        except RunStopped as exc:
            await stack.aclose()
            return Refused(str(exc), exc.reason)
        held.call = stack
        if lease not in self.leases:  # given away while it waited
            await self._end_call(held)
            return Refused("the episode was given to another worker")
        return None

    async def leave(self, lease: int, left: Left) -> None:
        """A call is over: its share is replaced by what it used."""
        held = self.leases.get(lease)
        if held is None or held.share is None:
            return
        held.share.used, held.share.held = left.used, left.held
        if left.replied:
            self.calls.pace.succeeded()
            self.calls.breaker.succeeded()
        if left.rate_limited:
            self.calls.pace.limited(held.round)
        await self._end_call(held)

    async def _end_call(self, held: _Lease) -> None:
        call, held.call, held.share = held.call, None, None
        if call is not None:
            await call.aclose()

    async def failed(self, text: str, kind: Any, is_last: bool) -> None:
        """A model call failed; where it is one too many, no further call is let in."""
        try:
            self.calls.breaker.note(ModelError(text, kind=kind), is_last)
        except RunStopped as exc:
            self._stopped = Refused(str(exc), exc.reason)

    async def tell(self, text: str) -> None:
        """What a worker has to say to the user."""
        self.notes.append(text)

    async def close(self, lease: int) -> None:
        """The worker is done with its episode."""
        held = self.leases.pop(lease, None)
        if held is not None:
            if held.share is not None:  # in flight as its worker was lost
                held.share.held = held.share.needed
            await self._end_call(held)
            held.trace.close()

    async def release(self, worker: str) -> int:
        """A worker is lost: take back all that it had; how many episodes that were."""
        lost = [lease for lease, held in self.leases.items() if held.worker == worker]
        for lease in lost:
            await self.close(lease)
        return len(lost)

    async def state(self) -> tuple[str, list[str]]:
        """How many calls are in flight, and what the user must hear since the last time."""
        notes, self.notes[:] = list(self.notes), []
        return str(self.calls.pace), notes

    async def shut(self) -> None:
        """Close everything."""
        for lease in list(self.leases):
            await self.close(lease)
        await self.stack.aclose()
        self.texts.close()
