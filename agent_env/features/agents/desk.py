"""One episode as an agent reaches it: its model and its tools, with the limits that hold for both.

Guaranteed: what the agent asks for goes through the episode's seams, so it is recorded, charged,
limited, resumed and replayed as a call of our own loop. Model calls are answered one by one; a
reply that never reached the agent is kept for when it asks the same again, and not paid twice. The
sampling is the run's: of the agent's request its messages, tools, tool choice, schema and stop
sequences are taken over.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from agent_env.features.agents.apis.exchange import ModelRequest, Refusal
from agent_env.sdk.errors import ModelError
from agent_env.sdk.models import ReplyOptions, ToolChoice
from agent_env.sdk.records import (
    Message,
    Reply,
    StopReason,
    ToolCall,
    ToolResult,
    ToolSpec,
    writable,
)
from agent_env.sdk.run import EpisodeState

Request = tuple[tuple[Message, ...], tuple[ToolSpec, ...], ReplyOptions]

MOST_OVERFLOWS = 10
"""Requests that may be too long for the model's context."""
MOST_TOOL_CALLS = 2000
"""Where the run has no limit: code of an agent can call in a loop, and each call is recorded."""
CHOICES: dict[str, ToolChoice] = {"auto": "auto", "required": "required", "none": "none"}


@dataclass(slots=True)
class Desk:
    """Answers the calls of one agent."""

    attempt: EpisodeState
    is_bare: bool = False
    """Whether the model is told of the episode's tools alone, and of none of the agent's own."""
    failed: asyncio.Future[None] = field(default_factory=lambda: asyncio.Future())
    """Has the exception that ends the episode, once there is one."""
    refused: StopReason | None = None
    """The limit for which the last call was refused; None for one that was answered."""
    refused_s: float | None = None
    """When the first call was refused behind which none can be answered."""
    asking: int = 0
    """Calls that are being answered."""
    heard_s: float = field(default_factory=time.monotonic)
    """When the last call was answered."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _replies: list[Message] = field(default_factory=list)
    _undelivered: tuple[Request, Reply] | None = None
    _open: list[ToolCall] = field(default_factory=list)
    """Calls of the latest reply whose tools have not been run."""
    _overflows: int = 0
    _unasked: Counter[str] = field(default_factory=Counter)

    async def reply(self, request: ModelRequest) -> Reply:
        """The reply to a request; Refusal where a limit is reached."""
        turns = restored(request.turns, self._replies)
        async with self._counted(), self._lock:
            offers, options = options_of(request, self.attempt.seed)
            if self.is_bare:
                offers = tuple(offer for offer in offers if self._is_ours(offer.name))
                options = options if offers else replace(options, tool_choice="auto")
            asked: Request = (turns, offers, options)
            if self._undelivered is not None and self._undelivered[0] == asked:
                reply = self._undelivered[1]
            else:
                self._check_limits()
                reply = await self._asked(turns, offers, options)
            self._undelivered = (asked, reply)
            return reply

    def deliver(self) -> None:
        """The agent has the latest reply."""
        self._undelivered = None

    async def _asked(
        self, turns: tuple[Message, ...], offers: tuple[ToolSpec, ...], options: ReplyOptions
    ) -> Reply:
        attempt = self.attempt
        try:
            reply = await attempt.model.generate(turns, offers, options)
        except ModelError as exc:
            if exc.kind != "context_overflow":
                raise self._fail(exc) from exc
            self.refused, self._overflows = "context", self._overflows + 1
            text = f"{exc} Shorten the conversation."
            raise Refusal(400, text, "messages", "context_length_exceeded") from exc
        except Exception as exc:
            raise self._fail(exc) from exc
        self.refused = None
        attempt.meter.count_reply(turns, offers, reply)
        attempt.messages[:] = [*turns, reply.message]
        attempt.citations.extend(reply.citations)
        self._replies.append(reply.message)
        self._open = list(reply.message.tool_calls)
        return reply

    async def call(self, name: str, arguments: str) -> ToolResult:
        """What a tool of the episode gives; a failure where the limit of calls is reached."""
        attempt = self.attempt
        limits, meter = attempt.limits, attempt.meter
        most = MOST_TOOL_CALLS if limits.tool_calls is None else limits.tool_calls
        if meter.tool_calls >= most:
            return ToolResult.failure(f"all {most} tool calls are used up")
        known = {spec.name for spec in attempt.toolbox.specs}
        spent = {n for n, limit in limits.per_tool.items() if meter.by_tool[n] >= limit}
        meter.tool_calls += 1
        if name in known - spent:
            meter.by_tool[name] += 1
        async with self._counted():
            try:
                call = self._call(name, arguments)
                return await attempt.toolbox.run(call, frozenset(known - spent))
            except Exception as exc:
                raise self._fail(exc) from exc

    @asynccontextmanager
    async def _counted(self) -> AsyncIterator[None]:
        self.asking += 1
        try:
            yield
        finally:
            self.asking -= 1
            self.heard_s = time.monotonic()

    def _call(self, name: str, arguments: str) -> ToolCall:
        """The call of the latest reply that this is, under our tool's name; else one that no reply
        asked for, such as of code that the agent runs."""
        call = ToolCall(id="", name=writable(name), arguments=writable(arguments))
        for asked in self._open:
            if _names(asked.name, name) and asked.plain_arguments == call.plain_arguments:
                self._open.remove(asked)
                return call.model_copy(update={"id": asked.id})
        digest = hashlib.sha256(f"{name} {call.plain_arguments}".encode()).hexdigest()[:12]
        self._unasked[digest] += 1
        return call.model_copy(update={"id": f"unasked-{digest}-{self._unasked[digest]}"})

    def _is_ours(self, offered: str) -> bool:
        return any(_names(offered, spec.name) for spec in self.attempt.toolbox.specs)

    def _check_limits(self) -> None:
        reached = self.attempt.reached()
        if reached is None and self._overflows >= MOST_OVERFLOWS:
            reached = "context"
        if reached is None:
            return
        self.refused, self.refused_s = reached, self.refused_s or time.monotonic()
        text = f"The episode's limit of {reached} is reached: no more model calls. Answer now."
        raise Refusal(400, text, "messages", "episode_limit_reached")

    def _fail(self, error: Exception) -> Refusal:
        """Ends the episode with the error; what the agent is told meanwhile."""
        if not self.failed.done():
            self.failed.set_exception(error)
        return Refusal(503, "the episode ends: its model or a tool failed")


def _names(theirs: str, ours: str) -> bool:
    """Whether an agent's name for a tool, such as `mcp__env__web_search`, means ours."""
    return theirs == ours or theirs.endswith((f"_{ours}", f".{ours}"))


