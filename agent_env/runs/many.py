"""Many runs: of several models side by side in one event loop, each model's one after the other. A
run that fails does not hold up the others.

Covered: errors of the user, of servers, limits and the disk, which end the run they come from and
are told at the end. Not covered: errors of our own code, which end everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.run_folder import pending
from agent_env.errors import AgentEnvError, ConfigErrors, DatasetError, RunStopped
from agent_env.runs.options.run_options import PreflightWish, ResumeOptions, RunOptions
from agent_env.runs.planning.plan import plan_run
from agent_env.runs.resume import check_resumed, resume
from agent_env.runs.run import Run
from agent_env.runs.start import (
    Engine,
    Listener,
    open_plan,
    reference_pages,
    run_episodes,
    try_server,
)

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunBudget

ListenerFor = Callable[[str], Listener]
"""Makes the listener of the run of this name."""


@dataclass(frozen=True, slots=True)
class ModelRuns:
    name: str
    runs: Sequence[Run]
    budget: RunBudget | None = None
    """Of all of them together."""


@dataclass(frozen=True, slots=True)
class ManyOptions:
    options: ResumeOptions = field(default_factory=ResumeOptions)
    """For runs that were begun before."""
    preflight: PreflightWish = "on"
    """For runs without a preflight."""
    engine: Engine | None = None
    """None for this process, where the models run at the same time."""
    only: frozenset[Path] | None = None
    """The runs that are begun or gone on with; None for all."""


async def make_all(each: Iterable[RunOptions], note: Callable[[str], None]) -> list[Run]:
    """Makes the folders of all runs, or of none: ConfigError with every mistake, a line each."""
    runs, mistakes, notes = list[Run](), dict[str, None](), set[str]()

    def note_once(text: str) -> None:
        if text not in notes:
            notes.add(text)
            note(text)

    try:
        for options in each:
            try:
                async with AsyncExitStack() as stack:
                    plan = await plan_run(options, note_once, stack, build_pages=reference_pages)
                    runs.append(open_plan(plan, note_once, stack))
            except AgentEnvError as exc:
                mistakes[str(exc)] = None
        if mistakes:
            raise ConfigErrors(list(mistakes))
    except BaseException:  # a signal, too, leaves no folder without its siblings
        for run in runs:
            run.discard()
            with suppress(OSError):
                run.path.parent.rmdir()  # if it is empty
        raise
    return runs


async def start_many(
    each: Iterable[RunOptions],
    listener_for: ListenerFor,
    note: Callable[[str], None],
    how: ManyOptions,
) -> dict[str, str]:
    """Makes a run for each model and runs them all, as `run_many`."""
    runs = await make_all(each, note)
    return await run_many([ModelRuns(run.path.name, [run]) for run in runs], listener_for, how)


async def run_many(
    models: Sequence[ModelRuns],
    listener_for: ListenerFor,
    how: ManyOptions,
    budget: RunBudget | None = None,
    names: Mapping[Path, str] | None = None,
) -> dict[str, str]:
    """Runs whatever is missing of all runs; gives by name of a run why it did not come to its end.
    `budget`: of all runs together; `names`: of the runs, by path, default: of their folders."""
    from agent_env.episodes.calls.options import open_budget

    every = [(model, run) for model in models for run in model.runs]
    for _, run in every:  # all of them before any is begun
        with suppress(DatasetError):  # told with the others' outcomes
            check_resumed(run, how.options, lambda text: None)
    name_of = {run.path: run.path.name if names is None else names[run.path] for _, run in every}
    wider = {model.name: [b for b in (budget, model.budget) if b is not None] for model in models}
    failures: dict[str, str] = {}
    budgets: dict[Path, RunBudget] = {}
    for model, run in every:
        if limits := tuple(wider[model.name]):
            try:
                budgets[run.path] = open_budget(run, run.manifest, limits)
            except AgentEnvError as exc:
                failures[name_of[run.path]] = str(exc)

    async def go(model: ModelRuns) -> None:
        for run in (r for r in model.runs if how.only is None or r.path in how.only):
            name = name_of[run.path]
            listener = _prefixed(listener_for(name), name)
            failures.pop(name, None)
            try:
                async with AsyncExitStack() as stack:
                    for each in wider[model.name]:
                        await stack.enter_async_context(each.wall_time())
                    await _run_one(run, listener, how, budgets.get(run.path))
            except AgentEnvError as exc:
                failures[name] = f"stopped: {exc}" if isinstance(exc, RunStopped) else str(exc)
            run.drop_objects()

    if how.engine is None:
        async with asyncio.TaskGroup() as group:
            for model in models:
                group.create_task(go(model))
    else:
        for model in models:
            await go(model)
    return {name: failures[name] for name in sorted(failures)}


def _prefixed(listener: Listener, name: str) -> Listener:
    return replace(listener, note=lambda text: listener.note(f"{name}: {text}"))


async def _run_one(
    run: Run, listener: Listener, how: ManyOptions, budget: RunBudget | None
) -> None:
    engine: Engine = how.engine or run_episodes
    if budget is not None:
        engine = partial(engine, budget=budget)
    manifest = run.manifest
    if next(pending(run, run.samples, manifest.conditions, manifest.repeats), None) is None:
        listener.begin(run, manifest.planned_episodes)
        return
    if manifest.preflights or next(run.traces(), None) is not None:
        await resume(run, how.options, listener, engine)
        return
    async with AsyncExitStack() as stack:
        stack.callback(run.drop_objects)
        if budget is None:
            await try_server(run, how.preflight, listener.note, stack)
        else:
            async with budget.share_of(0):  # nothing is asked where the budget is spent
                await try_server(run, how.preflight, listener.note, stack)
            for probe in (p for each in run.manifest.preflights for p in each.probes):
                budget.spend(probe.charged or probe.usage, is_preflight=True)
        await engine(run, how.options.concurrency, listener)
