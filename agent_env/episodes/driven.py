"""An episode driven from outside: the caller of `step` replies for the model.

Loop, tools, limits, trace and scorer are those of any run; the model hands each request out and
waits for the reply. The time of a slow policy counts as the episode's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent_env.errors import ConfigError, EpisodeError
from agent_env.protocols import Model, ReplyOptions, ToolChoice
from agent_env.records.schema import Episode, Message, Reply, Score, ToolSpec


@dataclass(frozen=True, slots=True)
class Turn:
    """A request to the policy, or the end of the episode."""

    messages: tuple[Message, ...] = ()
    """All messages so far."""
    new: tuple[Message, ...] = ()
    """The messages since its last reply."""
    tools: tuple[ToolSpec, ...] = ()
    """The tools offered now."""
    tool_choice: ToolChoice = "auto"
    """Whether the reply may, must or must not call a tool; not enforced."""
    done: bool = False
    reward: float | None = None
    """The task's main metric, once done; None before, and for a failed episode."""
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
    """A Model that queues its requests and waits for the replies."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.requests: asyncio.Queue[_Request] = asyncio.Queue()

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.requests.put_nowait(_Request(tuple(messages), tuple(tools), options, reply))
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
        """Starts the episode and returns the first turn; ConfigError for a second start."""
        if self._task is not None:
            raise ConfigError("this episode has begun; ask the environment for another one")
        self._task = asyncio.ensure_future(self._run(self._model))
        return await self._next(0)

    async def step(self, reply: Reply | Message | str | EpisodeError) -> Turn:
        """Sends the policy's reply, or why there is none, and returns the next turn. Raises the
        error that stopped the episode, if it is not a fault of its own, such as a full disk."""
        outcome = reply if isinstance(reply, EpisodeError) else _as_reply(reply)
        request = self._request
        if request is None:
            raise ConfigError("there is nothing to answer: the episode is over, or has not begun")
        self._request = None
        if not request.reply.done():  # else the time is up
            if isinstance(outcome, EpisodeError):
                request.reply.set_exception(outcome)
            else:
                request.reply.set_result(outcome)
        return await self._next(len(request.messages) + 1)

    async def close(self) -> None:
        """Cancels an unfinished episode; its trace stays unfinished."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _next(self, known: int) -> Turn:
        assert self._task is not None  # both callers have begun
        next_request = asyncio.ensure_future(self._model.requests.get())
        await asyncio.wait({next_request, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if next_request.done():
            self._request = request = next_request.result()
            return Turn(
                messages=request.messages,
                new=request.messages[known:],
                tools=request.tools,
                tool_choice=request.options.tool_choice,
            )
        next_request.cancel()
        self._task.result()  # raises what it raised
        episode, score = self._judge()
        return Turn(
            messages=episode.messages,
            new=episode.messages[known:],
            done=True,
            reward=score.metrics.get(self._metric),
            score=score,
            episode=episode,
        )


def _as_reply(reply: Reply | Message | str) -> Reply:
    if isinstance(reply, Reply):
        return reply
    message = Message(role="assistant", content=reply) if isinstance(reply, str) else reply
    if message.role != "assistant":
        raise ConfigError(f"a reply has the role assistant, not {message.role}")
    return Reply(message=message, finish_reason="tool_calls" if message.tool_calls else "stop")
