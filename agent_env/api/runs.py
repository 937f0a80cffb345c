"""What `import agent_env` does with runs: begin, open and compare them, make one of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from pydantic import TypeAdapter, ValidationError

from agent_env.api.comparisons import WRITTEN, Comparison, comparison_of
from agent_env.api.run import Run
from agent_env.errors import ConfigError
from agent_env.runs.comparing.compare import CompareOptions
from agent_env.runs.options.keywords import from_arguments, with_keywords
from agent_env.runs.options.run_options import PreflightWish, RunOptions
from agent_env.runs.planning.objects import (
    Condition,
    LocalObjects,
    ModelLike,
    ScorerLike,
    TaskOptions,
    ToolLike,
    several,
)
from agent_env.runs.planning.objects import task as make_task
from agent_env.runs.run import Run as OpenRun
from agent_env.runs.screen.terminal import say
from agent_env.runs.waiting import wait_for

if TYPE_CHECKING:
    from agent_env.runs.options.keyword_types import CompareKeywords, RunKeywords
    from agent_env.tasks.family import Family
    from agent_env.tasks.task import Task

Preflight = Literal["on", "off", "anyway"] | bool


def as_bool(name: str, value: object) -> bool:
    """The value, or the word for it that the command line knows; ConfigError for another."""
    try:
        return TypeAdapter(bool).validate_python(value)
    except ValidationError:
        raise ConfigError(f"{name}={value!r}: write True or False") from None


def preflight_wish(value: Preflight) -> PreflightWish:
    """`anyway`, or what a boolean or a word for one says; ConfigError for anything else."""
    if value == "anyway":
        return "anyway"
    try:
        return "on" if as_bool("preflight", value) else "off"
    except ConfigError:
        raise ConfigError(f"preflight={value!r}: write True, False or 'anyway'") from None


@with_keywords(RunOptions, without=("task",))
async def run(
    task: TaskOptions | str | Family | Task,
    /,
    *,
    model: ModelLike = "reference",
    conditions: Sequence[str | Condition] | str | Condition = (),
    tools: Sequence[ToolLike] | ToolLike = (),
    scorer: ScorerLike | None = None,
    preflight: Preflight = "on",
    progress: bool = True,
    **options: Unpack[RunKeywords],
) -> Run:
    """Asks a model the questions of a task under several conditions, and gives back the run.

    A model is named, or is a function of the messages, the tools offered and the options, as many
    as it takes, which gives a text, a message or a Reply. Conditions are named, or are a
    `Condition`; they may name `tools` of one's own: functions, what `tool` makes, MODULE:NAME or
    file.py:NAME. A `scorer` is named, or is a function of a sample and an answer. The other
    keywords are the options of `agent-env run` (docs/commands.md). `preflight` tries the model's
    server first; `anyway` runs conditions that it finds meaningless. `progress` goes to stderr, in
    a notebook to one line of the cell.

    Examples:
        >>> import agent_env as ae, asyncio
        >>> task = ae.task("time-puzzles", limit=2)
        >>> run = asyncio.run(ae.run(task, conditions=["base", "explicit"], out="runs/second"))
        >>> run
        Run('runs/second': time-puzzles, reference, 4 of 4 episodes)
    """
    from agent_env.runs.scores.score import read_scores
    from agent_env.runs.screen.progress import progress_shown
    from agent_env.runs.servers.probe import resolve_models
    from agent_env.runs.start import start_run

    asked = task if isinstance(task, TaskOptions) else make_task(task)
    local = LocalObjects(asked.objects)
    arguments = {
        "model": local.model(model),
        "conditions": local.conditions(several(conditions), several(tools)),
        "scorer": None if scorer is None else local.scorer(scorer),
    }
    chosen = from_arguments(RunOptions, {**asked.keywords, **arguments, **options}, "run")
    chosen = replace(chosen, preflight=preflight_wish(preflight), objects=local.objects)
    (named,) = await resolve_models([chosen.model], chosen.api_key_envs)
    with progress_shown(as_bool("progress", progress)) as shown:
        new_run = await start_run(replace(chosen, model=named), shown.listener)
    for line in read_scores(new_run, None, say).remarks():
        say(line)
    return Run(new_run)


@with_keywords(RunOptions, without=("task",))
def run_sync(
    task: TaskOptions | str | Family | Task,
    /,
    *,
    model: ModelLike = "reference",
    conditions: Sequence[str | Condition] | str | Condition = (),
    tools: Sequence[ToolLike] | ToolLike = (),
    scorer: ScorerLike | None = None,
    preflight: Preflight = "on",
    progress: bool = True,
    **options: Unpack[RunKeywords],
) -> Run:
    """`run` for scripts, without `await`; in a notebook too, where nothing else continues until it
    ends.

    Examples:
        >>> import agent_env as ae
        >>> run = ae.run_sync("time-puzzles", limit=1, conditions="explicit", progress=False)
        >>> [episode.score["exact_match"] for episode in run.episodes()]
        [1.0]
    """
    arguments = {"model": model, "conditions": conditions, "tools": tools, "scorer": scorer}
    return wait_for(run(task, preflight=preflight, progress=progress, **arguments, **options))


def open(
    path: Path | str,
    /,
    *,
    task: Family | Task | None = None,
    model: ModelLike | None = None,
    tools: Sequence[ToolLike] | ToolLike = (),
    scorer: ScorerLike | None = None,
) -> Run:
    """The run in this folder; ConfigError or DatasetError where there is none. A run that was made
    with objects of another process needs them again.

    Examples:
        >>> import agent_env as ae
        >>> ae.open("runs/none")
        Traceback (most recent call last):
        agent_env.errors.ConfigError: runs/none is not a run: it has no run.json
    """
    local = LocalObjects()
    if task is not None:
        local.family(task)
    if model is not None:
        local.model(model)
    for tool in several(tools):
        local.tool(tool)
    name = None if scorer is None else local.scorer(scorer)
    run = OpenRun.open(path, local.objects)
    if name is not None and name != run.manifest.scorer:
        raise ConfigError(
            f"{path} is scored by {run.manifest.scorer or 'its task'}; scorer is its function, "
            f"and this one is {name}"
        )
    return Run(run)


def import_log(log: Path | str, /, *, out: Path | str, columns: Path | str | None = None) -> Run:
    """A run of another tool's log, in the new folder `out`: conversations as traces, where the log
    has them, and the log's own scores. Such a run can be read, compared and exported, and not asked
    again. `columns` says what the columns of a table are (`agent-env docs analysis`).

    Examples:
        >>> import agent_env as ae
        >>> ae.import_log("none.eval", out="runs/none")
        Traceback (most recent call last):
        agent_env.errors.ConfigError: none.eval: there is no such file
    """
    from agent_env.runs.logs import logs

    table = None if columns is None else Path(columns)
    runs = logs().import_log(Path(log), Path(out), say, table)
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs)
        say(f"{log} holds several logs; {runs[0]} is the first of {names}")
    return Run(OpenRun(runs[0]))


@with_keywords(CompareOptions, without=("runs", *WRITTEN))
def compare(*runs: Run | Path | str, **options: Unpack[CompareKeywords]) -> Comparison:
    """The conditions of all runs, paired by sample. A run is an opened one, a folder, a folder of
    runs of one task, or the log of another tool (`agent-env docs analysis`). The keywords are the
    options of `agent-env compare` that say what is estimated.

    Examples:
        >>> import agent_env as ae
        >>> comparison = ae.compare("runs/first")
        >>> comparison.differences.rows[0][0]
        'explicit − base'
    """
    opened = [each._run if isinstance(each, Run) else each for each in runs]
    return comparison_of(opened, options)
