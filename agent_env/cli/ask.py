"""Commands that ask models: `run` and `resume`, in this process or over a cluster."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent_env.cli.options import with_options
from agent_env.cli.preflight import print_checks
from agent_env.cli.run import (
    AsJson,
    RunPath,
    print_scores,
    say,
    scored_when_stopped,
    side_by_side,
    tell_outcomes,
)
from agent_env.errors import ConfigError, did_you_mean
from agent_env.records.options import RUNNING, Opt
from agent_env.registry import hook

if TYPE_CHECKING:
    from agent_env.runs.many import ListenerFor
    from agent_env.runs.options.run_options import ResumeOptions, RunOptions
    from agent_env.runs.start import Engine


def read_config(context: typer.Context, file: Path | None) -> None:
    """Takes the file's values as the defaults of the command's options; an error names the file,
    the line and the key."""
    from agent_env.errors import DatasetError
    from agent_env.runs.options.toml_lines import TomlLines

    if file is None:
        return
    try:
        toml = TomlLines(file, file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"--config {file} cannot be read: {exc}") from exc
    known = {each.opts[0].removeprefix("--"): each for each in context.command.params}
    del known["config"]
    values = {}
    for key, value in toml.data.items():
        try:
            if (option := known.get(key.replace("_", "-"))) is None:
                hint = did_you_mean(key, known) or "run --help-all lists them"
                raise ConfigError(f"there is no such option; {hint.strip()}")
            values[option.name] = _value(context, option, value, file.parent)
        except ConfigError as exc:
            raise DatasetError(file, toml.line((key,)), f"{key}: {exc}") from exc
    context.default_map = values


def _value(context: typer.Context, option: Any, value: Any, folder: Path) -> Any:
    """The value as the command line has it: texts, files of the folder with their whole paths."""
    from agent_env.runs.options.toml_lines import with_files
    from agent_env.tasks.family import option_texts

    is_several = getattr(option, "multiple", False)
    if getattr(option, "is_flag", False):
        if not isinstance(value, bool):
            raise ConfigError(f"write true or false, not {value!r}")
        return value
    if is_several:
        parts = option_texts(value) if isinstance(value, Mapping) else value
        parts = parts if isinstance(parts, list | tuple) else [parts]
    else:
        parts = [value]
    if wrong := [each for each in parts if isinstance(each, bool | list | Mapping)]:
        raise ConfigError(f"{wrong[0]!r} is not a value; write a text or a number")
    texts = [with_files(folder, str(each)) for each in parts]
    typed = texts if is_several else texts[0]
    try:
        made = option.process_value(context, typed)
    except typer.BadParameter as exc:
        raise ConfigError(exc.message) from exc
    return folder / made if isinstance(made, Path) else typed


SERVER, SCALE_OUT = "The model", "Scale-out"
FIRST = (
    "model", "condition", "limit", "repeats", "option", "dataset", "base-url", "api-key-env",
    "web", "run-tokens", "run-cost-usd", "out", "config", "check",
)  # fmt: skip
"""What `run --help` shows; `--help-all` shows the rest."""
WithPreflight = Annotated[
    bool,
    Opt(
        "Try the server with a few short calls first: which model answers, whether tools reach it.",
        SERVER,
    ),
]
Anyway = Annotated[
    bool,
    Opt(
        "Run conditions that the preflight finds meaningless; tables mark them.",
        SERVER,
    ),
]
Check = Annotated[
    bool,
    Opt(
        "Only check the server, and say what the run would cost and which differences it could "
        "show.",
        SERVER,
    ),
]
Like = Annotated[
    list[Path] | None,
    Opt(
        "With --check: an earlier run, or a folder of runs, to forecast from. Repeatable.",
        SERVER,
        metavar="RUN",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help='A TOML file of options: limit = 12, condition = ["base", "web"].',
        metavar="FILE",
        callback=read_config,
        is_eager=True,
        rich_help_panel=RUNNING,
    ),
]
EngineName = Annotated[
    Literal["local", "ray"],
    Opt("local, or ray (extra): the cluster of RAY_ADDRESS, else this machine alone.", SCALE_OUT),
]


@with_options("agent_env.runs.options.run_options:RunOptions", first=FIRST)
def run(
    options: RunOptions,
    model: list[str] | None = None,
    preflight: WithPreflight = True,
    anyway: Anyway = False,
    check: Check = False,
    like: Like = None,
    engine: EngineName = "local",
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model the questions of a task, with and without tools.

    Example: agent-env run time-puzzles --model openai/gpt-5 --condition web --condition web+python
    """
    import asyncio

    from agent_env.runs.planning.plan import one_per_model
    from agent_env.runs.servers.probe import resolve_models
    from agent_env.runs.start import start_run

    options = replace(options, preflight="anyway" if anyway else "on" if preflight else "off")
    models = asyncio.run(resolve_models(model or [options.model], options.api_key_envs))
    if like and not check:
        raise ConfigError("--like is for --check: what would this run use, and what can it show")
    if check:
        print_checks(one_per_model(options, models), as_json, like or ())
        return
    cache = options.calls.reply_cache
    spread = _engine(engine, cache, options.web.mode)
    each = one_per_model(options, models)
    if len(each) > 1:
        _start_models(each, spread, as_json)
        return
    with scored_when_stopped(as_json) as (listener, began):
        asyncio.run(start_run(each[0], listener, spread))
    print_scores(began[0], as_json)


