"""Episodes of ours in the samples of Inspect's log.

The store of a sample has its episode; the messages are the sample's own, unless these are others
than ours, as under the text protocol. A sample of another solver has its answer alone.
"""

from __future__ import annotations

from inspect_ai.solver import TaskState

from agent_env.extensions.interop.inspect_chat import from_inspect
from agent_env.sdk.records import Episode, Message, StopReason

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
