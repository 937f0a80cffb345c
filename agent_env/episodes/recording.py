"""Seams that write what passes through them to the trace; the loop does not know of them."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.episodes.trace import TraceWriter
from agent_env.errors import EpisodeError, ModelError, boundary
from agent_env.protocols import Model, Tokenizer, Toolbox
from agent_env.schema import (
    Message,
    ModelCalled,
    Reply,
    ToolCall,
    ToolCalled,
    ToolResult,
    ToolSpec,
)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a retryable model error is tried again, and how long to wait."""

    attempts: int = 4
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0

    def wait_s(self, attempt: int, chance: float) -> float:
        """Before the attempt after `attempt`: doubling, with a random part of up to one half."""
        wait = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return wait * (1.0 + 0.5 * chance)


class RecordingModel:
    """Asks the inner model, again where its error may pass, and writes every attempt."""

    def __init__(self, inner: Model, trace: TraceWriter, retries: Retries, rng: random.Random):
        self._inner = inner
        self._trace = trace
        self._retries = retries
        self._rng = rng
        self._request = _RequestDigest()

    @property
    def name(self) -> str:
        return self._inner.name

    async def generate(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        request, added = self._request.of(messages, tools), _added(messages)
        for attempt in range(1, self._retries.attempts + 1):
            try:
                return await self._attempt(messages, tools, request, added, attempt)
            except ModelError as exc:
                if not exc.retryable or attempt == self._retries.attempts:
                    raise
                await asyncio.sleep(self._retries.wait_s(attempt, self._rng.random()))
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        request: str,
        added: tuple[Message, ...],
        attempt: int,
    ) -> Reply:
        started = time.perf_counter()
        reply, error = None, None
        try:
            with boundary(ModelError, f"model {self._inner.name}"):
                reply = await self._inner.generate(messages, tools)
            return reply
        except EpisodeError as exc:
            error = str(exc)
            raise
        except asyncio.CancelledError:
            error = "cancelled before the reply came"
            raise
        finally:
            self._trace.write(
                ModelCalled,
                request=request,
                added=added,
                reply=reply,
                error=error,
                latency_s=_since(started),
                attempt=attempt,
            )


class RecordingToolbox:
    """Runs the inner toolbox and writes every call, the malformed ones too."""

    def __init__(self, inner: Toolbox, trace: TraceWriter, tokenizer: Tokenizer) -> None:
        self._inner = inner
        self._trace = trace
        self._tokenizer = tokenizer

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._inner.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        started = time.perf_counter()
        try:
            with boundary(EpisodeError, f"tool {call.name}"):
                result = await self._inner.run(call, offered)
        except EpisodeError as exc:
            self._write(call, ToolResult(output="", error=str(exc)), started)
            raise
        except asyncio.CancelledError:
            self._write(call, ToolResult(output="", error="cancelled"), started)
            raise
        self._write(call, result, started)
        return result

    def _write(self, call: ToolCall, result: ToolResult, started: float) -> None:
        source = "estimate" if self._tokenizer.name == "estimate" else "tokenizer"
        self._trace.write(
            ToolCalled,
            call=call,
            result=result,
            output_tokens=self._tokenizer.count(result.output),
            tokens_source=source,
            duration_s=_since(started) if result.duration_s is None else result.duration_s,
        )


class _RequestDigest:
    """SHA-256 over the messages sent so far, one JSON object a line, then the tools' names.

    An episode's messages only grow, so each call hashes what is new and no more.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen = 0

    def of(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        for message in messages[self._seen :]:
            self._hash.update(message.model_dump_json(exclude_none=True).encode() + b"\n")
        self._seen = len(messages)
        whole = self._hash.copy()
        whole.update("\n".join(tool.name for tool in tools).encode())
        return whole.hexdigest()


def _added(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What the harness itself said since the last reply; nothing on the first call."""
    since: list[Message] = []
    for message in reversed(messages):
        if message.role == "assistant":
            return tuple(m for m in reversed(since) if m.role != "tool")
        since.append(message)
    return ()


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 6)
