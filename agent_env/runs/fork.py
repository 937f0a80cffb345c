"""Forks an episode at step K with another model, condition or tool result; reads the forks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError, DatasetError, ReplayError
from agent_env.models.addresses import moved
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.runs.options import ForkOptions, with_changes
from agent_env.runs.replay import fresh_manifest
from agent_env.runs.resume import own_settings
from agent_env.runs.run import Run
from agent_env.runs.serving import other_server
from agent_env.runs.start import Listener, run_episodes
from agent_env.tasks.conditions import (
    has_choice,
    own_tools,
    parse_condition,
    with_disturbances,
)
from agent_env.tasks.tool_registry import needs_sandbox, needs_web
from agent_env.wiring.models import open_counted
from agent_env.wiring.plugins import uses_in, with_model
from agent_env.wiring.rooms import Parts
from agent_env.wiring.sandboxes import choose_sandbox
from agent_env.wiring.trust import check_trust, own_call, own_plugins, record_run

if TYPE_CHECKING:
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Condition, Episode, Score
    from agent_env.records.trace_events import Parent


async def fork(
    trace: Path, options: ForkOptions, listener: Listener, objects: Objects = NO_OBJECTS
) -> Run:
    """Creates the run of the forks, runs its episodes and returns it."""
    from agent_env.episodes.again.fork import Beginning, make_forks, read_edits, step_of
    from agent_env.episodes.again.tape import Recording
    from agent_env.episodes.contexts.copies import copied_files
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.episodes.runner import utc_now
    from agent_env.episodes.trace.lines import read_trace
    from agent_env.records.trace_events import Parent

    source, events = run_of(trace, objects), read_trace(trace)
    source.check_ours("forked")
    manifest = source.manifest
    try:
        recording = Recording.of(events)
    except ReplayError as exc:
        raise DatasetError(trace, 1, str(exc)) from exc
    step = step_of(recording, options.at)
    if options.edit is not None and step is None:
        raise ConfigError("--edit replaces a tool result of step K; --at 0 has none")
    edits = read_edits(options.edit, step) if options.edit and step else {}
    parent = Parent(
        run=manifest.id or source.path.name,
        episode=recording.start.episode,
        step=options.at,
        edited=tuple(edits),
    )
    fork_manifest = await _forked_manifest(
        fresh_manifest(manifest), options, recording.start.condition, parent, objects
    )
    own = own_settings(manifest, options)
    own += ("sandbox",) if manifest.sandbox is None else ()
    check_trust(source, fork_manifest, listener.note, confirmed=options.trust_run, own=own)
    name = recording.start.sample
    if (sample := source.samples_by_id.get(name)) is None:
        raise DatasetError(source.path / "samples.jsonl", None, f"no '{name}'")
    async with AsyncExitStack() as stack:
        now = datetime.now(UTC)
        out = Run(options.out or source.place(f"forks/{now:%Y%m%d-%H%M%S-%f}"), objects)
        stack.callback(out.let_go)
        plugins = Plugins(fork_manifest.plugins, objects, source.permit)
        out.parts = Parts(
            await open_counted(fork_manifest, listener.note, stack, plugins)
        )  # fails before a folder
        materials, files = source.materials_bytes(), copied_files(source, manifest)
        condition = fork_manifest.conditions[0]
        beginnings = [
            Beginning(EpisodeKey(name, condition.name, n), condition, recording, parent, edits)
            for n in range(1, options.repeats + 1)
        ]
        make_forks(
            out, fork_manifest, beginnings, [sample], materials, source.pages, utc_now, files,
            recording,
        )  # fmt: skip
        record_run(out, listener.note, source)
        await run_episodes(out, None, listener)
    return out


def run_of(trace: Path, objects: Objects) -> Run:
    """The run of a trace, by its path."""
    return Run(trace.resolve().parents[2], objects)


async def _forked_manifest(
    manifest: Manifest,
    options: ForkOptions,
    condition: Condition,
    parent: Parent,
    objects: Objects,
) -> Manifest:
    """The parent's manifest for one sample and condition, with the fork's changes."""
    tools = own_tools(manifest.conditions)
    chosen = (
        parse_condition(options.condition, tools, own_call()) if options.condition else condition
    )
    if (chosen.context, chosen.wording) != (condition.context, condition.wording):
        raise ConfigError(
            f"a fork keeps its parent's question, pages included, and that was asked under "
            f"'{condition.name}'; --condition {chosen.name} can only add or take away tools"
        )
    if chosen.tools and not has_choice(chosen.name):
        chosen = chosen.model_copy(update={"first_step": condition.first_step})
    if options.condition and condition.disturbance is not None:  # it goes on in the same world
        chosen = with_disturbances((chosen,), (condition.disturbance,))[-1]
    sandbox = manifest.sandbox
    if needs_sandbox(chosen) and sandbox is None:
        sandbox = (await choose_sandbox(options.sandbox, own_plugins())).name
    other, url, server = other_server(options.model, options.base_url)
    update = with_changes(manifest.model_dump(), options.changes) | server
    if other is not None:
        update |= with_model(manifest, other, objects)
    model = update.get("model", manifest.model)
    before = update.get("model_parameters", manifest.model_parameters)
    update |= {
        "parent": parent,
        "study": None,  # neither its study nor its test goes over the fork
        "until": None,
        "model_parameters": moved(before, model, url, options.api_key_env, False),
        "conditions": (chosen,),
        "repeats": options.repeats,
        "samples": 1,
        "sandbox": sandbox if needs_sandbox(chosen) else None,
        "web": (manifest.web or "sealed") if needs_web([chosen]) else None,
    }
    forked = manifest.model_copy(update=update)
    return forked.model_copy(update={"plugins": uses_in(forked)})


@dataclass(frozen=True, slots=True)
class ForkSet:
    """A parent and its forks with their scores, the parent first."""

    parent: Parent
    metrics: tuple[str, ...]
    episodes: tuple[tuple[str, Episode, Score], ...]


def read_forks(run: Run, note: Callable[[str], None]) -> ForkSet:
    """The forks of a run and their parent, scored by the same scorer; stores the scores."""
    from agent_env.episodes.again.fork import read_parent
    from agent_env.runs.score import score_folder

    parent = run.manifest.parent
    if parent is None:
        raise ConfigError(f"{run.path} is no run of forks; agent-env fork makes one")
    before = read_parent(run)
    task, scored = run.task, score_folder(run, note)
    (sample,) = run.samples
    rows = [("parent", before, task.score(sample, before))]
    rows += [(f"fork {episode.repeat}", episode, score) for episode, score in scored]
    return ForkSet(parent, task.metrics, tuple(rows))
