"""Gets a reply: from the cache, or by calls within the run's concurrency, budget and retries; and
records every call of the model and the tools in the trace.

One call: a place among the calls in flight, a reservation in the run's budget, the call, its
record, the decision on a retry. Waits for the first two are no time of the episode.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent_env.episodes.calls.budget import ConcurrencyLimit, Reservation, RunBudget
from agent_env.episodes.calls.reply_cache import Asking, ReplyCache, cache_key
from agent_env.episodes.calls.retries import (
    Breaker,
    GiveUp,
    Outage,
    Retries,
    Retry,
    Tries,
    brief,
    error_kind,
    final_error,
    may_have_cost,
)
from agent_env.episodes.trace.lines import TraceWriter
from agent_env.errors import BatchWait, EpisodeError, ModelError, boundary
from agent_env.graph.meter import Meter, estimated_tokens, known_or_estimated
from agent_env.protocols import Count, Model, RemoteTokenizer, ReplyOptions, Tokenizer, Toolbox
from agent_env.records.schema import Message, Reply, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.records.trace_events import ModelCalled, ToolCalled


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
class CallTry:
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
        record: Callable[[CallTry], None],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The model's reply; calls `record` with every attempt, cancelled ones too."""
        key = cache_key(self.asking, messages, tools) if self.calls.cache is not None else ""
        if self.calls.cache is not None and (cached := self.calls.cache.get(key)) is not None:
            record(CallTry(attempt=1, latency_s=0.0, reply=cached))
            return cached
        reply = await self._called(messages, tools, record, options)
        if self.calls.cache is not None:
            self.calls.cache.put(key, reply, self.now())
        return reply

    async def _called(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        record: Callable[[CallTry], None],
        options: ReplyOptions,
    ) -> Reply:
        tries, began, waited = Tries(self.calls.retries), time.monotonic(), self.meter.waited_s
        outage, replies = self.calls.outage, 0
        for attempt in itertools.count(1):
            if outage.is_waited_for:
                with self.meter.unclocked():
                    await outage.passage()
            if attempt == 1:
                replies = outage.replies
            call = await self._one(messages, tools, attempt, record, options)
            if call.reply is not None:
                record(call)
                self.calls.breaker.succeeded()
                return call.reply
            assert isinstance(call.error, ModelError)
            self.lost.append(brief(call.error))
            before, replies = replies, outage.replies
            with self.meter.unclocked():
                is_away = await outage.is_outage(call.error, before)
            if is_away:
                if await self._sit_out(call, call.error, record, tries):
                    continue
                given_up = f"given up after {attempt} calls, though the server is up"
                raise final_error(call.error, [*tries.errors, call.error], given_up)
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
        self, call: CallTry, error: ModelError, record: Callable[[CallTry], None], request: object
    ) -> bool:
        """Waits for the server, outside the episode's time; returns whether to call again."""
        began = time.monotonic()
        try:
            with self.meter.unclocked():
                return await self.calls.outage.wait(error, request)
        finally:
            record(replace(call, away_s=round(time.monotonic() - began, 3)))

    async def _one(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        attempt: int,
        record: Callable[[CallTry], None],
        options: ReplyOptions,
    ) -> CallTry:
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
                return CallTry(attempt, seconds_since(start), queued, error=exc, charged=share.held)
            except BatchWait:
                self.calls.budget.park(messages, tools)
                raise
            except EpisodeError as exc:  # no server's fault; another call would not help
                record(CallTry(attempt, seconds_since(start), queued, error=exc))
                raise
            except asyncio.CancelledError as exc:
                share.held = need = self.calls.budget.may_need(estimated_tokens(messages, tools))
                took, text = seconds_since(start), "".join(getattr(exc, "__notes__", ())) or None
                record(CallTry(attempt, took, queued, cancelled=True, partial=text, charged=need))
                self.lost.append(CUT_OFF)
                raise
            share.used = known_or_estimated(reply.usage, messages, tools, reply.message)
            charged = None if share.used is reply.usage else share.used
            self.calls.pace.succeeded()
            self.calls.outage.answered()
            return CallTry(attempt, seconds_since(start), queued, reply=reply, charged=charged)

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


