"""The worker's end of a Keeper: a trace that streams, and calls that ask before they are made.

They stand where a trace file and a run's own budget would; the episode does not know where it runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_env.episodes.calls.breaker import Breaker
from agent_env.episodes.calls.budget import RunBudget, Share
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.outages import Outage
from agent_env.episodes.calls.pacing import Pace
from agent_env.episodes.calls.retries import Retries, error_kind
from agent_env.episodes.remote.keeper import Left, Refused, Said
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
        """What the method gives."""

    def tell(self, method: str, *arguments: Any) -> None:
        """Call the method without waiting for it."""


class StreamedTrace(TraceWriter):
    """A trace whose events go to the keeper at once; `settle` waits until they are safe."""

    def __init__(self, post: Post, lease: int, is_new: bool) -> None:
        self._post = post
        self._lease = lease
        self._unsent: list[Said] = []
        self._sending = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refused: Refused | None = None
        self._written = 0 if is_new else 1

    @property
    def is_empty(self) -> bool:
        return self._written == 0

    def write(self, kind: type[Event], **fields: Any) -> None:
        self._written += 1
        self._unsent.append(Said(kind.__name__, utc_now(), fields))
        task = asyncio.ensure_future(self._send())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        await self._send()
        if self._refused is not None:
            raise StorageError(self._refused.text)

    async def _send(self) -> None:
        async with self._sending:
            said, self._unsent = self._unsent, []
            if said and self._refused is None:
                self._refused = await self._post.ask("write", self._lease, said)

    def close(self) -> None:
        """Nothing is held here; the worker tells the keeper when all is sent."""


@dataclass(slots=True)
class _Line:
    """The one model call that an episode has in flight."""

    post: Post
    lease: int
    replied: bool = False
    rate_limited: bool = False


@dataclass(slots=True)
class RemotePace(Pace):
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
    """Of one episode; what the run has left is known to the keeper alone."""

    line: _Line = field(kw_only=True)

    @asynccontextmanager
    async def share(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[Share]:
        line = self.line
        line.replied = line.rate_limited = False
        estimated = estimated_tokens(messages, tools)
        refused = await line.post.ask("enter", line.lease, estimated)
        if refused is not None:
            raise _as_error(refused)
        share = Share(0, 0.0, estimated)
        try:
            yield share
        finally:
            self.settle(share)
            left = Left(share.used, line.replied, line.rate_limited, share.held)
            line.post.tell("leave", line.lease, left)


@dataclass(slots=True)
class RemoteBreaker(Breaker):
    line: _Line = field(kw_only=True)

    def succeeded(self) -> None:
        """The keeper hears of it when the call is left."""

    def note(self, error: ModelError, is_last: bool) -> None:
        self.line.post.tell("failed", str(error), error_kind(error), is_last)


def _as_error(refused: Refused) -> Exception:
    if refused.reason is None:
        return StorageError(refused.text)
    return RunStopped(refused.text, reason=refused.reason)


def remote_calls(
    post: Post,
    lease: int,
    retries: Retries,
    facts: ModelFacts | None,
    max_output: int | None = None,
    outage: Outage | None = None,
) -> Calls:
    """What one episode's model calls go through; `outage` is shared by those of a worker."""
    line = _Line(post, lease)
    return Calls(
        pace=RemotePace(most=1, line=line),
        retries=retries,
        budget=RemoteBudget(facts=facts, max_output=max_output, line=line),
        breaker=RemoteBreaker(line=line),
        outage=outage or Outage(),
    )
