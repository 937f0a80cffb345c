"""Forks: a recorded episode kept up to a step, which continues from there with another model,
condition or tool result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError, DatasetError, ReplayError
from agent_env.permits import NOTHING
from agent_env.records.trace_events import Parent
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.options.run_options import ForkOptions
from agent_env.runs.resume import fresh_manifest, moved_entries, settings_from_call
from agent_env.runs.run import Run
from agent_env.runs.servers.probe import resolve_model
from agent_env.runs.start import Listener, run_episodes
from agent_env.tasks.conditions import own_tools, parse_condition
from agent_env.tasks.features import features
from agent_env.tasks.modifiers import FIRST_STEP, with_modifier
from agent_env.tasks.tool_registry import needs_sandbox, needs_web
from agent_env.wiring.components import Parts
from agent_env.wiring.models import open_counted
from agent_env.wiring.plugins import uses_in
from agent_env.wiring.sandboxes import choose_sandbox
from agent_env.wiring.trust import check_trust, own_call, own_plugins, record_run

if TYPE_CHECKING:
    from agent_env.episodes.trace.fold import Recording
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Condition, Episode, Score


def recorded_episode(trace: Path, objects: Objects = NO_OBJECTS) -> tuple[Run, Recording]:
    """The run of a trace, also named RUN/CONDITION/SAMPLE.1, and the episode."""
    from agent_env.episodes.run_folder import trace_file
    from agent_env.episodes.trace.fold import Recording
    from agent_env.episodes.trace.lines import read_trace

    trace = trace_file(trace)
    events = read_trace(trace)
    run = Run(trace.resolve().parents[2], objects)
    run.check_ours("forked")
    try:
        return run, Recording.of(events)
    except ReplayError as exc:
        raise DatasetError(trace, 1, str(exc)) from exc


async def fork(
    trace: Path, options: ForkOptions, listener: Listener, objects: Objects = NO_OBJECTS
) -> Run:
    from agent_env.episodes.contexts import copied_files
    from agent_env.episodes.rerun.fork import make_forks, read_edits, step_of
    from agent_env.episodes.runner import utc_now

    source, recording = recorded_episode(trace, objects)
    if options.model is not None:
        name = await resolve_model(options.model, options.api_key_env)
        options = replace(options, model=name)
    start, step = recording.start, step_of(recording, options.at)
    if options.edit is not None and step is None:
        raise ConfigError("--edit replaces a tool result of step K; --at 0 has none")
    edits = read_edits(options.edit, step) if options.edit and step else {}
    parent = Parent(
        run=source.manifest.id or source.path.name,
        episode=start.episode,
        step=options.at,
        edited=tuple(edits),
    )
    before = source.manifest
    manifest = await _forked_manifest(before, options, start.condition, parent, objects)
    from_call = settings_from_call(before, options) + (
        ("sandbox",) if before.sandbox is None else ()
    )
    check_trust(source, manifest, listener.note, confirmed=options.trust_run, from_call=from_call)
    manifest = manifest.model_copy(update={"plugins": uses_in(manifest, source.permit)})
    now = datetime.now(UTC)
    run = Run(options.out or source.place(f"forks/{now:%Y%m%d-%H%M%S-%f}"), objects)
    async with AsyncExitStack() as stack:
        plugins = replace(source.plugins, uses=manifest.plugins, objects=objects)
        # before the folder is made
        run.parts = Parts(await open_counted(manifest, listener.note, stack, plugins))
        if (sample := source.samples_by_id.get(start.sample)) is None:
            raise DatasetError(source.path / "samples.jsonl", None, f"no '{start.sample}'")
        files = copied_files(source, before)
        try:
            make_forks(run, source, manifest, recording, edits, sample, files, utc_now)
        except OSError as exc:
            raise ConfigError(f"cannot write to {run.path}: {exc.strerror}") from exc
        record_run(run, listener.note, source)
        stack.callback(run.drop_objects)
        await run_episodes(run, None, listener)
    return run


async def _forked_manifest(
    before: Manifest,
    options: ForkOptions,
    condition: Condition,
    parent: Parent,
    objects: Objects,
) -> Manifest:
    """The parent's manifest for one sample and condition, with the fork's changes."""
    if condition.agent is not None:
        raise ConfigError(
            f"episodes of {condition.agent.name} cannot go on from a step in the middle: what the "
            "agent holds in memory and in its folder is not recorded; replay plays them from the "
            "start"
        )
    manifest, chosen, sandbox = fresh_manifest(before, NOTHING), condition, before.sandbox
    if options.condition:
        chosen = parse_condition(options.condition, own_tools(manifest.conditions), own_call())
    world = condition.disturbance
    kept = (condition.context, condition.wording, None, chosen.disturbance and world)
    if (chosen.context, chosen.wording, chosen.agent, chosen.disturbance) != kept:
        raise ConfigError(
            f"a fork keeps its parent's question, pages included, and that was asked under "
            f"'{condition.name}'; --condition {chosen.name} can only add or take away tools"
        )
    if chosen.tools and not FIRST_STEP.text_in(chosen.name):
        chosen = chosen.model_copy(update={"first_step": condition.first_step})
    for feature in features():
        for its in feature.modifiers:
            if its.of(chosen) != its.plain and feature.name not in manifest.features:
                raise ConfigError(
                    f"a fork is run as its parent was, and that without the feature {feature.name};"
                    f" leave ~{its.format(its.of(chosen))} out of --condition {chosen.name}"
                )
            value = its.of(condition)
            is_open = value != its.plain and its.of(chosen) == its.plain
            if is_open and not (its.is_beside and its.applies(chosen, value)):
                chosen = with_modifier(chosen, its, value)
    chosen = chosen.model_copy(update={"says_today": condition.says_today})
    if needs_sandbox(chosen) and sandbox is None:
        sandbox = (await choose_sandbox(options.sandbox, own_plugins(), [chosen])).name
    update = moved_entries(manifest, options, objects, is_same_server=False) | {
        "parent": parent,
        "study": None,
        "conditions": (chosen,),
        "repeats": options.repeats,
        "samples": 1,
        "sandbox": sandbox if needs_sandbox(chosen) else None,
        "web": (manifest.web or "sealed") if needs_web([chosen]) else None,
    }
    forked = manifest.model_copy(update=update)
    return forked.model_copy(update={"plugins": uses_in(forked, NOTHING)})


@dataclass(frozen=True, slots=True)
class ForkSet:
    parent: Parent
    metrics: tuple[str, ...]
    episodes: tuple[tuple[str, Episode, Score], ...]


def read_forks(run: Run, note: Callable[[str], None]) -> ForkSet:
    """The forks of a run and their parent, scored by the same scorer; stores the scores."""
    from agent_env.episodes.rerun.fork import read_parent
    from agent_env.runs.scores.score import score_folder

    parent = run.manifest.parent
    if parent is None:
        raise ConfigError(f"{run.path} is not a run of forks; agent-env episodes fork makes one")
    before = read_parent(run)
    task, scored = run.task, score_folder(run, note)
    (sample,) = run.samples
    rows = [("parent", before, task.score(sample, before))]
    rows += [(f"fork {episode.repeat}", episode, score) for episode, score in scored]
    return ForkSet(parent, task.metrics, tuple(rows))
