"""Wrappers of model and toolbox that record every call in the trace."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import Any, Literal

from agent_env.episodes.calls.caller import CallAttempt, Caller, seconds_since
from agent_env.episodes.calls.retries import error_kind
from agent_env.episodes.trace.writer import TraceWriter
from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.protocols import Count, RemoteTokenizer, ReplyOptions, Tokenizer, Toolbox
from agent_env.records.schema import Message, Reply, ToolCall, ToolResult, ToolSpec
from agent_env.records.trace_events import ModelCalled, ToolCalled


class RecordingModel:
    """Gets replies through a Caller and records every attempt."""

    def __init__(self, caller: Caller, trace: TraceWriter, begun: bool = False) -> None:
        self._caller = caller
        self._trace = trace
        self._has_replies = begun
        """Whether an earlier process recorded replies."""
        self._request = RequestDigest()

    @property
    def name(self) -> str:
        return self._caller.model.name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        await self._trace.settle()
        has_replies = (
            self._has_replies or not self._request.is_new
        )  # worked examples are no replies
        added = _added(messages) if has_replies else ()
        request = self._request.of(messages, tools, options)
        kept = {m.tool_call_id: m.kept for m in messages if m.kept is not None}

        def record(call: CallAttempt) -> None:
            self._trace.write(
                ModelCalled,
                request=request,
                added=added,
                kept=kept or None,
                reply=call.reply,
                latency_s=call.latency_s,
                queued_s=call.queued_s,
                attempt=call.attempt,
                charged=call.charged,
                wait_s=call.wait_s,
                away_s=call.away_s,
                **failure_fields(call),
            )

        return await self._caller.reply(messages, tools, record, options)


def failure_fields(call: CallAttempt) -> dict[str, Any]:
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
