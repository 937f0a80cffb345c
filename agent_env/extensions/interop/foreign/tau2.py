"""Results of tau2-bench: one JSON file, or `results.json` beside a folder `simulations`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.foreign import fields
from agent_env.extensions.interop.foreign.log import ForeignEpisode, ForeignLog, Transcript
from agent_env.sdk.errors import ConfigError, DatasetError

BROKEN = frozenset({"infrastructure_error"})
"""Reasons for which tau2-bench itself leaves a simulation out of its means."""


PARTS = ("info", "tasks", "simulations")
"""Of the file, in its order."""


def is_tau2(data: Mapping[str, Any]) -> bool:
    return bool({"simulations", "simulation_index"} & data.keys())


def read_tau2(
    file: Path, data: Mapping[str, Any], unread: fields.Unread, with_transcripts: bool = False
) -> ForeignLog:
    """`data` is the file's object. The simulated user's tokens and cost are not the model's and
    not counted."""
    info = fields.mapping(data.get("info"))
    tasks = {str(each.get("id")): each for each in fields.objects(data.get("tasks"))}
    simulations = []
    for place, each in _simulations(file, data, unread):
        if "task_id" in each:
            simulations.append((place, each))
        else:
            unread.add("simulations without a task_id", place)
    if not simulations:
        raise DatasetError(file, None, "holds no simulation that can be read")
    agent = fields.mapping(info.get("agent_info"))
    environment = fields.mapping(info.get("environment_info"))
    episodes = _episodes(simulations, tasks, unread, with_transcripts)
    unpriced = sum("cost_usd" not in each.used for each in episodes)
    skipped = sum(bool(each.get("skipped")) for _, each in simulations)
    free = f"the cost of {unpriced} simulations is unknown (0 stands for no price, too)"
    ids = dict.fromkeys(each.sample for each in episodes)
    return ForeignLog(
        file=file,
        source="tau2-bench",
        task=f"tau2 {environment.get('domain_name', file.stem)}",
        model=str(agent.get("llm") or agent.get("implementation") or "unknown"),
        episodes=tuple(episodes),
        samples={each: _metadata(tasks.get(each, {})) for each in ids},
        contents={each: fields.digest(tasks.get(each, {}).get("user_scenario")) for each in ids},
        settings=_settings(info),
        notes=(
            *unread.notes,
            *(
                [f"{skipped} simulations were skipped; its own mean counts them as 0"]
                * (skipped > 0)
            ),
            *([free] if unpriced else []),
        ),
    )


def _simulations(
    file: Path, data: Mapping[str, Any], unread: fields.Unread
) -> list[tuple[str, dict[str, Any]]]:
    """With their places; those of the folder beside it where the file holds none."""
    own = fields.objects(data.get("simulations"))
    if own:
        return [(f"simulations[{number}]", each) for number, each in enumerate(own)]
    read = []
    for part in sorted((file.parent / "simulations").glob("*.json")):
        try:
            read.append((f"simulations/{part.name}", fields.read_object(part, file.parent)))
        except (ConfigError, DatasetError):
            unread.add("files that are no JSON, or cut", f"simulations/{part.name}")
    for entry in fields.objects(data.get("simulation_index"))[len(read) :]:
        unread.add("simulations of the index without a file", str(entry.get("id")))
    return read


def _settings(info: Mapping[str, Any]) -> dict[str, str]:
    agent, user = fields.mapping(info.get("agent_info")), fields.mapping(info.get("user_info"))
    return fields.texts(
        {
            **{name: info.get(name) for name in ("max_steps", "max_errors", "seed", "git_commit")},
            "agent": agent.get("implementation"),
            "user": user.get("implementation"),
            "user model": user.get("llm"),
            **{
                name: value
                for name, value in fields.mapping(agent.get("llm_args")).items()
                if name not in ("api_key", "base_url", "api_base")
            },
        }
    )


def _metadata(task: Mapping[str, Any]) -> dict[str, str]:
    """For --cluster and --by: what the task states in a word."""
    criteria = fields.mapping(task.get("evaluation_criteria"))
    basis = criteria.get("reward_basis")
    description = fields.mapping(task.get("description"))
    own: dict[str, Any] = {
        "purpose": description.get("purpose"),
        "actions": len(fields.objects(criteria.get("actions"))) if criteria else None,
        "reward basis": "+".join(map(str, basis)) if isinstance(basis, list) else None,
    }
    return fields.texts(own)


def _episodes(
    simulations: Sequence[tuple[str, Mapping[str, Any]]],
    tasks: Mapping[str, Mapping[str, Any]],
    unread: fields.Unread,
    whole: bool,
) -> list[ForeignEpisode]:
    trials: dict[str, set[int]] = {}
    episodes = []
    for place, simulation in simulations:
        sample, trial = str(simulation["task_id"]), fields.count(simulation.get("trial"))
        used = trials.setdefault(sample, set())
        repeat = max(used, default=0) + 1 if trial is None or trial + 1 in used else trial + 1
        used.add(repeat)
        task = tasks.get(sample, {})
        episodes.append(_episode(simulation, sample, repeat, task, place, unread, whole))
    return episodes


def _episode(
    data: Mapping[str, Any],
    sample: str,
    repeat: int,
    task: Mapping[str, Any],
    place: str,
    unread: fields.Unread,
    whole: bool,
) -> ForeignEpisode:
    reason = fields.word(data.get("termination_reason"))
    reward = fields.mapping(data.get("reward_info"))
    failure = None
    if reason in BROKEN or data.get("skipped"):
        failure = f"skipped: {reason}" if data.get("skipped") else str(reason)
    messages = fields.objects(data.get("messages"))
    written = [each for each in messages if each.get("role") == "assistant"]
    if messages and messages[0] in written and not messages[0].get("usage"):
        written = written[1:]  # the greeting, which is the same in every simulation
    used: dict[str, float | None] = {
        **fields.token_sums([fields.usage(each.get("usage")) for each in written]),
        "cost_usd": unread.number("agent_cost", data.get("agent_cost"), place) or None,
        "duration_s": unread.number("duration", data.get("duration"), place),
    }
    if messages:
        used["steps"] = float(len(written))
        used["tool_calls"] = float(sum(len(fields.objects(m.get("tool_calls"))) for m in written))
    return ForeignEpisode(
        sample=sample,
        repeat=repeat,
        metrics={} if failure else _scores(reward, place, unread),
        failure=failure,
        used={name: value for name, value in used.items() if value is not None},
        stop_reason=reason,
        transcript=_transcript(messages, task) if whole and messages else None,
    )


def _scores(reward: Mapping[str, Any], place: str, unread: fields.Unread) -> dict[str, float]:
    """The reward, its parts, and the share of the expected actions that were called."""
    parts = fields.mapping(reward.get("reward_breakdown"))
    scores = {"reward": reward.get("reward"), **{f"reward/{k}": v for k, v in parts.items()}}
    if checks := fields.objects(reward.get("action_checks")):
        matches = sum(bool(each.get("action_match")) for each in checks)
        scores["actions"] = matches / len(checks)
    return unread.numbers(scores, place)


def _transcript(messages: Sequence[Mapping[str, Any]], task: Mapping[str, Any]) -> Transcript:
    """The agent's side: calls that the simulated user made, and their results, are left out."""
    flat = [
        m for each in messages for m in fields.objects(each.get("tool_messages")) or [dict(each)]
    ]
    own = [m for m in flat if m.get("requestor", "assistant") == "assistant"]
    kept = [(data, m) for data in own if (m := fields.message(data))]
    kept = [(data, m) for data, m in kept if m.role != "user" or m.content]
    chat = tuple(
        m.model_copy(update={"tool_calls": ()}) if m.role == "user" else m for _, m in kept
    )
    instructions = fields.mapping(task.get("user_scenario")).get("instructions")
    asked = fields.mapping(instructions).get("reason_for_call", instructions)
    return Transcript(
        messages=chat,
        usages=tuple(fields.usage(data.get("usage")) for data, m in kept if m.role == "assistant"),
        question=asked if isinstance(asked, str) else None,
        answer=next((m.content for m in chat[::-1] if m.role == "assistant" and m.content), None),
    )
