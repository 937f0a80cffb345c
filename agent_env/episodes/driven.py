"""An episode driven from outside: whoever calls `step` speaks for the model.

The loop, tools, limits, trace and scorer are those of any run; only the model seam is another: it
hands each request out and waits for the reply. A policy that takes its time uses the episode's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.schema import Episode, Message, Reply, Score, ToolSpec


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model is to answer, or how the episode ended."""

    messages: tuple[Message, ...] = ()
    """Everything that it has seen so far."""
    new: tuple[Message, ...] = ()
    """Of these, what came since its last reply."""
    tools: tuple[ToolSpec, ...] = ()
    """What it may call now."""
    tool_choice: ToolChoice = "auto"
    """Whether the reply may, must or must not call a tool; a reply that does otherwise is taken."""
    done: bool = False
    reward: float | None = None
    """The task's main metric, once done; None before, and where the episode failed."""
    score: Score | None = None
    """Once done, all metrics."""
    episode: Episode | None = None
    """Once done."""


@dataclass(frozen=True, slots=True)
class _Request:
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    options: ReplyOptions
    reply: asyncio.Future[Reply]


class DrivenModel:
    """The model seam: requests come out, replies go in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: asyncio.Queue[_Request] = asyncio.Queue()

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait(_Request(tuple(messages), tuple(tools), options, reply))
        return await reply


Run = Callable[[Model], Awaitable[None]]
Judge = Callable[[], tuple[Episode, Score]]


class DrivenEpisode:
    """One attempt at one sample. `reset` once, then `step` until a turn is done."""

    def __init__(self, name: str, run: Run, judge: Judge, metric: str) -> None:
        self._model = DrivenModel(name)
        self._run, self._judge, self._metric = run, judge, metric
        self._task: asyncio.Task[None] | None = None
        self._request: _Request | None = None

    async def reset(self) -> Turn:
        """Begin; the first turn. An episode begins once: ConfigError for another time."""
        if self._task is not None:
            raise ConfigError("this episode has begun; ask the environment for another one")
        self._task = asyncio.ensure_future(self._run(self._model))
        return await self._next(0)

    async def step(self, reply: Reply | Message | str) -> Turn:
        """Say the model's reply; what follows it. Raises what stopped the episode, where that is
        no fault of its own, such as a full disk."""
        said, request = _as_reply(reply), self._request
        if request is None:
            raise ConfigError("there is nothing to answer: the episode is over, or has not begun")
        self._request = None
        if not request.reply.done():  # else the time is up
            request.reply.set_result(said)
        return await self._next(len(request.messages) + 1)

    async def close(self) -> None:
        """Give up an episode that is not over; its trace stays unfinished."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _next(self, seen: int) -> Turn:
        assert self._task is not None  # both callers have begun
        asked = asyncio.ensure_future(self._model.asked.get())
        await asyncio.wait({asked, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done():
            self._request = request = asked.result()
            return Turn(
                messages=request.messages,
                new=request.messages[seen:],
                tools=request.tools,
                tool_choice=request.options.tool_choice,
            )
        asked.cancel()
        self._task.result()  # raises what it raised
        episode, score = self._judge()
        return Turn(
            messages=episode.messages,
            new=episode.messages[seen:],
            done=True,
            reward=score.metrics.get(self._metric),
            score=score,
            episode=episode,
        )


def _as_reply(said: Reply | Message | str) -> Reply:
    if isinstance(said, Reply):
        return said
    message = Message(role="assistant", content=said) if isinstance(said, str) else said
    if message.role != "assistant":
        raise ConfigError(f"a reply has the role assistant, not {message.role}")
    return Reply(message=message, finish_reason="tool_calls" if message.tool_calls else "stop")
