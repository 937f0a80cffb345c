"""The agent loop as a LangGraph graph: think, call tools, read, go on, answer.

The graph's state holds nothing but where it began; each node returns a Command that names the next
one, because conditional edges cost 0.2 ms a step. What the episode says and sees lives in an
`EpisodeState`, which nodes get as LangGraph's runtime context; who records it is not known here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from agent_env.errors import ModelError
from agent_env.graph.meter import Fit, Meter
from agent_env.protocols import (
    Answer,
    CallTool,
    Limits,
    Model,
    ReplyOptions,
    RunTools,
    Say,
    Strategy,
    Toolbox,
    ToolChoice,
)
from agent_env.records.schema import (
    Message,
    Reply,
    Sample,
    StopReason,
    ToolCall,
    ToolResult,
    ToolSpec,
)

Next = Command[Literal["model", "tools", "__end__"]]


class State(TypedDict):
    """What a graph cannot be without."""

    begun: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended."""

    answer: str | None
    """The text that holds the answer; None where a limit was reached before any reply."""
    stop_reason: StopReason
    citations: tuple[str, ...]


@dataclass(slots=True)
class EpisodeState:
    """One episode in the making: its seams, what was said so far, what was used."""

    model: Model
    toolbox: Toolbox
    strategy: Strategy
    limits: Limits
    meter: Meter = field(default_factory=Meter)
    fit: Fit = field(default_factory=Fit)
    """What was cut to fit into the context."""
    first_step: ToolChoice = "auto"
    """Whether the first step may, must or must not call a tool."""
    must_answer: bool = False
    """Whether the last step that the limit allows must not call a tool."""
    seed: int | None = None
    """Of the server's sampling in this episode."""
    messages: list[Message] = field(default_factory=list)
    withdrawn: frozenset[str] = frozenset()
    citations: list[str] = field(default_factory=list)
    has_notice: bool = False
    """Whether the model was told that its steps run out."""
    turn: RunTools | CallTool | None = None
    """What the strategy wants of the tools after the last reply; None where it wants nothing."""
    answer: str | None = None
    stop_reason: StopReason | None = None
    name: str = ""
    """Of the episode's folder; empty where nothing is kept."""

    def stop(self, reason: StopReason, answer: str | None = None) -> Next:
        """End with `reason`; without an answer the last reply's text stands."""
        self.stop_reason = reason
        self.answer = answer if answer is not None else self._last_text()
        return Command(goto="__end__")

    def _last_text(self) -> str | None:
        texts = (m.content for m in reversed(self.messages) if m.role == "assistant" and m.content)
        return next(texts, None)

    def reached(self) -> StopReason | None:
        """What forbids another model call."""
        return self.meter.reached(self.limits)

    def seconds_left(self) -> float | None:
        """Until the time limit; None where there is none."""
        if self.limits.time_s is None:
            return None
        return self.limits.time_s - self.meter.elapsed_s()


class Loop(Protocol):
    """What drives an episode: ours, or an outside agent."""

    async def run(self, sample: Sample, attempt: EpisodeState) -> Outcome:
        """Drive one episode to its end; what the seams raise passes through."""


class AgentLoop:
    """The compiled graph; one for all episodes of a run, as it keeps nothing between them."""

    def __init__(self) -> None:
        graph = StateGraph(State, context_schema=EpisodeState)
        graph.add_node("model", _ask_model)
        graph.add_node("tools", _run_tools)
        graph.add_edge(START, "model")
        self._graph = graph.compile()

    async def run(self, sample: Sample, attempt: EpisodeState) -> Outcome:
        """Drive one episode to its end; what the seams raise passes through."""
        attempt.messages.extend(attempt.strategy.start(sample))
        attempt.meter.started_s = attempt.meter.clock()
        await self._graph.ainvoke(
            {"begun": True}, context=attempt, config={"recursion_limit": _UNREACHED}
        )
        assert attempt.stop_reason is not None  # the graph ends only through stop()
        return Outcome(attempt.answer, attempt.stop_reason, tuple(dict.fromkeys(attempt.citations)))


# LangGraph's own limit raises and loses the episode; ours (Limits) end it with its answer.
_NOTICE_AT = 2
"""With so many replies left the model is told, once, that it must answer."""
_UNREACHED = 1_000_000


async def _ask_model(state: State, runtime: Runtime[EpisodeState]) -> Next:
    attempt = runtime.context
    if (reached := attempt.reached()) is not None:
        return attempt.stop(reached)
    _add_near_end_notice(attempt)
    specs = tuple(s for s in attempt.toolbox.specs if s.name not in attempt.withdrawn)
    try:
        async with asyncio.timeout(attempt.seconds_left()) as timer:
            with attempt.meter.timed(timer):
                request, reply = await _request_reply(attempt, specs)
    except TimeoutError:
        return attempt.stop("time")
    except ModelError as exc:
        if exc.kind != "context_overflow":
            raise
        return attempt.stop("context")
    attempt.meter.count_reply(request, specs, reply)
    attempt.messages.append(reply.message)
    attempt.citations.extend(reply.citations)
    return _after_reply(attempt, reply)


async def _request_reply(
    attempt: EpisodeState, specs: tuple[ToolSpec, ...]
) -> tuple[tuple[Message, ...], Reply]:
    """What was sent, and the reply to it; where it is too long and that is wished, old tool outputs
    are cut as often as it takes."""
    options = _options(attempt, bool(specs))
    while True:
        request = attempt.fit.sent(attempt.messages, attempt.meter.steps)
        try:
            return request, await attempt.model.generate(request, specs, options)
        except ModelError as exc:
            if exc.kind != "context_overflow" or not attempt.limits.fit_context:
                raise
            if not attempt.fit.tighten(attempt.messages, specs, exc):
                raise


