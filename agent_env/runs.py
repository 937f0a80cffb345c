"""A run's folder: its episodes are run, or what is missing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_env.episodes.run_calls import allow_open_files
from agent_env.model_wiring import health_of
from agent_env.preparing import RunOptions, prepare_run
from agent_env.tasks.family import by_digest, stored_options
from agent_env.wiring import load_family, open_rooms, with_texts

if TYPE_CHECKING:
    from agent_env.episodes.budget import RunLimits
    from agent_env.episodes.run_folder import EpisodeKey, RunFolder
    from agent_env.protocols import Task


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
    """Make the samples and the folder, then run all episodes, by `run_folder` or another engine."""
    folder = await prepare_run(options, listener.note)
    await (engine or run_folder)(folder, options.concurrency, listener)
    return folder


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
    from agent_env.episodes.changes import limits_of
    from agent_env.episodes.run_calls import change_run_limits, open_calls
    from agent_env.episodes.runner import Runner

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
        )
        await runner.run(samples, manifest.conditions, manifest.repeats, listener.end)


def task_of(folder: RunFolder) -> Task:
    """The task as the run was asked it: its prompt, its options, its tables."""
    manifest = folder.manifest()
    family = load_family(manifest.task)
    options = stored_options(family, manifest.options)
    task = family.make_task(manifest.prompt, options, by_digest(folder.materials()))
    return with_texts(task, manifest.prompt_file, manifest.system_file)