class RecordingModel:
    """Gets replies through a Caller and records every attempt."""

    def __init__(
        self,
        caller: Caller,
        trace: TraceWriter,
        begun: bool = False,
        watch: Callable[[Reply], None] | None = None,
        batched: bool = False,
        conversation: Sequence[Message] | None = None,
    ) -> None:
        """`begun`: an earlier process recorded replies; `watch` is called with each reply;
        `batched`: calls go by batch. `conversation`: the one so far of an outside agent,
        whose next request may keep less of it; None for our own loop."""
        self.name = caller.model.name
        self._caller, self._trace, self._watch = caller, trace, watch
        self._has_replies = begun
        self._batched = batched or None
        self._request = RequestDigest()
        self._conversation = conversation
        self._offers: Sequence[ToolSpec] | None = None

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        await self._trace.settle()
        # few-shot examples are assistant messages, too: before the first reply nothing was added
        has_replies = self._has_replies or not self._request.is_new
        added, keeps, offers = _added(messages) if has_replies else (), None, None
        if self._conversation is not None:
            alike = itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(self._conversation, messages, strict=False)
            )
            keeps = sum(1 for _ in alike)
            added = tuple(messages[keeps:])
            offers, self._offers = None if tools == self._offers else tuple(tools), tools
        request = self._request.of(messages, tools, options)
        kept = {m.tool_call_id: m.kept for m in messages if m.kept is not None}

        def record(call: CallTry) -> None:
            self._trace.write(
                ModelCalled,
                request=request,
                added=added,
                keeps=keeps,
                offers=offers,
                kept=kept or None,
                reply=call.reply,
                latency_s=None if self._batched else call.latency_s,
                batched=self._batched,
                queued_s=call.queued_s,
                attempt=call.attempt,
                charged=call.charged,
                wait_s=call.wait_s,
                away_s=call.away_s,
                **failure_fields(call),
            )

        reply = await self._caller.reply(messages, tools, record, options)
        if self._watch is not None:
            self._watch(reply)
        if self._conversation is not None:
            self._conversation = (*messages, reply.message)
        return reply


def failure_fields(call: CallTry) -> dict[str, Any]:
    """The trace fields of a call without a reply."""
    if call.cancelled:
        return {"error": "cancelled before the reply came", "partial": call.partial}
    if isinstance(call.error, ModelError):
        kind, error = error_kind(call.error), call.error
        details = {"error_kind": kind, "status": error.status, "usage": error.usage}
        return {"error": str(error), "partial": error.partial, **details}
    return {"error": None if call.error is None else str(call.error)}


class RecordingToolbox:
    """Runs the inner toolbox and records every call, malformed ones too."""

    def __init__(
        self, inner: Toolbox, trace: TraceWriter, tokenizer: Tokenizer | RemoteTokenizer
    ) -> None:
        self._inner = inner
        self._trace = trace
        self._tokenizer = tokenizer

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._inner.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        await self._trace.settle()
        start = time.perf_counter()
        try:
            with boundary(EpisodeError, f"tool {call.name}"):
                result = await self._inner.run(call, offered)
            duration_s = seconds_since(start) if result.duration_s is None else result.duration_s
            count = await self._count(result.output)
        except EpisodeError as exc:
            failure = ToolResult(output="", error=str(exc))
            self._write(call, failure, seconds_since(start), None, "failed")
            raise
        except asyncio.CancelledError:
            cancellation = ToolResult(output="", error="cancelled")
            self._write(call, cancellation, seconds_since(start), None, "cancelled")
            raise
        self._write(call, result, duration_s, count)
        return result

    async def _count(self, output: str) -> Count:
        if isinstance(self._tokenizer, Tokenizer):
            is_exact = self._tokenizer.name != "estimate"
            return Count(self._tokenizer.count(output), "tokenizer" if is_exact else "estimate")
        return await self._tokenizer.counted(output)

    def _write(
        self,
        call: ToolCall,
        result: ToolResult,
        duration_s: float,
        count: Count | None,
        ended: Literal["failed", "cancelled"] | None = None,
    ) -> None:
        self._trace.write(
            ToolCalled,
            call=call,
            result=result,
            output_tokens=None if count is None else count.tokens,
            tokens_source=None if count is None else count.source,
            duration_s=duration_s,
            ended=ended,
        )


class RequestDigest:
    """SHA-256 over the messages sent so far, one JSON object a line, then the tools' names, then
    options other than the defaults.

    An episode's messages mostly grow, so each call hashes only new ones, or all if old ones were
    cut since.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: Sequence[Message] = ()

    @property
    def is_new(self) -> bool:
        """Whether no request was hashed yet."""
        return not self._seen

    def of(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], options: ReplyOptions
    ) -> str:
        if any(before is not now for before, now in zip(self._seen, messages, strict=False)):
            self._hash, self._seen = hashlib.sha256(), ()
        for message in messages[len(self._seen) :]:
            self._hash.update(message.model_dump_json(exclude_none=True).encode() + b"\n")
        self._seen = tuple(messages)
        whole = self._hash.copy()
        whole.update("\n".join(tool.name for tool in tools).encode())
        if options != ReplyOptions():
            whole.update(f"\n{options.tool_choice} {options.seed}".encode())
        return whole.hexdigest()


def _added(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages of the harness since the last reply; () on the first call."""
    since: list[Message] = []
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(m for m in reversed(since) if m.role != "tool")
        since.append(message)
    return ()