def _options(attempt: EpisodeState, has_tools: bool) -> ReplyOptions:
    """The first step's tool choice, where a call could be made at all; then the model is free."""
    could = has_tools and attempt.limits.tool_calls != 0 and attempt.limits.steps != 1
    first = attempt.meter.steps == 0 and could
    if attempt.must_answer and attempt.limits.steps == attempt.meter.steps + 1:
        return ReplyOptions("none", attempt.seed)
    return ReplyOptions(attempt.first_step if first else "auto", attempt.seed)


def _add_near_end_notice(attempt: EpisodeState) -> None:
    """Say once, between steps, that few are left."""
    most, steps = attempt.limits.steps, attempt.meter.steps
    if attempt.has_notice or most is None or steps == 0:
        return
    replies_left = most - steps
    if replies_left <= _NOTICE_AT:
        attempt.has_notice = True
        attempt.messages.append(near_end_notice(replies_left))


def near_end_notice(replies_left: int) -> Message:
    """What the model is told when so many replies remain."""
    if replies_left == 1:
        text = "This is your last reply: call no tool, and give your final answer now."
    else:
        text = (
            f"You have {replies_left} replies left, and the last of them must be your final "
            "answer; what you ask of tools after it is not run. Answer now if you can."
        )
    return Message(role="user", content=text)


def _after_reply(attempt: EpisodeState, reply: Reply) -> Next:
    if reply.finish_reason == "refused":
        return attempt.stop("refused")
    if reply.finish_reason == "repetition" and not reply.message.tool_calls:
        return attempt.stop("repetition")
    if reply.finish_reason == "length" and not reply.message.tool_calls:
        return attempt.stop("truncated")
    attempt.turn = None
    if reply.finish_reason == "paused":
        return Command(goto="model")
    match attempt.strategy.next(tuple(attempt.messages)):
        case Answer(text):
            return attempt.stop("answered", text)
        case Say(message):
            attempt.messages.append(message)
            return Command(goto="model")
        case RunTools() if (reached := attempt.reached()) is not None:
            return attempt.stop(reached)  # no reply could read what the calls give
        case RunTools() | CallTool() as turn:
            attempt.turn = turn
            return Command(goto="tools")


async def _run_tools(state: State, runtime: Runtime[EpisodeState]) -> Next:
    """Run the calls of the last reply at the same time, as far as the limit allows."""
    attempt = runtime.context
    turn = attempt.turn
    if isinstance(turn, CallTool):
        return await _run_strategy_call(attempt, turn)
    assert turn is not None  # routed here by it
    calls = attempt.messages[-1].tool_calls
    allowed = _allowed(attempt, calls)
    try:
        async with asyncio.timeout(attempt.seconds_left()):
            runs = [attempt.toolbox.run(call, _offer(attempt, call)) for call in allowed]
            results = [await runs[0]] if len(runs) == 1 else await _run_together(runs)
            attempt.messages.extend(
                Message(role="tool", tool_call_id=call.id, content=result.output)
                for call, result in zip(allowed, results, strict=True)
            )
    except TimeoutError:
        return attempt.stop("time")
    if len(allowed) < len(calls):
        return attempt.stop("tool_calls")
    if turn.note is not None:
        attempt.messages.append(turn.note)
    spent = _used_up(attempt) - attempt.withdrawn - turn.withdraw
    if spent:
        names = ", ".join(sorted(spent))
        text = f"All calls that you had of these tools are used up: {names}. Go on without them."
        attempt.messages.append(Message(role="user", content=text))
    attempt.withdrawn |= turn.withdraw | spent
    return Command(goto="model")


async def _run_strategy_call(attempt: EpisodeState, turn: CallTool) -> Next:
    """Run the strategy's own call, which counts like any other, and do what follows from it."""
    call = turn.call
    if not _allowed(attempt, (call,)):
        return attempt.stop("tool_calls")
    attempt.meter.tool_calls += 1
    attempt.meter.by_tool[call.name] += 1
    offered = frozenset(spec.name for spec in attempt.toolbox.specs)
    try:
        async with asyncio.timeout(attempt.seconds_left()):
            result = await attempt.toolbox.run(call, offered)
    except TimeoutError:
        return attempt.stop("time")
    if call in attempt.messages[-1].tool_calls:
        output = Message(role="tool", tool_call_id=call.id, content=result.output)
        attempt.messages.append(output)
    match turn.then(result):
        case Answer(text):
            return attempt.stop("answered", text)
        case Say(message):
            attempt.messages.append(message)
            return Command(goto="model")


def _allowed(attempt: EpisodeState, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    limit = attempt.limits.tool_calls
    return calls if limit is None else calls[: max(0, limit - attempt.meter.tool_calls)]


def _used_up(attempt: EpisodeState) -> frozenset[str]:
    """The tools that were called as often as they may be."""
    calls = attempt.meter.by_tool
    return frozenset(name for name, most in attempt.limits.per_tool.items() if calls[name] >= most)


def _offer(attempt: EpisodeState, call: ToolCall) -> frozenset[str]:
    """The tools that this call may use; the calls of one reply use up a limit one by one."""
    offered = frozenset(s.name for s in attempt.toolbox.specs)
    offered -= attempt.withdrawn | _used_up(attempt)
    attempt.meter.tool_calls += 1
    if call.name in offered:
        attempt.meter.by_tool[call.name] += 1
    return offered


async def _run_together(runs: Sequence[Coroutine[Any, Any, ToolResult]]) -> list[ToolResult]:
    """All results in order; the first failure cancels the rest and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run) for run in runs]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
