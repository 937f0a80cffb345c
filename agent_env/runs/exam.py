"""Episodes that an agent from outside drives by tool calls, several at once, each by its handle.

The agent sees the question, calls the condition's tools one by one and submits an answer. Each call
is a step of an ordinary episode: tools, limits, trace and scorer are those of any run, and a folder
that was interrupted goes on where it was. What the agent does beside these calls (its own model
calls, tokens, thinking) is not seen and not recorded; its time counts as the episode's.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.episodes.pending import pending
from agent_env.errors import AgentEnvError
from agent_env.records.schema import Message, Reply, ToolCall, ToolSpec
from agent_env.runs.environment import make_environment
from agent_env.runs.run import Run

if TYPE_CHECKING:
    from agent_env.episodes.driven import DrivenEpisode, Turn
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.records.schema import Condition, Episode, Sample, Score
    from agent_env.runs.environment import Environment
    from agent_env.runs.options import RunOptions

MOST_OPEN = 1000
"""Episodes open at a time."""


class ExamError(AgentEnvError):
    """What the agent did wrong; told to it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent is asked."""

    handle: str
    episode: str
    """CONDITION/SAMPLE.REPEAT."""
    messages: tuple[Message, ...]
    """The prompt; of an interrupted episode all messages so far."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave."""

    text: str
    """The tool's output, with what the episode's rules say beside it."""
    is_error: bool
    is_last: bool
    """Whether the episode takes no further calls."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted answer; without an episode the answer was sent back with `text`."""

    text: str
    episode: Episode | None = None
    score: Score | None = None


@dataclass(slots=True)
class _Open:
    """An open episode."""

    key: EpisodeKey
    driven: DrivenEpisode
    turn: Turn
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Exam:
    """The pending episodes of one condition, handed out in order. Made by `open_exam`."""

    def __init__(
        self, environment: Environment, condition: Condition, tools: tuple[ToolSpec, ...],
        repeats: int, on_end: Callable[[EpisodeKey, Score], None],
    ) -> None:  # fmt: skip
        self.condition = condition
        self.tools = tools
        """Of the condition."""
        self._environment = environment
        self._on_end = on_end
        self._open: dict[str, _Open] = {}
        self._left: Iterator[tuple[EpisodeKey, Sample, Condition]] = iter(
            list(pending(environment.folder, environment.samples, (condition,), repeats))
        )

    @property
    def folder(self) -> Path:
        """The run's."""
        return self._environment.folder.path

    @property
    def handles(self) -> tuple[str, ...]:
        """Of the open episodes."""
        return tuple(self._open)

    async def begin(self, agent: str) -> Question | None:
        """The next episode, for the agent of this name; None where none is left."""
        if len(self._open) >= MOST_OPEN:
            raise ExamError(f"{MOST_OPEN} episodes are open; submit an answer to one of them first")
        item = next(self._left, None)
        if item is None:
            return None
        key, sample, condition = item
        driven = self._environment.attempt(key, sample, condition, agent)
        turn = await driven.reset()
        handle = secrets.token_hex(4)
        self._open[handle] = _Open(key, driven, turn)
        return Question(handle, key.name, turn.messages)

    async def call(self, handle: str, tool: str, arguments: Mapping[str, Any]) -> CallResult:
        """The result of one tool call. It is made and recorded to its end, even where the caller
        stops waiting."""
        opened = self._opened(handle)
        return await asyncio.shield(
            asyncio.ensure_future(self._call(handle, opened, tool, arguments))
        )

    async def submit(self, handle: str, answer: str) -> Submission:
        """Ends the episode with this answer, unless the task's rules send it back."""
        opened = self._opened(handle)
        return await asyncio.shield(asyncio.ensure_future(self._submit(handle, opened, answer)))

    async def close(self) -> None:
        """Gives up what is open; a later exam over the folder goes on with it."""
        for opened in self._open.values():
            await opened.driven.close()
        self._open.clear()

    def _opened(self, handle: str) -> _Open:
        if handle not in self._open:
            raise ExamError(f"there is no open episode '{handle}'")
        return self._open[handle]

    async def _call(
        self, handle: str, opened: _Open, tool: str, arguments: Mapping[str, Any]
    ) -> CallResult:
        async with opened.lock:
            if opened.turn.done:
                raise ExamError(_over(opened.turn))
            call = ToolCall(
                id=f"mcp_{len(opened.turn.messages)}",
                name=tool,
                arguments=json.dumps(dict(arguments), ensure_ascii=False),
            )
            reply = Message(role="assistant", tool_calls=(call,))
            turn = await self._step(opened, Reply(message=reply, finish_reason="tool_calls"))
            if turn.done:
                self._end(handle, opened)
            return _result(turn, call.id)

    async def _submit(self, handle: str, opened: _Open, answer: str) -> Submission:
        async with opened.lock:
            turn = opened.turn
            if not turn.done:
                reply = Message(role="assistant", content=answer)
                turn = await self._step(opened, Reply(message=reply, finish_reason="stop"))
            if not turn.done:
                return Submission("\n\n".join(m.content for m in turn.new if m.role == "user"))
            self._end(handle, opened)
            return Submission(_over(turn), turn.episode, turn.score)

    async def _step(self, opened: _Open, reply: Reply) -> Turn:
        opened.turn = await opened.driven.step(reply)
        return opened.turn

    def _end(self, handle: str, opened: _Open) -> None:
        if self._open.pop(handle, None) is not None and opened.turn.score is not None:
            self._on_end(opened.key, opened.turn.score)


def _result(turn: Turn, call_id: str) -> CallResult:
    outputs = [m.content for m in turn.new if m.role == "tool" and m.tool_call_id == call_id]
    rules = [m.content for m in turn.new if m.role == "user"]
    if turn.done:
        rules.append(_over(turn))
    text = "\n\n".join((*outputs, *rules))
    return CallResult(text, any(o.startswith("Error") for o in outputs), turn.done)


def _over(turn: Turn) -> str:
    assert turn.episode is not None  # done
    if turn.episode.failure is not None:
        return f"The episode failed: {turn.episode.failure}."
    return f"The episode is over ({turn.episode.stop_reason})."


async def exam_folder(options: RunOptions, note: Callable[[str], None]) -> Run:
    """The run of `options.out` where there is one, which goes on with its own options; else a new
    one of these. The agent's tokens are not seen, so nothing limits them."""
    if options.out is not None and (options.out / "run.json").exists():
        note(f"{options.out} goes on, with the options that it was begun with")
        return Run.open(options.out)
    limits = {"tokens": None, **options.limits}
    return await make_environment(replace(options, limits=limits), note)


@asynccontextmanager
async def open_exam(
    environment: Environment, on_end: Callable[[EpisodeKey, Score], None]
) -> AsyncIterator[Exam]:
    """An exam over the environment's folder; ConfigError unless it has exactly one condition."""
    condition = environment.the_condition
    async with environment.rooms.open_seams(environment.samples[0], condition) as seams:
        tools = seams.toolbox.specs
    repeats = environment.folder.manifest().repeats
    exam = Exam(environment, condition, tools, repeats, on_end)
    try:
        yield exam
    finally:
        await exam.close()
