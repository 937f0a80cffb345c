"""Job folders of Harbor: a folder a trial with `result.json` and, where the agent keeps it, an ATIF
trajectory. One log for each agent and model of the job; its datasets are fields of the samples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_env.extensions.interop.foreign import fields
from agent_env.extensions.interop.foreign.log import ForeignEpisode, ForeignLog, Transcript
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.models import read_tool
from agent_env.sdk.records import Message, Usage

RESULT = "result.json"
TRAJECTORIES = ("agent/trajectory.json", "steps/*/agent/trajectory.json")


def is_job(folder: Path) -> bool:
    """Whether it holds trials, or is one."""
    return (folder / RESULT).is_file() and (folder / "config.json").is_file()


def read_harbor(folder: Path, with_transcripts: bool = False) -> list[ForeignLog]:
    """The logs of a job, or of a single trial."""
    unread = fields.Unread()
    by_agent: dict[tuple[str, str], list[tuple[Path, dict[str, Any]]]] = defaultdict(list)
    broken = 0
    single = [folder] if "task_name" in fields.read_object(folder / RESULT, folder) else []
    for trial in single or sorted(path.parent for path in folder.glob(f"*/{RESULT}")):
        try:
            result = fields.read_object(trial / RESULT, folder)
        except (ConfigError, DatasetError):
            unread.add("trials whose result is no JSON, or cut", f"{trial.name}/{RESULT}")
            broken += 1
            continue
        if "task_name" not in result:
            unread.add("folders whose result names no task", f"{trial.name}/{RESULT}")
            continue
        agent = fields.mapping(result.get("agent_info"))
        model = fields.mapping(agent.get("model_info"))
        name = "/".join(str(model[k]) for k in ("provider", "name") if model.get(k))
        by_agent[str(agent.get("name", "unknown")), name].append((trial, result))
    if not by_agent:
        raise DatasetError(folder, None, "holds no trial with a result")
    asked = (
        0
        if single
        else fields.count(fields.read_object(folder / RESULT, folder).get("n_total_trials"))
    )
    missing = (asked or 0) - sum(map(len, by_agent.values()))
    if missing > broken:
        place = f"of the {asked} of {folder.name}"
        unread.add("trials without a result", place, missing - broken)
    return [
        _log(folder, key, trials, unread, len(by_agent) > 1, with_transcripts)
        for key, trials in sorted(by_agent.items())
    ]


def _log(
    folder: Path,
    key: tuple[str, str],
    trials: Sequence[tuple[Path, Mapping[str, Any]]],
    unread: fields.Unread,
    is_one_of_several: bool,
    whole: bool,
) -> ForeignLog:
    agent, model = key
    named = {(str(r["task_name"]), str(r.get("source") or "")) for _, r in trials}
    of_one = Counter(task for task, _ in named)
    repeats: dict[str, int] = defaultdict(int)
    samples, contents, episodes = {}, {}, []
    for trial, result in trials:
        source, sample = str(result.get("source") or ""), str(result["task_name"])
        if of_one[sample] > 1:
            sample = f"{source}/{sample}"
        repeats[sample] += 1
        samples[sample] = {"dataset": source} if source else {}
        contents[sample] = str(result.get("task_checksum") or "")
        episodes.append(_episode(trial, result, sample, repeats[sample], unread, whole))
    config = fields.mapping(fields.mapping(trials[0][1].get("config")).get("agent"))
    version = fields.mapping(trials[0][1].get("agent_info")).get("version")
    failed = sum(each.failure is not None for each in episodes)
    bare = sum("steps" not in each.used and each.failure is None for each in episodes)
    return ForeignLog(
        file=folder / RESULT,
        source="Harbor",
        task=", ".join(sorted({source for _, source in named if source})) or "harbor",
        model=model or agent,
        episodes=tuple(episodes),
        samples=samples,
        contents=contents,
        settings=fields.texts(
            {"agent": agent, "agent version": version, **fields.mapping(config.get("kwargs"))}
        ),
        name=" ".join(filter(None, key)) if is_one_of_several else "",
        notes=(
            *unread.notes,
            *([f"{failed} trials failed without a reward; Harbor counts them as 0"] * (failed > 0)),
            *([f"{bare} trials keep no ATIF trajectory: steps and calls unknown"] * (bare > 0)),
        ),
    )


def _episode(
    trial: Path,
    result: Mapping[str, Any],
    sample: str,
    repeat: int,
    unread: fields.Unread,
    whole: bool,
) -> ForeignEpisode:
    place = f"{trial.name}/{RESULT}"
    rewards = fields.mapping(fields.mapping(result.get("verifier_result")).get("rewards"))
    scores = unread.numbers(rewards, place)
    problem = fields.mapping(result.get("exception_info"))
    failure = None
    if not scores:
        kind, text = problem.get("exception_type"), problem.get("exception_message")
        failure = f"{kind}: {text}"[:300] if problem else "no reward"
    steps = _steps(trial, unread)
    replies = [each for each in steps if each.get("source") == "agent"]
    written = [each for each in replies if each.get("llm_call_count") != 0]
    used = {
        **_used(result, place, unread),
        "duration_s": _seconds(fields.mapping(result.get("agent_execution"))),
    }
    if steps:
        used["steps"] = float(sum(fields.count(s.get("llm_call_count")) or 1 for s in written))
        calls = [fields.objects(each.get("tool_calls")) for each in steps]
        used["tool_calls"] = float(sum(map(len, calls)))
    return ForeignEpisode(
        sample=sample,
        repeat=repeat,
        metrics=scores,
        failure=failure,
        used={name: value for name, value in used.items() if value is not None},
        stop_reason=fields.word(problem.get("exception_type")),
        transcript=_transcript(trial, steps) if whole and steps else None,
    )


def _used(result: Mapping[str, Any], place: str, unread: fields.Unread) -> dict[str, float | None]:
    """Over the steps of a task of several; a field is unknown where one of them lacks it."""
    parts = [
        fields.mapping(s.get("agent_result")) for s in fields.objects(result.get("step_results"))
    ]
    parts = [own] if (own := fields.mapping(result.get("agent_result"))) else parts
    names = {
        "input_tokens": "n_input_tokens",
        "cached_tokens": "n_cache_tokens",
        "output_tokens": "n_output_tokens",
        "cost_usd": "cost_usd",
    }
    return {
        ours: fields.total(unread.number(f"agent_result.{name}", p.get(name), place) for p in parts)
        for ours, name in names.items()
    }


def _seconds(span: Mapping[str, Any]) -> float | None:
    try:
        start, end = (datetime.fromisoformat(span[k]) for k in ("started_at", "finished_at"))
        return (end - start).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None


def _steps(trial: Path, unread: fields.Unread) -> list[dict[str, Any]]:
    """Of its ATIF trajectories, without those copied from one before."""
    steps: list[dict[str, Any]] = []
    for file in (file for pattern in TRAJECTORIES for file in sorted(trial.glob(pattern))):
        try:
            steps += fields.objects(fields.read_object(file, trial).get("steps"))
        except (ConfigError, DatasetError):
            unread.add("trajectories that are no JSON, or cut", str(file.relative_to(trial.parent)))
    return [each for each in steps if not each.get("is_copied_context")]


def _transcript(trial: Path, steps: Sequence[Mapping[str, Any]]) -> Transcript:
    messages: list[Message] = []
    usages: list[Usage | None] = []
    for step in steps:
        role = {"agent": "assistant"}.get(str(step.get("source")), step.get("source"))
        data = {**step, "role": role, "content": step.get("message"), "id": None}
        if (message := fields.message(data)) is None:
            continue
        messages.append(message)
        if role == "assistant":
            usages.append(fields.usage(step.get("metrics")))
        for each in fields.objects(fields.mapping(step.get("observation")).get("results")):
            call = each.get("source_call_id")
            content = fields.plain_text(each.get("content"))
            messages.append(
                Message(role="tool", content=content, tool_call_id=str(call))
                if call
                else Message(role="user", content=content)
            )
    file = next(f for pattern in TRAJECTORIES for f in sorted(trial.glob(pattern)))
    agent = fields.mapping(fields.read_object(file, trial).get("agent"))
    asked = next((m.content for m in messages if m.role == "user"), None)
    return Transcript(
        messages=tuple(messages),
        tools=tuple(read_tool(t) for t in fields.objects(agent.get("tool_definitions"))),
        usages=tuple(usages),
        question=asked,
        answer=next((m.content for m in messages[::-1] if m.role == "assistant"), None),
        model=str(agent["model_name"]) if agent.get("model_name") else None,
    )
