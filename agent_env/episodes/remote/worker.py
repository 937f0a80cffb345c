"""The worker's side of a Keeper: a trace that streams, and calls that ask the Keeper first.

They replace a trace file and a run's own budget; the episode does not know where it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_env.episodes.calls.breaker import Breaker
from agent_env.episodes.calls.budget import Reservation, RunBudget
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.outages import Outage
from agent_env.episodes.calls.pacing import ConcurrencyLimit
from agent_env.episodes.calls.retries import Retries, error_kind
from agent_env.episodes.remote.keeper import CallEnd, Refusal, SentEvent
from agent_env.episodes.runner import utc_now
from agent_env.episodes.trace.writer import TraceWriter
from agent_env.errors import ModelError, RunStopped, StorageError
from agent_env.graph.meter import estimated_tokens
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Message, ToolSpec
from agent_env.records.trace_events import Event


class Post(Protocol):
    """How a Keeper is reached."""

    async def ask(self, method: str, *arguments: Any) -> Any:
        """The method's result."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Calls the method without waiting for it."""


class StreamedTrace(TraceWriter):
    """A trace whose events go to the keeper at once; `settle` waits until they are safe."""

    def __init__(self, post: Post, lease: int, is_new: bool) -> None:
        self._post = post
        self._lease = lease
        self._unsent: list[SentEvent] = []
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal: Refusal | None = None
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
    """The budget of one episode; only the keeper knows that of the run."""

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
            raise _as_error(refusal)
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
        """Does nothing; the end of the call says it to the keeper."""

    def note(self, error: ModelError, is_last: bool) -> None:
        self.line.post.tell("failed", str(error), error_kind(error), is_last)


def _as_error(refusal: Refusal) -> Exception:
    if refusal.reason is None:
        return StorageError(refusal.text)
    return RunStopped(refusal.text, reason=refusal.reason)


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
