"""Runs of several models side by side in one event loop; each model has its runs one after the
other. A run that fails does not hold up the others.

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

from agent_env.episodes.pending import pending
from agent_env.errors import AgentEnvError, ConfigErrors, DatasetError, RunStopped
from agent_env.runs.options import PreflightWish, ResumeOptions, RunOptions
from agent_env.runs.plan import plan_run
from agent_env.runs.resume import check_resumed, resume
from agent_env.runs.run import Run
from agent_env.runs.start import Engine, Listener, open_plan, run_episodes, try_server

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunBudget
    from agent_env.runs.stopping import Stopping

ListenerFor = Callable[[str], Listener]
"""Makes the listener of the run of this name."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The runs of one model, in their order."""

    name: str
    runs: Sequence[Run]
    budget: RunBudget | None = None
    """Of all its runs together."""


@dataclass(frozen=True, slots=True)
class Course:
    """How runs are begun and gone on with."""

    options: ResumeOptions = field(default_factory=ResumeOptions)
    """For runs that were begun before."""
    preflight: PreflightWish = "on"
    """For runs without a preflight."""
    engine: Engine | None = None
    """None for this process."""
    is_side_by_side: bool = True
    """Whether the models run at the same time."""
    only: frozenset[Path] | None = None
    """The runs that are begun or gone on with; None for all."""


async def prepare_all(each: Iterable[RunOptions], note: Callable[[str], None]) -> list[Run]:
    """Makes the folders of all runs, or of none: ConfigError with every mistake, a line each."""
    runs, mistakes, notes = list[Run](), dict[str, None](), set[str]()

    def note_once(text: str) -> None:
        if text not in notes:
            notes.add(text)
            note(text)

    try:
        for options in with_one_rule(list(each)):
            try:
                async with AsyncExitStack() as stack:
                    plan = await plan_run(options, note_once, stack)
                    runs.append(open_plan(plan, note_once, stack))
            except AgentEnvError as exc:
                mistakes[str(exc)] = None
        if not mistakes:
            for folder in {run.path.parent for run in runs}:
                try:
                    _rule_of([run for run in runs if run.path.parent == folder], note)
                except AgentEnvError as exc:
                    mistakes[str(exc)] = None
        if mistakes:
            raise ConfigErrors(list(mistakes))
    except BaseException:  # a signal, too, leaves no folder without its siblings
        for run in runs:
            run.discard()
            _remove_empty(run.path.parent)
        raise
    return runs


def with_one_rule(each: Sequence[RunOptions]) -> list[RunOptions]:
    """The options, in which runs side by side that may stop early have one test together, with
    those that are there already."""
    names: dict[Path, list[str]] = {}
    for options in each:
        if options.out is not None:
            parent = options.out.parent
            before = sorted(file.parent.name for file in parent.glob("*/run.json"))
            names.setdefault(parent, before).append(options.out.name)
    return [
        replace(options, stop=replace(options.stop, together=tuple(names[options.out.parent])))
        if options.stop.until and options.out is not None
        else options
        for options in each
    ]


def _rule_of(runs: Sequence[Run], note: Callable[[str], None]) -> Stopping | None:
    """The test over these runs, side by side; that of the latest where some were added later."""
    rules = [(len(rule.together), i) for i, r in enumerate(runs) if (rule := r.manifest.until)]
    if not rules:
        return None
    from agent_env.runs.stopping import stopping_of

    return stopping_of(runs[max(rules)[1]], note)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


async def run_models(
    each: Iterable[RunOptions],
    listener_for: ListenerFor,
    note: Callable[[str], None],
    course: Course,
) -> dict[str, str]:
    """Makes a run for each model and runs them all; by name of a run why it did not come to its
    end."""
    runs = await prepare_all(each, note)
    return await run_lanes([Lane(run.path.name, [run]) for run in runs], listener_for, course)


async def run_lanes(
    lanes: Sequence[Lane],
    listener_for: ListenerFor,
    course: Course,
    budget: RunBudget | None = None,
    names: Mapping[Path, str] | None = None,
) -> dict[str, str]:
    """Runs whatever is missing of all runs; gives by name of a run why it did not come to its end.
    `budget`: of all runs together; `names`: of the runs, by path, default: of their folders."""
    for run in (run for lane in lanes for run in lane.runs):  # all of them before any is begun
        with suppress(DatasetError):  # told with the others' outcomes
            check_resumed(run, course.options, lambda text: None)
    failures: dict[str, str] = {}
    rules: dict[Path, Stopping | None] = {}
    beside: dict[Path, list[Run]] = {}
    for run in (run for lane in lanes for run in lane.runs):
        beside.setdefault(run.path.parent, []).append(run)
    wider = {lane.name: tuple(b for b in (budget, lane.budget) if b is not None) for lane in lanes}
    budgets = {
        run.path: _opened_budget(run, wider[lane.name], failures, _name(run, names))
        for lane in lanes
        if wider[lane.name]
        for run in lane.runs
    }

    async def go(lane: Lane) -> None:
        for run in (r for r in lane.runs if course.only is None or r.path in course.only):
            name = _name(run, names)
            listener = listener_for(name)
            listener = replace(listener, note=_prefixed(listener.note, name))
            failures.pop(name, None)
            try:
                async with AsyncExitStack() as stack:
                    for each in wider[lane.name]:
                        await stack.enter_async_context(each.wall_time())
                    folder = run.path.parent
                    if folder not in rules:
                        rules[folder] = _rule_of(beside[folder], listener.note)
                    rule = rules[folder]
                    await _run_one(run, listener, course, budgets.get(run.path), rule)
            except AgentEnvError as exc:
                failures[name] = f"stopped: {exc}" if isinstance(exc, RunStopped) else str(exc)
            run.let_go()

    if course.is_side_by_side:
        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(go(lane))
    else:
        for lane in lanes:
            await go(lane)
    return {name: failures[name] for name in sorted(failures)}


def _name(run: Run, names: Mapping[Path, str] | None) -> str:
    return run.path.name if names is None else names[run.path]


def _prefixed(note: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda text: note(f"{name}: {text}")


def _opened_budget(
    run: Run, wider: tuple[RunBudget, ...], failures: dict[str, str], name: str
) -> RunBudget | None:
    from agent_env.episodes.calls.options import open_budget

    try:
        return open_budget(run, run.manifest, wider)
    except AgentEnvError as exc:
        failures[name] = str(exc)
        return None


async def _run_one(
    run: Run,
    listener: Listener,
    course: Course,
    budget: RunBudget | None,
    rule: Stopping | None,
) -> None:
    """Begins the run, or goes on with it."""
    engine: Engine = course.engine or run_episodes
    if budget is not None:
        engine = partial(engine, budget=budget)
    if rule is not None and course.engine is None:
        engine = partial(engine, stopping=rule.of(run))
    manifest = run.manifest
    is_new = not manifest.preflights and next(run.traces(), None) is None
    if next(pending(run, run.samples, manifest.conditions, manifest.repeats), None) is None:
        listener.begin(run, manifest.planned_episodes)
        return
    if not is_new:
        await resume(run, course.options, listener, engine)
        return
    async with AsyncExitStack() as stack:
        stack.callback(run.let_go)
        if budget is None:
            await try_server(run, course.preflight, listener.note, stack)
        else:
            async with budget.share_of(0):  # nothing is asked where the budget is spent
                await try_server(run, course.preflight, listener.note, stack)
            for probe in (p for each in run.manifest.preflights for p in each.probes):
                budget.spend(probe.charged or probe.usage, is_preflight=True)
        await engine(run, course.options.concurrency, listener)
