"""A run's folder: its episodes are run, or what is missing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from agent_env.episodes.calls.options import allow_open_files
from agent_env.errors import ConfigError
from agent_env.models.addresses import split_address, variable_in
from agent_env.records.manifest import Manifest, Preflight
from agent_env.runs.options import RunOptions
from agent_env.runs.prepare import prepare_run
from agent_env.tasks.family import by_digest, stored_options
from agent_env.wiring.models import facts_of_server, health_of, open_counted
from agent_env.wiring.registry import SCRIPTS, load_family
from agent_env.wiring.rooms import open_rooms, with_texts

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.episodes.run_folder import EpisodeKey, RunFolder
    from agent_env.records.schema import ToolSpec
    from agent_env.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears of a run's progress."""

    note: Callable[[str], None]
    """One line for the user."""
    begin: Callable[[RunFolder, int], None]
    """The folder, and how many episodes the run has."""
    end: Callable[[EpisodeKey, str], None]
    """An episode ended, with its status."""
    pace: Callable[[Callable[[], str]], None] = lambda tell: None
    """Gets a function that tells how many calls are in flight."""


Engine = Callable[..., Coroutine[Any, Any, None]]
"""Takes what `run_folder` takes."""


async def start_run(
    options: RunOptions, listener: Listener, engine: Engine | None = None
) -> RunFolder:
    """Make the run by `make_run`, then run all episodes, by `run_folder` or another engine."""
    folder = await make_run(options, listener.note)
    await (engine or run_folder)(folder, options.concurrency, listener)
    return folder


async def make_run(options: RunOptions, note: Callable[[str], None]) -> RunFolder:
    """Make the samples and the folder. ConfigError, and no folder, where a preflight is wished and
    tells that the run would mean nothing."""
    folder = await prepare_run(options, note)
    if options.preflight == "off":
        return folder
    try:
        anyway = options.preflight == "anyway"
        manifest = await with_preflight(folder, folder.manifest(), anyway, note)
    except ConfigError:
        folder.discard()
        raise
    folder.rewrite(manifest)
    return folder


async def check_run(options: RunOptions, note: Callable[[str], None]) -> Manifest:
    """The manifest that the run would have, with what a preflight tells; nothing stays on disk."""
    with TemporaryDirectory() as parent:
        folder = await prepare_run(replace(options, out=Path(parent) / "run"), note)
        return await with_preflight(folder, folder.manifest(), True, lambda text: None)


async def with_preflight(
    folder: RunFolder, manifest: Manifest, anyway: bool, note: Callable[[str], None]
) -> Manifest:
    """The manifest with what short calls tell of its server; unchanged for a scripted model.
    ConfigError where a condition cannot mean anything, unless it is run `anyway`."""
    from agent_env.episodes.calls.preflight import refusal, remarks, saw_fences

    if manifest.model in SCRIPTS:
        return manifest
    in_text = manifest.model_parameters.get("tool_protocol") == "text"
    found = await _preflight(folder, manifest, in_text, note)
    reason = refusal(found, in_text)
    if reason is not None and not anyway:
        raise ConfigError(reason)
    for remark in remarks(found):
        note(f"preflight: {remark}")
    parameters = manifest.model_parameters
    if in_text and saw_fences(found) and "text_calls" not in parameters:
        parameters = parameters | {"text_calls": "lenient"}
        note("preflight: calls come in fenced blocks of another name: --text-calls lenient")
    earlier = manifest.preflights
    update = {"model_parameters": parameters, "preflights": (*earlier, found)}
    return manifest.model_copy(update=update)


