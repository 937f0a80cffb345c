"""A task as an environment of the `verifiers` library (its classic `MultiTurnEnv`).

The library asks its model, this hands the reply to an episode of ours and gives back what tools
and the harness say; the reward is the scorer's. Needs the extra `verifiers`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from threading import Thread
from typing import TYPE_CHECKING, Any

from agent_env.episodes.export.chat import chat_message, message_of
from agent_env.errors import AgentEnvError, ConfigError
from agent_env.records.schema import Reply, Usage
from agent_env.runs.environment import Environment, make_environment, open_environment

try:
    import verifiers as vf
    from datasets import Dataset
except ImportError as exc:
    raise ConfigError(
        "verifiers environments need the extra 'verifiers': pip install 'agent-env[verifiers]'"
    ) from exc

if TYPE_CHECKING:
    from agent_env.episodes.driven import DrivenEpisode, Turn
    from agent_env.runs.options import RunOptions
    from agent_env.runs.run import Run


def load_environment(options: RunOptions) -> PuzzleEnv:
    """The environment of these options: one row for each sample and condition. Makes the run's
    folder; every rollout is written into it as an episode."""
    return PuzzleEnv(*_in_a_loop_of_its_own(options))


def _in_a_loop_of_its_own(options: RunOptions) -> tuple[Run, list[Any], tuple[str, ...]]:
    """Folder, rows, metrics; made in a thread, as a loop may be running where we are called."""
    made: list[Any] = []

    def work() -> None:
        try:
            made.append(asyncio.run(_make(options)))
        except BaseException as exc:
            made.append(exc)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(made[0], BaseException):
        raise made[0]
    found: tuple[Run, list[Any], tuple[str, ...]] = made[0]
    return found


async def _make(options: RunOptions) -> tuple[Run, list[Any], tuple[str, ...]]:
    folder = await make_environment(options)
    rows = []
    async with open_environment(folder) as environment:
        for sample in environment.samples:
            for condition in environment.conditions:
                async with environment.rooms.open_seams(sample, condition) as seams:
                    prompt = seams.strategy.start(sample)
                rows.append(
                    {
                        "prompt": [chat_message(message) for message in prompt],
                        "answer": ", ".join(sample.worded(condition.wording).gold),
                        "info": {"sample": sample.id, "condition": condition.name},
                    }
                )
        return folder, rows, environment.task.metrics


class PuzzleEnv(vf.MultiTurnEnv):  # type: ignore[misc]
    """Episodes of a folder, driven by the library's model."""

    def __init__(self, folder: Run, rows: list[Any], metrics: tuple[str, ...]) -> None:
        main, *others = (_metric(name) for name in metrics)
        rubric = vf.Rubric(funcs=[main, *others], weights=[1.0, *(0.0 for _ in others)])
        super().__init__(eval_dataset=Dataset.from_list(rows), rubric=rubric, max_turns=-1)
        self.folder = folder
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._environment: Environment | None = None

    async def setup_state(self, state: Any) -> Any:
        """Begin an episode."""
        info = state["info"]
        environment = await self._opened()
        episode = environment.episode(info["sample"], info["condition"])
        state["episode"] = episode
        self._take_in(state, await _turn_of(episode.reset()))
        return state

    async def env_response(self, messages: Any, state: Any, **kwargs: Any) -> Any:
        """What tools and the harness say to the last reply; nothing where the episode is over."""
        episode: DrivenEpisode = state["episode"]
        turn = await _turn_of(episode.step(_reply(messages[-1], state["trajectory"][-1])))
        new = [chat_message(message) for message in turn.new]
        self._take_in(state, turn)
        if turn.done:
            state["final_env_response"] = new
        return new

    @vf.cleanup  # type: ignore[untyped-decorator]
    async def end_episode(self, state: Any) -> None:
        """Give up what the library stopped on its own account."""
        episode = state.pop("episode", None)
        if episode is not None:
            await episode.close()

    @vf.teardown  # type: ignore[untyped-decorator]
    async def close(self) -> None:
        """Give the folder and its tools back."""
        await self._stack.aclose()
        self._environment = None

    async def _opened(self) -> Environment:
        async with self._opening:
            if self._environment is None:
                opened = open_environment(self.folder)
                self._environment = await self._stack.enter_async_context(opened)
            return self._environment

    def _take_in(self, state: Any, turn: Turn) -> None:
        tools = [
            {"name": t.name, "description": t.description, "parameters": t.parameters}
            for t in turn.tools
        ]
        state["tool_defs"] = self._normalize_tool_defs(tools) or []
        state["scores"] = {} if turn.score is None else dict(turn.score.metrics)


async def _turn_of(turn: Any) -> Turn:
    """The turn; what went wrong on our side is the library's own error, so that it is retried or
    left out, and not rewarded."""
    try:
        found: Turn = await turn
    except AgentEnvError as exc:
        raise vf.Error(str(exc)) from exc
    if found.done and found.reward is None:
        assert found.episode is not None  # done
        raise vf.Error(found.episode.failure or "the episode failed")
    return found


def _reply(message: Any, step: Any) -> Reply:
    """The library's reply as ours, with the tokens that its client was told."""
    chat = message if isinstance(message, dict) else message.model_dump()
    told, used = step["response"].usage, Usage()
    if told is not None:
        used = Usage(
            input_tokens=told.prompt_tokens,
            output_tokens=told.completion_tokens,
            reasoning_tokens=told.reasoning_tokens,
            source="provider",
        )
    said = message_of(chat)
    if step["is_truncated"] and not said.tool_calls:
        return Reply(message=said, finish_reason="length", usage=used)
    reason = "tool_calls" if said.tool_calls else "stop"
    return Reply(message=said, finish_reason=reason, usage=used)


def _metric(name: str) -> Any:
    async def metric(state: Any) -> float:
        return float(state.get("scores", {}).get(name, 0.0))

    metric.__name__ = name
    return metric
