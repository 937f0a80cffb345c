"""An episode of ours whose model is Inspect's.

Each request of the loop goes to Inspect's model, which asks, retries, caches, counts and logs; the
reply goes back to the loop. So tools, strategy, limits and the text protocol are those of any run,
and the limits of Inspect hold beside them.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.event import ToolEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from agent_env.episodes.inspect_chat import from_output, to_inspect, to_tools
from agent_env.errors import EpisodeError, ModelError
from agent_env.inspect_tasks.episodes import ended_by_limit, keep
from agent_env.records.schema import Condition, Message, Reply
from agent_env.runs.environment import Environment, open_environment
from agent_env.runs.run import Run

if TYPE_CHECKING:
    from agent_env.episodes.driven import DrivenEpisode, Turn

CHOICES: dict[str, Any] = {"auto": "auto", "required": "any", "none": "none"}


class Opened:
    """A run's environment: opened by the first sample, closed when the event loop ends."""

    def __init__(self, run: Run, condition: Condition, folder: TemporaryDirectory[str]) -> None:
        self.run = run
        self.condition = condition
        self._folder = folder  # is removed when nobody holds it
        self._keeper: asyncio.Task[None] | None = None
        self._environment: asyncio.Future[Environment] | None = None

    async def environment(self) -> Environment:
        """The open environment; what was wrong in opening it is raised for each sample."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise PrerequisiteError(
                "agent_env tasks need Inspect's asyncio backend; unset INSPECT_ASYNC_BACKEND"
            ) from None
        if self._environment is None or self._environment.get_loop() is not loop:
            self._environment = loop.create_future()
            # a context of its own: what the environment does is no part of the first sample's log
            self._keeper = loop.create_task(self._keep(self._environment), context=Context())
        assert self._keeper is not None  # made with the future
        both: set[asyncio.Future[Any]] = {self._environment, self._keeper}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if self._keeper.done():
            self._keeper.result()
        return self._environment.result()

    async def _keep(self, environment: asyncio.Future[Environment]) -> None:
        async with open_environment(self.run, trust_run=True) as opened:
            environment.set_result(opened)
            await asyncio.Event().wait()  # until the event loop cancels what is left


def episode_solver(opened: Opened) -> Solver:
    """Runs the sample's episode and keeps it, without its messages, in the sample's store."""

    @solver(name="episode")
    def make() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            environment = await opened.environment()
            await _Attempt(state, environment, opened.condition).run()
            return state

        return solve

    return make()


@dataclass(slots=True)
class _Attempt:
    """One attempt at a sample."""

    state: TaskState
    environment: Environment
    condition: Condition
    model: Model = field(default_factory=get_model)
    pairs: list[tuple[Message, ChatMessage]] = field(default_factory=list)
    """The conversation in our messages and in Inspect's."""

    async def run(self) -> None:
        """Drives the episode to its end, or to a limit of Inspect's, which is raised."""
        key, driven = self.environment.fresh(
            str(self.state.sample_id), self.condition, self.state.epoch, str(self.model)
        )
        limit = "time"  # that of Inspect cancels, and is not seen here
        try:
            turn = await driven.reset()
            while not turn.done:
                turn = await self._step(driven, turn)
        except LimitExceededError as exc:
            limit = exc.type
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await driven.close()
            if (episode := self.environment.recorded(key)) is not None:
                keep(self.state, ended_by_limit(episode, limit))
        assert episode is not None  # it was begun
        if episode.failure is not None:
            raise EpisodeError(episode.failure)
        self.state.completed = True

    async def _step(self, driven: DrivenEpisode, turn: Turn) -> Turn:
        self.state.messages = self._shown(turn.messages)
        output = await self.model.generate(
            self.state.messages, to_tools(turn.tools), CHOICES[turn.tool_choice]
        )
        self.state.output = output
        self.state.messages.append(output.message)
        reply = _reply(output)
        if isinstance(reply, Reply):
            self.pairs.append((reply.message, output.message))
        began = datetime.now(UTC)
        next_turn = await driven.step(reply)
        self._log_tools(output, next_turn, began)
        if next_turn.done:
            results = [message for message in next_turn.new if message.role == "tool"]
            self.state.messages += [self._as_inspect(message) for message in results]
        return next_turn

    def _shown(self, messages: tuple[Message, ...]) -> list[ChatMessage]:
        """The conversation as Inspect's messages; those that are as before stay the same objects,
        so that what a provider put into them goes back to it."""
        old = self.pairs
        same = next(
            (n for n, (a, b) in enumerate(zip(old, messages, strict=False)) if a[0] != b),
            min(len(old), len(messages)),
        )
        self.pairs = old[:same]
        for n, message in enumerate(messages[same:], start=same):
            known = n < len(old) and old[n][0].role == message.role == "assistant"
            self.pairs.append((message, old[n][1] if known else self._as_inspect(message)))
        return [theirs for _, theirs in self.pairs]

    def _as_inspect(self, message: Message) -> ChatMessage:
        calls = [call for ours, _ in self.pairs for call in ours.tool_calls]
        name = next((call.name for call in calls if call.id == message.tool_call_id), None)
        result: ChatMessage = to_inspect(message, str(self.model), name)
        return result

    def _log_tools(self, output: ModelOutput, turn: Turn, began: datetime) -> None:
        """Writes the calls of the last reply into the transcript, as Inspect does with its own."""
        results = {m.tool_call_id: m.content for m in turn.new if m.role == "tool"}
        now = datetime.now(UTC)
        for call in output.message.tool_calls or ():
            if call.id in results:
                event = ToolEvent(
                    id=call.id, function=call.function, arguments=call.arguments,
                    result=results[call.id], timestamp=began, completed=now,
                    working_time=(now - began).total_seconds(),
                )  # fmt: skip
                transcript()._event(event)


def _reply(output: ModelOutput) -> Reply | ModelError:
    if output.stop_reason == "model_length":
        return ModelError(output.completion or "the context is full", kind="context_overflow")
    return from_output(output)