def options_of(
    request: ModelRequest, seed: int | None
) -> tuple[tuple[ToolSpec, ...], ReplyOptions]:
    """Tools and options; a tool that must be called is the only one offered."""
    offers, choice = request.offers, CHOICES.get(request.choice, "required")
    if request.choice not in CHOICES:
        offers = tuple(offer for offer in offers if offer.name == request.choice)
    return offers, ReplyOptions(choice if offers else "auto", seed, request.schema, request.stop)


def restored(turns: Sequence[Message], replies: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation with our own replies as they were, where the agent sends them back: with
    their reasoning, their provider's fields, and their ids."""
    known = {_said(reply): reply for reply in replies}
    restored, renamed = list[Message](), dict[str, str]()
    for turn in turns:
        reply = known.get(_said(turn)) if turn.role == "assistant" else None
        if reply is not None:
            pairs = zip(turn.tool_calls, reply.tool_calls, strict=True)
            renamed |= {theirs.id: ours.id for theirs, ours in pairs}
            turn = reply
        elif turn.role == "tool" and turn.tool_call_id in renamed:
            turn = turn.model_copy(update={"tool_call_id": renamed[turn.tool_call_id]})
        restored.append(turn)
    return tuple(restored)


def _said(message: Message) -> tuple[str, ...]:
    """Equal for messages that say and call the same."""
    calls = (f"{call.name} {call.plain_arguments}" for call in message.tool_calls)
    return (message.content.strip(), *calls)
