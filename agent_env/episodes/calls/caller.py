"""Gets a reply: from the cache, or by calls within the run's concurrency, budget and retries.

One call: a place among the calls in flight, a reservation in the run's budget, the call, its
record, the decision on a retry. Waits for the first two are no time of the episode.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from agent_env.episodes.calls.budget import Reservation, RunBudget
from agent_env.episodes.calls.outages import Breaker, Outage
from agent_env.episodes.calls.pacing import ConcurrencyLimit
from agent_env.episodes.calls.reply_cache import Asking, ReplyCache, cache_key
from agent_env.episodes.calls.retries import (
    GiveUp,
    Retries,
    Retry,
    Tries,
    brief,
    error_kind,
    final_error,
    may_have_cost,
)
from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.graph.meter import Meter, estimated_tokens, known_or_estimated
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Calls:
    """What the model calls of a run's episodes share."""

    pace: ConcurrencyLimit
    retries: Retries = field(default_factory=Retries)
    budget: RunBudget = field(default_factory=RunBudget)
    breaker: Breaker = field(default_factory=Breaker)
    outage: Outage = field(default_factory=Outage)
    cache: ReplyCache | None = None


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One attempt as it is recorded: a reply or an error."""

    attempt: int
    latency_s: float
    queued_s: float | None = None
    reply: Reply | None = None
    error: EpisodeError | None = None
    cancelled: bool = False
    partial: str | None = None
    """The text that the stream of a cancelled call had sent."""
    charged: Usage | None = None
    """Tokens that the limits count if the server did not report them."""
    wait_s: float | None = None
    away_s: float | None = None
    """Wait for a server that was away."""


CUT_OFF = "cut off"
"""The end of a cancelled call."""
QUEUED_S = 0.001
"""Shorter waits for a place are not recorded."""


@dataclass(slots=True)
class Caller:
    """Gets the replies of one episode."""

    model: Model
    calls: Calls
    asking: Asking
    rng: random.Random
    now: Callable[[], str]
    """The time in the format of traces."""
    meter: Meter = field(default_factory=Meter)
    lost: list[str] = field(default_factory=list)
    """The ends of the calls without a reply."""

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        record: Callable[[CallAttempt], None],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The model's reply; calls `record` with every attempt, cancelled ones too."""
        key = cache_key(self.asking, messages, tools) if self.calls.cache is not None else ""
        if self.calls.cache is not None and (cached := self.calls.cache.get(key)) is not None:
            record(CallAttempt(attempt=1, latency_s=0.0, reply=cached))
            return cached
        reply = await self._called(messages, tools, record, options)
        if self.calls.cache is not None:
            self.calls.cache.put(key, reply, self.now())
        return reply

    async def _called(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        record: Callable[[CallAttempt], None],
        options: ReplyOptions,
    ) -> Reply:
        tries, began, waited = Tries(self.calls.retries), time.monotonic(), self.meter.waited_s
        outage = self.calls.outage
        for attempt in itertools.count(1):
            if outage.is_waited_for:
                with self.meter.unclocked():
                    await outage.passage()
            mark = outage.replies
            call = await self._one(messages, tools, attempt, record, options)
            if call.reply is not None:
                record(call)
                self.calls.breaker.succeeded()
                return call.reply
            assert isinstance(call.error, ModelError)
            self.lost.append(brief(call.error))
            with self.meter.unclocked():
                is_away = await outage.is_outage(call.error, mark)
            if is_away:
                if await self._sit_out(call, call.error, record):
                    continue
                away = f"no reply came for {outage.away_s:.0f} s, though the server is up"
                raise final_error(call.error, [call.error], away)
            elapsed = time.monotonic() - began - (self.meter.waited_s - waited)
            verdict = tries.verdict(call.error, elapsed, self.rng.random())
            wait = verdict.wait_s if isinstance(verdict, Retry) else None
            record(replace(call, wait_s=wait))
            self.calls.breaker.note(call.error, is_last=wait is None)
            if isinstance(verdict, GiveUp):
                raise final_error(call.error, tries.errors, verdict.reason)
            await asyncio.sleep(verdict.wait_s)
        raise AssertionError("counting has no end")

    async def _sit_out(
        self, call: CallAttempt, error: ModelError, record: Callable[[CallAttempt], None]
    ) -> bool:
        """Waits for the server, outside the episode's time; returns whether to call again."""
        began = time.monotonic()
        try:
            with self.meter.unclocked():
                return await self.calls.outage.wait(error)
        finally:
            record(replace(call, away_s=round(time.monotonic() - began, 3)))

    async def _one(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        attempt: int,
        record: Callable[[CallAttempt], None],
        options: ReplyOptions,
    ) -> CallAttempt:
        """One call with its outcome; calls `record` only if it is cancelled."""
        async with AsyncExitStack() as stack:
            asked_at = time.perf_counter()
            with self.meter.unclocked():
                round_ = await stack.enter_async_context(self.calls.pace.place())
                share = await stack.enter_async_context(self.calls.budget.share(messages, tools))
            start = time.perf_counter()
            queued = round(start - asked_at, 6) if start - asked_at > QUEUED_S else None
            try:
                with boundary(ModelError, f"model {self.model.name}"):
                    reply = await self.model.generate(messages, tools, options)
            except ModelError as exc:
                self._failed(exc, share, round_, messages, tools)
                return CallAttempt(
                    attempt, seconds_since(start), queued, error=exc, charged=share.held
                )
            except EpisodeError as exc:  # no server's fault; another call would not help
                record(CallAttempt(attempt, seconds_since(start), queued, error=exc))
                raise
            except asyncio.CancelledError as exc:
                share.held = need = self.calls.budget.may_need(estimated_tokens(messages, tools))
                took, said = seconds_since(start), "".join(getattr(exc, "__notes__", ())) or None
                record(
                    CallAttempt(attempt, took, queued, cancelled=True, partial=said, charged=need)
                )
                self.lost.append(CUT_OFF)
                raise
            share.used = known_or_estimated(reply.usage, messages, tools, reply.message)
            charged = None if share.used is reply.usage else share.used
            self.calls.pace.succeeded()
            self.calls.outage.answered()
            return CallAttempt(attempt, seconds_since(start), queued, reply=reply, charged=charged)

    def _failed(
        self,
        error: ModelError,
        share: Reservation,
        round_: int,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
    ) -> None:
        usage = error.usage
        if usage is not None:
            self.meter.count(usage)
        if usage is not None and None not in (usage.input_tokens, usage.output_tokens):
            share.used = usage
        elif may_have_cost(error):
            need = self.calls.budget.may_need(estimated_tokens(messages, tools))
            known = {} if usage is None else usage.model_dump(exclude_none=True, exclude={"source"})
            share.held = need.model_copy(update=known)
        if error_kind(error) == "rate_limit":
            self.calls.pace.limited(round_)


def seconds_since(start: float) -> float:
    """Seconds since a `time.perf_counter()`, to microseconds."""
    return round(time.perf_counter() - start, 6)
