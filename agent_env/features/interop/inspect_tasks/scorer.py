"""Episodes of ours in the samples of Inspect's log, and the family's scorer as one of Inspect's.

The store of a sample has its episode; the messages are the sample's own, unless these are others
than ours, as under the text protocol. A sample of another solver has its answer alone. Scores are
the family's metrics by name, from the log alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from agent_env.features.interop.inspect_chat import from_inspect
from agent_env.sdk.records import Episode, Message, StopReason

if TYPE_CHECKING:
    from agent_env.sdk.family import Task
    from agent_env.sdk.records import MaterialTable
    from agent_env.sdk.run import RunOptions


PLACE = "agent_env_episode"
STOPS: dict[str, StopReason] = {
    "message": "steps", "turn": "steps", "token": "tokens", "cost": "cost", "custom": "steps",
}  # fmt: skip
"""Inspect's limits as reasons of ours; the others are of time."""


def ended_by_limit(episode: Episode, limit: str) -> Episode:
    """The episode; one that this limit of Inspect's cut ends with the text of its last reply, as
    with a limit of ours."""
    if episode.status != "unfinished":
        return episode
    replies = [m.content for m in episode.messages if m.role == "assistant" and m.content]
    return episode.model_copy(
        update={
            "status": "finished",
            "answer": replies[-1] if replies else None,
            "stop_reason": STOPS.get(limit, "time"),
        }
    )


def keep(state: TaskState, episode: Episode) -> None:
    """Puts the episode into the sample's store."""
    is_told = episode.messages == _messages(state)
    fields = episode.model_dump(
        mode="json", exclude_defaults=True, exclude={"messages"} if is_told else None
    )
    state.store.set(PLACE, fields)


def episode_of(state: TaskState) -> Episode:
    """The episode that the sample holds."""
    fields = state.store.get(PLACE)
    if fields is not None:
        return Episode.model_validate({"messages": _messages(state), **fields})
    return Episode(
        sample=str(state.sample_id),
        condition=str(state.metadata["condition"]),
        repeat=state.epoch,
        model=str(state.model),
        status="finished",
        messages=_messages(state),
        answer=state.output.completion,
        stop_reason="answered",
    )


def _messages(state: TaskState) -> tuple[Message, ...]:
    return tuple(from_inspect(message) for message in state.messages)


@scorer(metrics={"*": [mean(), stderr(cluster="cluster")]})
def episode_score() -> Scorer:
    """Scores by the family and the parameters that each sample's metadata names."""
    made: list[Task] = []

    async def score(state: TaskState, target: Target) -> Score:
        if not made:
            made.append(_task_of(**state.metadata["task"]))
        task, episode = made[0], episode_of(state)
        ours = task.score(task.sample_type.model_validate(state.metadata["sample"]), episode)
        about = {"outcome": ours.outcome, "rule": ours.rule}
        answer = None if ours.answer is None else ", ".join(ours.answer)
        if not ours.metrics:
            return Score.unscored(reason="scoring_failed", answer=answer, metadata=about)
        names = dict.fromkeys((*task.metrics, *ours.metrics))
        values = {name: ours.metrics.get(name, float("nan")) for name in names}
        return Score(value=values, answer=answer, explanation=episode.answer, metadata=about)

    return score


def _task_of(family: str, parameters: dict[str, Any]) -> Task:
    """The task as far as its scorer goes."""
    from agent_env.features.interop.inspect_tasks.parameters import run_options
    from agent_env.sdk.run import task_of

    options = run_options(family, parameters)
    return task_of(options, _Tables(options))


class _Tables(Mapping[str, "MaterialTable"]):
    """The tables of the samples by digest, made again from the parameters if a scorer asks."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options

    @cached_property
    def _tables(self) -> Mapping[str, MaterialTable]:
        from agent_env.sdk.run import samples_of

        return samples_of(self._options).tables_by_digest

    def __getitem__(self, digest: str) -> MaterialTable:
        return self._tables[digest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)
