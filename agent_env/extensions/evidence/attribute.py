"""`attribute`: forks of each step of one episode, which tell where its outcome turned."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Usage
from agent_env.sdk.run import ForkPlan, ours, recorded_episode

if TYPE_CHECKING:
    from pydantic import JsonValue

    from agent_env.extensions.evidence.attribution import Attribution
    from agent_env.sdk.records import Condition, ToolCall
    from agent_env.sdk.run import AttributeOptions, Beginning, Listener, Run
    from agent_env.sdk.trace import Recording

Objects = Mapping[tuple[str, str], object]
FOLDER = "attribute"
"""In the run's folder."""


@dataclass(frozen=True, slots=True)
class AttributionPlan:
    """The forks of an episode's steps."""

    options: AttributeOptions
    recording: Recording
    counts: tuple[int, ...]
    """By the number of steps that they keep, from 0."""
    forks: ForkPlan


def _name(condition: Condition, kept: int) -> str:
    """Of the condition whose forks keep so many steps."""
    return f"{condition.name}~from{kept}"


def plan_attribution(
    trace: Path, options: AttributeOptions, note: Callable[[str], None], objects: Objects
) -> AttributionPlan:
    """Reads the episode; ConfigError for one without an outcome, or with more steps than forks."""
    from agent_env.sdk.trace import EpisodeFinished

    source, recording = recorded_episode(trace, objects)
    start, steps = recording.start, len(recording.steps)
    out = options.calls.out or source.place(f"{FOLDER}/{start.episode}")
    there, manifest = source.forks_in(out), source.manifest
    if not isinstance(recording.end, EpisodeFinished):
        raise ConfigError(
            f"{start.episode} did not come to its end, so it has no outcome to attribute"
        )
    if options.forks < steps:
        raise ConfigError(
            f"--forks {options.forks}: {start.episode} has {steps} steps; one for each"
        )
    temperature = manifest.model_parameters.get("temperature")
    if temperature == 0 and options.temperature is None:
        raise ConfigError(
            f"{source.path} has temperature 0, at which forks tell nothing; add --temperature 1"
        )
    if manifest.model in ours("policies"):
        note(f"{manifest.model} always says the same, so that all forks of a step are alike")
    earlier = None if there is None else there.manifest.parent
    if earlier is not None and earlier.episode != start.episode:
        raise ConfigError(f"{out} holds forks of {earlier.episode}; name a new folder with --out")
    each, more = divmod(options.forks, steps)
    counts = tuple(each + (kept < more) for kept in range(steps))
    conditions = tuple(
        start.condition.model_copy(update={"name": _name(start.condition, kept)})
        for kept in range(steps)
    )
    forks = ForkPlan(
        source=source,
        out=out,
        conditions=conditions,
        repeats=max(counts),
        beginnings=lambda: _beginnings(source, recording, conditions, counts),
        update={
            "reply_cache": None,  # it has the parent's own replies
            "model_parameters": _sampling(options, manifest.model_parameters),
        },
        parent=recording,
        usages=tuple(_usages(recording, counts, there)),
    )
    return AttributionPlan(options, recording, counts, forks)


def _usages(
    recording: Recording, counts: tuple[int, ...], there: Run | None
) -> Iterator[Usage | None]:
    """Of each fork that is not finished: what the recorded episode used from there on."""
    from agent_env.sdk.trace import EpisodeKey

    start = recording.start
    for kept, number in enumerate(counts):
        usages = [step.reply.usage for step in recording.steps[kept:]]
        into, out = ([getattr(u, n) for u in usages] for n in ("input_tokens", "output_tokens"))
        rest = None if None in into or None in out else Usage(
            input_tokens=sum(into), output_tokens=sum(out)
        )  # fmt: skip
        for repeat in range(1, number + 1):
            key = EpisodeKey(start.sample, _name(start.condition, kept), repeat)
            if there is None or not there.is_finished(key):
                yield rest


def _beginnings(
    source: Run, recording: Recording, conditions: tuple[Condition, ...], counts: tuple[int, ...]
) -> Iterator[Beginning]:
    from agent_env.sdk.run import Beginning

    for kept, (condition, number) in enumerate(zip(conditions, counts, strict=True)):
        for repeat in range(1, number + 1):
            yield Beginning.of(source.origin_name, recording, kept, condition, repeat)


def _sampling(options: AttributeOptions, before: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Another seed than the run's, so that no fork repeats its parent."""
    update: dict[str, JsonValue] = {}
    if options.temperature is not None:
        update["temperature"] = options.temperature
    if (seed := before.get("seed")) is not None:
        digest = hashlib.sha256(f"{seed}/forks".encode()).digest()
        update["seed"] = int.from_bytes(digest[:4], "big") >> 1
    return update


async def attribute(
    trace: Path, options: AttributeOptions, listener: Listener, objects: Objects
) -> Attribution:
    """At which step the episode's outcome turned: forks of each step are asked anew."""
    return await ask_and_read(plan_attribution(trace, options, listener.note, objects), listener)


async def ask_and_read(plan: AttributionPlan, listener: Listener) -> Attribution:
    """Asks the forks that are not there, and reads where the outcome turned."""
    listener.note(f"{plan.forks.forecast}; --forks, --run-tokens and --run-cost-usd limit it")
    run = await plan.forks.ask(plan.options.calls, listener)
    return read_attribution(plan, run, listener.note)


def read_attribution(plan: AttributionPlan, run: Run, note: Callable[[str], None]) -> Attribution:
    """What the forks tell."""
    from agent_env.extensions.evidence.attribution import ForkCounts, attribution

    task, (sample,), start = run.task, run.samples, plan.recording.start
    ends: dict[str, list[bool | None]] = {}
    for episode, score in run.scored(lambda reason: note(f"left out: {reason}")):
        is_scored = score.outcome in ("read", "unreadable")
        end = score.metrics.get(task.right_metric) == 1.0 if is_scored else None
        ends.setdefault(episode.condition, []).append(end)
    counts = []
    for kept in range(len(plan.counts)):
        own = ends.get(_name(start.condition, kept), [])
        finished = [end for end in own if end is not None]
        counts.append(ForkCounts(kept, sum(finished), len(finished), len(own) - len(finished)))
    score = task.score(sample, plan.recording.episode)
    is_right = score.metrics.get(task.right_metric) == 1.0
    actions = [_actions(step.reply.message.tool_calls) for step in plan.recording.steps]
    return attribution(start.episode, is_right, actions, counts)


def _actions(calls: tuple[ToolCall, ...]) -> str:
    counts = Counter(call.name for call in calls)
    texts = (name if number == 1 else f"{name} ×{number}" for name, number in counts.items())
    return ", ".join(texts) or "answer"
