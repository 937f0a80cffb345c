"""The agent loop as a LangGraph graph: think, call tools, read, go on, answer.

The graph's state holds only what routing needs. What the episode says and sees lives in an
`Attempt`, handed to the nodes as LangGraph's runtime context; who records it is not known here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from agent_env.protocols import Answer, Limits, Model, RunTools, Say, Strategy, Toolbox
from agent_env.schema import Message, Reply, Sample, StopReason, ToolCall, ToolResult

Route = Literal["model", "tools", "end"]


class State(TypedDict):
    """Where to go next."""

    route: Route


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended."""

    answer: str | None
    """The text that holds the answer; None where a limit was reached before any reply."""
    stop_reason: StopReason
    citations: tuple[str, ...]


@dataclass(slots=True)
class Attempt:
    """One episode in the making: its seams, what was said so far, what was used."""

    model: Model
    toolbox: Toolbox
    strategy: Strategy
    limits: Limits
    clock: Callable[[], float] = time.monotonic
    messages: list[Message] = field(default_factory=list)
    withdrawn: frozenset[str] = frozenset()
    citations: list[str] = field(default_factory=list)
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    started_s: float = 0.0
    answer: str | None = None
    stop_reason: StopReason | None = None

    def stop(self, reason: StopReason, answer: str | None = None) -> State:
        """End with `reason`; without an answer the last reply's text stands."""
        self.stop_reason = reason
        self.answer = answer if answer is not None else self._last_text()
        return {"route": "end"}

    def _last_text(self) -> str | None:
        texts = (m.content for m in reversed(self.messages) if m.role == "assistant" and m.content)
        return next(texts, None)

    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        if self.limits.time_s is None:
            return None
        return self.limits.time_s - (self.clock() - self.started_s)


class AgentLoop:
    """The compiled graph; one for all episodes of a run, as it keeps nothing between them."""

    def __init__(self) -> None:
        graph = StateGraph(State, context_schema=Attempt)
        graph.add_node("model", _ask_model)
        graph.add_node("tools", _run_tools)
        graph.add_edge(START, "model")
        graph.add_conditional_edges(
            "model", _route, {"model": "model", "tools": "tools", "end": END}
        )
        graph.add_conditional_edges("tools", _route, {"model": "model", "end": END})
        self._graph = graph.compile()

    async def run(self, sample: Sample, attempt: Attempt) -> Outcome:
        """Drive one episode to its end; what the seams raise passes through."""
        attempt.messages.extend(attempt.strategy.start(sample))
        attempt.started_s = attempt.clock()
        await self._graph.ainvoke(
            {"route": "model"}, context=attempt, config={"recursion_limit": _UNREACHED}
        )
        assert attempt.stop_reason is not None  # the graph ends only through stop()
        return Outcome(attempt.answer, attempt.stop_reason, tuple(dict.fromkeys(attempt.citations)))


# LangGraph's own limit raises and loses the episode; ours (Limits) end it with its answer.
_UNREACHED = 1_000_000


def _route(state: State) -> Route:
    return state["route"]


async def _ask_model(state: State, runtime: Runtime[Attempt]) -> State:
    attempt = runtime.context
    if (reached := _reached(attempt)) is not None:
        return attempt.stop(reached)
    specs = tuple(s for s in attempt.toolbox.specs if s.name not in attempt.withdrawn)
    try:
        async with asyncio.timeout(attempt.seconds_left()):
            reply = await attempt.model.generate(tuple(attempt.messages), specs)
    except TimeoutError:
        return attempt.stop("time")
    _take_in(attempt, reply)
    return _after_reply(attempt, reply)


def _reached(attempt: Attempt) -> StopReason | None:
    """The limit that forbids another model call."""
    limits = attempt.limits
    if limits.steps is not None and attempt.steps >= limits.steps:
        return "steps"
    if limits.tokens is not None and attempt.tokens >= limits.tokens:
        return "tokens"
    left = attempt.seconds_left()
    return "time" if left is not None and left <= 0 else None


def _take_in(attempt: Attempt, reply: Reply) -> None:
    attempt.steps += 1
    attempt.tokens += (reply.usage.input_tokens or 0) + (reply.usage.output_tokens or 0)
    attempt.messages.append(reply.message)
    attempt.citations.extend(reply.citations)


def _after_reply(attempt: Attempt, reply: Reply) -> State:
    if reply.finish_reason == "refused":
        return attempt.stop("refused")
    if reply.finish_reason == "length" and not reply.message.tool_calls:
        return attempt.stop("truncated")
    match attempt.strategy.next(tuple(attempt.messages)):
        case Answer(text):
            return attempt.stop("answered", text)
        case Say(message):
            attempt.messages.append(message)
            return {"route": "model"}
        case RunTools():
            return {"route": "tools"}


async def _run_tools(state: State, runtime: Runtime[Attempt]) -> State:
    """Run the calls of the last reply at the same time, as far as the limit allows."""
    attempt = runtime.context
    turn = attempt.strategy.next(tuple(attempt.messages))
    assert isinstance(turn, RunTools)  # routed here by the same pure function
    calls = attempt.messages[-1].tool_calls
    allowed = _allowed(attempt, calls)
    try:
        async with asyncio.timeout(attempt.seconds_left()):
            await _call_all(attempt, allowed)
    except TimeoutError:
        return attempt.stop("time")
    if len(allowed) < len(calls):
        return attempt.stop("tool_calls")
    attempt.withdrawn |= turn.withdraw
    if turn.note is not None:
        attempt.messages.append(turn.note)
    return {"route": "model"}


def _allowed(attempt: Attempt, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    limit = attempt.limits.tool_calls
    return calls if limit is None else calls[: max(0, limit - attempt.tool_calls)]


async def _call_all(attempt: Attempt, calls: tuple[ToolCall, ...]) -> None:
    offered = frozenset(s.name for s in attempt.toolbox.specs) - attempt.withdrawn
    attempt.tool_calls += len(calls)
    if len(calls) == 1:  # the common case needs no task group
        results = [await attempt.toolbox.run(calls[0], offered)]
    else:
        results = await _together([attempt.toolbox.run(call, offered) for call in calls])
    attempt.messages.extend(
        Message(role="tool", tool_call_id=call.id, content=result.output)
        for call, result in zip(calls, results, strict=True)
    )


async def _together(runs: Sequence[Coroutine[Any, Any, ToolResult]]) -> list[ToolResult]:
    """All results in order; the first failure cancels the rest and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in runs]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