async def _preflight(
    folder: RunFolder, manifest: Manifest, in_text: bool, note: Callable[[str], None]
) -> Preflight:
    from agent_env.episodes.calls.preflight import MOST_OUTPUT, Target, preflight

    task = task_of(folder)
    sample, *_ = folder.samples(task.sample_type)
    base_url = manifest.model_parameters.get("base_url")
    address = str(base_url) if base_url else None
    async with AsyncExitStack() as stack:
        brief = manifest.model_copy(
            update={"model_parameters": _brief(manifest.model_parameters, MOST_OUTPUT)}
        )
        model, _ = await open_counted(brief, note, stack)
        rooms = await open_rooms(folder, manifest, task, stack, note, model)
        offers: dict[tuple[str, ...], Sequence[ToolSpec]] = {}
        for condition in manifest.conditions:
            if condition.tools and condition.tools not in offers:
                async with rooms.open_seams(sample, condition) as seams:
                    specs = seams.toolbox.specs
                if not any(spec.hosted for spec in specs):  # these run, and cost, at the provider
                    offers[condition.tools] = specs
        facts = await facts_of_server(
            manifest.model, address, variable_in(manifest.model_parameters)
        )
        target = Target(split_address(manifest.model)[0], address, facts, in_text)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return await preflight(model, target, manifest.conditions, offers, at)


def _brief(parameters: Mapping[str, JsonValue], most: int) -> dict[str, JsonValue]:
    """The parameters for replies that are short."""
    wished, extra = parameters.get("max_output_tokens"), parameters.get("extra_body")
    if isinstance(extra, dict) and "max_output_tokens" in extra:
        return dict(parameters)
    return {
        **parameters,
        "max_output_tokens": min(wished, most) if isinstance(wished, int) else most,
    }


async def run_folder(
    folder: RunFolder,
    concurrency: int | None,
    listener: Listener,
    limits: RunLimits | None = None,
    strict: bool = True,
) -> None:
    """Run whatever episode of the folder has no complete trace; also how a run is resumed, with
    other `limits` of the whole run where they are given. Where it is `strict`, an episode fails
    whose requests are not those that were recorded."""
    from agent_env.episodes.again.changes import limits_of
    from agent_env.episodes.calls.options import change_run_limits, open_calls
    from agent_env.episodes.runner import Runner
    from agent_env.episodes.watch import Watch

    if limits is not None:
        change_run_limits(folder, limits)
    manifest = folder.manifest()
    task = task_of(folder)
    samples = folder.samples(task.sample_type)
    at_once = concurrency or manifest.concurrency
    allow_open_files(at_once)
    listener.begin(folder, len(samples) * len(manifest.conditions) * manifest.repeats)
    async with AsyncExitStack() as stack:
        stack.enter_context(folder.locked())
        rooms = await open_rooms(folder, manifest, task, stack, listener.note)
        is_up = health_of(manifest.model, manifest.model_parameters.get("base_url"))
        calls = open_calls(folder, manifest, at_once, stack, listener.note, is_up)
        listener.pace(lambda: str(calls.pace))
        telling = asyncio.create_task(calls.outage.tell_quiet(lambda: calls.pace.in_flight))
        stack.callback(telling.cancel)
        runner = Runner(
            folder=folder,
            model_name=manifest.model,
            open_seams=rooms.open_seams,
            tokenizer=rooms.tokenizer,
            limits=limits_of(manifest),
            concurrency=at_once,
            seed=manifest.seed or 0,
            calls=calls,
            parameters=manifest.model_parameters,
            model_seed=manifest.model_parameters.get("seed"),  # type: ignore[arg-type]
            fsync=manifest.fsync,
            run_id=manifest.id,
            strict=strict,
            note=listener.note,
            watch=Watch(listener.note, manifest.served_model),
        )
        await runner.run(samples, manifest.conditions, manifest.repeats, listener.end)


def task_of(folder: RunFolder) -> Task:
    """The task as the run was asked it: its prompt, its options, its tables."""
    manifest = folder.manifest()
    family = load_family(manifest.task)
    options = stored_options(family, manifest.options)
    task = family.make_task(manifest.prompt, options, by_digest(folder.materials()))
    return with_texts(task, manifest.prompt_file, manifest.system_file)