@with_options("agent_env.runs.options.run_options:ResumeOptions")
def resume(
    options: ResumeOptions,
    folder: RunPath,
    engine: EngineName = "local",
    as_json: AsJson = False,
) -> None:
    """Finish a run or a study: what is missing, cut off or failed.

    Those that began continue from their last event. Recorded replies and tool results are used
    again; nothing paid for is asked for twice. A folder of runs continues all of them.

    Example: agent-env resume runs/time-puzzles-20260101-120000 --run-tokens 2000000
    """
    import asyncio

    from agent_env.runs.resume import resume as resume_run
    from agent_env.runs.run import Run
    from agent_env.runs.studies import studies

    spread = _engine(engine)
    reader = studies()
    if reader is not None and reader.resume(folder, options):
        return
    if _resume_models(folder, options, spread, as_json):
        return
    run = Run.open(folder)
    with scored_when_stopped(as_json) as (listener, _):
        asyncio.run(resume_run(run, options, listener, spread))
    print_scores(run, as_json)


def _engine(engine: str, reply_cache: Path | None = None, web: str | None = None) -> Engine | None:
    """None for the local one; ConfigError where the run cannot be spread."""
    if engine == "local":
        return None
    spread = hook(engine, f"--engine {engine}")
    spread.check_engine(reply_cache, web)
    return spread.run_on_ray  # type: ignore[no-any-return]


def _start_models(each: Sequence[RunOptions], spread: Engine | None, as_json: bool) -> None:
    """Make a run for each model and run them side by side; exit 1 where any failed."""
    from agent_env.runs.many import ManyOptions, start_many

    folders = [options.out for options in each if options.out is not None]
    how = ManyOptions(preflight=each[0].preflight, engine=spread)

    def go(listen: ListenerFor) -> Coroutine[Any, Any, Mapping[str, str]]:
        return start_many(each, listen, say, how)

    parent = folders[0].parent
    _tell(parent, folders, side_by_side(go, f"agent-env resume {parent}"), as_json)


def _resume_models(
    parent: Path, options: ResumeOptions, spread: Engine | None, as_json: bool
) -> bool:
    """Go on with all runs in the folder; exit 1 where any failed. False where it is a run itself,
    or holds none."""
    from agent_env.runs.many import ManyOptions, ModelRuns, run_many
    from agent_env.runs.run import Run
    from agent_env.runs.study import runs_below

    folders = list(runs_below(parent))
    if folders in ([parent], []):
        return False
    if options.model or options.base_url or options.api_key_env:
        raise ConfigError(
            f"{parent} holds several models; change one of them: agent-env resume {folders[0]}"
        )
    models = [ModelRuns(str(folder), [Run(folder)]) for folder in folders]
    names = {folder: str(folder.relative_to(parent)) for folder in folders}
    how = ManyOptions(options, engine=spread)

    def go(listen: ListenerFor) -> Coroutine[Any, Any, Mapping[str, str]]:
        return run_many(models, listen, how, names=names)

    _tell(parent, folders, side_by_side(go, f"agent-env resume {parent}"), as_json)
    return True


def _tell(
    parent: Path, folders: Sequence[Path], failures: Mapping[str, str], as_json: bool
) -> None:
    """Print the scores of each run, then the outcomes."""
    from agent_env.errors import AgentEnvError
    from agent_env.runs.run import Run

    names = {str(folder.relative_to(parent)): folder for folder in folders}
    outcomes = dict(failures)
    for name, folder in names.items():
        try:
            print_scores(Run(folder), as_json)
        except AgentEnvError as exc:
            outcomes.setdefault(name, str(exc))
        except SystemExit:
            outcomes.setdefault(name, "no episode finished")
    again, last = f"agent-env resume {parent}", f"agent-env compare {parent} compares the models."
    tell_outcomes(dict.fromkeys(names, "done"), outcomes, again, last)
