"""A family's questions under one condition as a task of Inspect.

Each request of the loop goes to Inspect's model, which asks, retries, caches, counts and logs; the
reply goes back to the loop. So tools, strategy, limits and the text protocol are those of any run,
and the limits of Inspect hold beside them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextvars import Context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import anyio
from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError  # shown in one line
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.event import ToolEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from agent_env.features.interop.inspect_chat import from_output, to_inspect, to_tools
from agent_env.features.interop.inspect_tasks.parameters import run_options
from agent_env.features.interop.inspect_tasks.scorer import ended_by_limit, episode_score, keep
from agent_env.sdk.errors import AgentEnvError, ConfigError, EpisodeError, ModelError
from agent_env.sdk.family import modifiers
from agent_env.sdk.records import Condition, Message, Reply
from agent_env.sdk.run import (
    Environment,
    Run,
    RunOptions,
    make_environment,
    open_environment,
    wait_for,
)

if TYPE_CHECKING:
    from agent_env.sdk.run import Turn

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
            # a context of its own: what the environment does is not part of the first sample's log
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
                self.state.messages = self._shown(turn.messages)
                output = await self.model.generate(
                    self.state.messages, to_tools(turn.tools), CHOICES[turn.tool_choice]
                )
                self.state.output = output
                self.state.messages.append(output.message)
                reply: Reply | ModelError = from_output(output)
                if output.stop_reason == "model_length":
                    text = output.completion or "the context is full"
                    reply = ModelError(text, kind="context_overflow")
                if isinstance(reply, Reply):
                    self.pairs.append((reply.message, output.message))
                began = datetime.now(UTC)
                next_turn = await driven.step(reply)
                self._log_tools(output, next_turn, began)
                if next_turn.done:
                    results = [message for message in next_turn.new if message.role == "tool"]
                    self.state.messages += [self._as_inspect(message) for message in results]
                turn = next_turn
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


logger = logging.getLogger(__name__)


def make_task(family: str, parameters: Mapping[str, Any]) -> Task:
    """The task of these parameters; what cannot be is told in one line. The run that its episodes
    need lies in a temporary folder: the log has all that is worth keeping."""
    folder = TemporaryDirectory(prefix="agent-env-inspect-")
    try:
        options = run_options(family, parameters)
        run, condition = _make_run(
            options, Path(folder.name) / "run", str(parameters.get("condition", ""))
        )
        about = {"family": family, "parameters": dict(parameters)}
        samples = _samples(run, condition, {"condition": condition.name, "task": about})
        name = options.dataset.name if options.dataset else f"{options.task} seed {options.seed}"
        dataset = MemoryDataset(samples, name=name)
    except (AgentEnvError, OSError) as exc:
        folder.cleanup()
        raise PrerequisiteError(f"agent_env/{family.replace('-', '_')}: {exc}") from None
    # our time limit is Inspect's, which knows what of it went into retries and queues
    time_s = options.limits.get("time_s", run.task.limits.time_s)
    # runs the sample's episode and keeps it, without its messages, in the sample's store
    opened = Opened(run, condition, folder)

    @solver(name="episode")
    def make() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            environment = await opened.environment()
            await _Attempt(state, environment, opened.condition).run()
            return state

        return solve

    return Task(
        dataset=dataset,
        solver=make(),
        scorer=episode_score(),
        working_limit=None if time_s is None else ceil(time_s),
        metadata={"condition": condition.name, "limits": dict(run.manifest.limits)},
    )


def _make_run(options: RunOptions, path: Path, wanted: str) -> tuple[Run, Condition]:
    """The run, and the one of its conditions that has the suffixes of the one that is wanted."""
    limits = {**options.limits, "time_s": None}
    own = replace(options, out=path, limits=limits)
    run = wait_for(make_environment(own, logger.warning))
    conditions = run.manifest.conditions
    named = [
        each
        for each in conditions
        if all(its.text_in(each.name) == its.text_in(wanted) for its in modifiers())
    ]
    if len(named) != 1:
        names = ", ".join(each.name for each in conditions)
        raise ConfigError(f"-T condition={wanted}: a log has one; name one of: {names}")
    return run, named[0]


def _samples(run: Run, condition: Condition, about: Mapping[str, Any]) -> list[Sample]:
    hooks = run.task.analysis
    result = []
    for sample in run.samples:
        groups = {name: ", ".join(values) for name, values in hooks.groups(sample).items()}
        result.append(
            Sample(
                id=sample.id,
                input=[to_inspect(message) for message in run.first_messages(sample, condition)],
                target=list(sample.in_world(condition.world).gold),
                metadata={
                    **groups,
                    **about,
                    "cluster": hooks.cluster(sample) or sample.id,
                    "sample": sample.model_dump(mode="json"),
                },
            )
        )
    return result
