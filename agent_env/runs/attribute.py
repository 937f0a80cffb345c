"""`attribute`: forks of each step of one episode, which tell where its outcome turned."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.records.schema import Usage
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.fork import (
    ForkForecast,
    ForkPlan,
    ask_forks,
    check_source,
    fork_folder,
    identity,
    recorded_episode,
    sample_of,
)
from agent_env.runs.options import AttributeOptions
from agent_env.runs.run import Run
from agent_env.runs.start import Listener
from agent_env.wiring.registry import SCRIPTS

if TYPE_CHECKING:
    from pydantic import JsonValue

    from agent_env.analysis.attribution import Attribution
    from agent_env.episodes.rerun.fork import Beginning
    from agent_env.episodes.trace.fold import Recording, Step
    from agent_env.records.schema import Condition
    from agent_env.records.trace_events import Parent

FOLDER = "attribute"
"""In the run's folder."""


@dataclass(frozen=True, slots=True)
class AttributionPlan:
    """The forks of an episode's steps, and what those that are not there will use."""

    options: AttributeOptions
    source: Run
    recording: Recording
    out: Path
    forks: tuple[int, ...]
    """By the number of steps that they keep, from 0."""
    forecast: ForkForecast

    @property
    def condition(self) -> Condition:
        """Of the episode."""
        return self.recording.start.condition

    def name(self, kept: int) -> str:
        """Of the condition whose forks keep so many steps."""
        return f"{self.condition.name}~from{kept}"


def plan_attribution(
    trace: Path,
    options: AttributeOptions,
    note: Callable[[str], None],
    objects: Objects = NO_OBJECTS,
) -> AttributionPlan:
    """Reads the episode; ConfigError for one without an outcome, or with more steps than forks."""
    from agent_env.episodes.run_folder import trace_file
    from agent_env.records.trace_events import EpisodeFinished

    source, recording = recorded_episode(trace_file(trace), objects)
    manifest = check_source(source)
    episode, steps = recording.start.episode, len(recording.steps)
    if not isinstance(recording.end, EpisodeFinished):
        raise ConfigError(f"{episode} did not come to its end, so it has no outcome to attribute")
    if options.forks < steps:
        raise ConfigError(f"--forks {options.forks}: {episode} has {steps} steps; one for each")
    temperature = manifest.model_parameters.get("temperature")
    if temperature == 0 and options.temperature is None:
        raise ConfigError(
            f"{source.path} has temperature 0, at which forks tell nothing; add --temperature 1"
        )
    if manifest.model in SCRIPTS:
        note(f"{manifest.model} always says the same, so that all forks of a step are alike")
    out = options.calls.out or source.place(f"{FOLDER}/{episode}")
    each, more = divmod(options.forks, steps)
    forks = tuple(each + (kept < more) for kept in range(steps))
    there = fork_folder(source, out, "")
    earlier = None if there is None else there.manifest.parent
    if earlier is not None and earlier.episode != episode:
        raise ConfigError(f"{out} holds forks of {earlier.episode}; name a new folder with --out")
    plan = AttributionPlan(options, source, recording, out, forks, ForkForecast.of((), None))
    forecast = ForkForecast.of(list(_usages(plan, there)), manifest.model_facts)
    return replace(plan, forecast=forecast)


def _usages(plan: AttributionPlan, there: Run | None) -> Iterator[Usage | None]:
    """Of each fork that is not finished: what the recorded episode used from there on."""
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.episodes.trace.lines import is_finished

    start = plan.recording.start
    for kept, number in enumerate(plan.forks):
        usages = [step.reply.usage for step in plan.recording.steps[kept:]]
        into, out = ([getattr(u, n) for u in usages] for n in ("input_tokens", "output_tokens"))
        rest = None if None in into or None in out else Usage(
            input_tokens=sum(into), output_tokens=sum(out)
        )  # fmt: skip
        for repeat in range(1, number + 1):
            key = EpisodeKey(start.sample, plan.name(kept), repeat)
            if there is None or not is_finished(there.trace(key)):
                yield rest


async def ask_and_read(plan: AttributionPlan, listener: Listener) -> Attribution:
    """Asks the forks that are not there, and reads where the outcome turned."""
    from agent_env.records.trace_events import Parent

    listener.note(str(plan.forecast))
    source, manifest, start = plan.source, plan.source.manifest, plan.recording.start
    conditions = tuple(
        plan.condition.model_copy(update={"name": plan.name(kept)})
        for kept in range(len(plan.forks))
    )
    parent = Parent(run=identity(source), episode=start.episode, step=0)
    forks = ForkPlan(
        source=source,
        out=plan.out,
        conditions=conditions,
        repeats=max(plan.forks),
        samples=[sample_of(source, plan.recording)],
        beginnings=lambda: _beginnings(plan, conditions, parent),
        update={
            "parent": parent,
            "reply_cache": None,  # it has the parent's own replies
            "model_parameters": _sampling(plan.options, manifest.model_parameters),
        },
        parent=plan.recording,
    )
    return read_attribution(plan, await ask_forks(forks, plan.options.calls, listener), listener)


def _sampling(options: AttributeOptions, before: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Another seed than the run's, so that no fork repeats its parent."""
    update: dict[str, JsonValue] = {}
    if options.temperature is not None:
        update["temperature"] = options.temperature
    if (seed := before.get("seed")) is not None:
        digest = hashlib.sha256(f"{seed}/forks".encode()).digest()
        update["seed"] = int.from_bytes(digest[:4], "big") >> 1
    return update


def _beginnings(
    plan: AttributionPlan, conditions: tuple[Condition, ...], parent: Parent
) -> Iterator[Beginning]:
    from agent_env.episodes.rerun.fork import Beginning
    from agent_env.episodes.run_folder import EpisodeKey

    for kept, (condition, number) in enumerate(zip(conditions, plan.forks, strict=True)):
        for repeat in range(1, number + 1):
            key = EpisodeKey(plan.recording.start.sample, condition.name, repeat)
            its = parent.model_copy(update={"step": kept})
            yield Beginning(key, condition, plan.recording, its)


def read_attribution(plan: AttributionPlan, run: Run, listener: Listener) -> Attribution:
    """What the forks tell."""
    from agent_env.analysis.attribution import ForkCounts, attribution
    from agent_env.episodes.results import scored_episodes
    from agent_env.episodes.trace.fold import fold

    task, (sample,) = run.task, run.samples
    ends: dict[str, list[bool | None]] = {}
    for episode, score in scored_episodes(
        run, task, run.samples, lambda reason: listener.note(f"left out: {reason}")
    ):
        is_scored = score.outcome in ("read", "unreadable")
        end = score.metrics.get(task.right_metric) == 1.0 if is_scored else None
        ends.setdefault(episode.condition, []).append(end)
    counts = []
    for kept in range(len(plan.forks)):
        own = ends.get(plan.name(kept), [])
        finished = [end for end in own if end is not None]
        counts.append(ForkCounts(kept, sum(finished), len(finished), len(own) - len(finished)))
    score = task.score(sample, fold(plan.recording.events))
    is_right = score.metrics.get(task.right_metric) == 1.0
    actions = [_actions(step) for step in plan.recording.steps]
    return attribution(plan.recording.start.episode, is_right, actions, counts)


def _actions(step: Step) -> str:
    calls = Counter(call.name for call in step.reply.message.tool_calls)
    texts = (name if number == 1 else f"{name} ×{number}" for name, number in calls.items())
    return ", ".join(texts) or "answer"
