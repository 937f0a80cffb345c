"""Several runs by one command, a model each: all are attempted, whatever becomes of the others.

All folders are made before the first episode, so that `resume` of their parent goes on with all of
them, those that never began too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.cli.run import print_scores, say, scored_when_stopped

if TYPE_CHECKING:
    from agent_env.runs.options import ResumeOptions, RunOptions
    from agent_env.runs.start import Engine

Go = Callable[..., Coroutine[Any, Any, None]]
"""Runs whatever is missing of one run; takes a Listener."""


def run_several(each: Sequence[RunOptions], spread: Engine | None, as_json: bool) -> None:
    """Make all runs and run them one after the other; exit 1 where any failed. A mistake that keeps
    all of them from being made is raised."""
    import asyncio

    from agent_env.errors import AgentEnvError
    from agent_env.runs.start import make_run, run_folder

    begun: dict[Path, Go] = {}
    failed: dict[Path, str] = {}
    for options in each:
        assert options.out is not None  # named for each model
        try:
            folder = asyncio.run(make_run(options, say))
        except AgentEnvError as exc:
            failed[options.out] = f"not begun: {exc}"
            if len(failed) == len(each):
                raise
            continue

        begun[folder.path] = partial(spread or run_folder, folder, options.concurrency)
    _run_each(begun, failed, as_json)


def resume_several(
    parent: Path, options: ResumeOptions, spread: Engine | None, as_json: bool
) -> bool:
    """Go on with all runs in the folder; exit 1 where any failed. False where it is a run itself,
    or holds none."""
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.errors import ConfigError, DatasetError
    from agent_env.runs.resume import check_resumed, resume

    found = sorted(file.parent for file in parent.glob("*/run.json"))
    if (parent / "run.json").exists() or not found:
        return False
    if options.model or options.base_url or options.api_key_env:
        raise ConfigError(
            f"{parent} holds several models; change one of them: agent-env resume {found[0]}"
        )
    for at in found:  # all of them before any is begun
        with suppress(DatasetError):  # told with the others' outcomes
            check_resumed(RunFolder(at), options, say)
    runs: dict[Path, Go] = {
        at: partial(resume, RunFolder(at), options, engine=spread) for at in found
    }
    _run_each(runs, {}, as_json)
    return True


def _run_each(runs: Mapping[Path, Go], failed: dict[Path, str], as_json: bool) -> None:
    parent = next(iter((*runs, *failed))).parent
    for folder, go in runs.items():
        say(f"{folder.name}:")
        try:
            problem = _problem(folder, go, as_json)
        except SystemExit:  # Ctrl-C
            say(f"Go on with all models: agent-env resume {parent}")
            raise
        if problem is not None:
            failed[folder] = problem
    for folder in sorted((*runs, *failed)):
        say(f"{folder.name}: {failed.get(folder, 'done')}")
    if failed:
        say(f"agent-env resume {parent} goes on with all models that have begun.")
    say(f"agent-env compare {parent} compares the models.")
    if failed:
        sys.exit(1)


def _problem(folder: Path, go: Go, as_json: bool) -> str | None:
    """What kept the run from its end; None where nothing did."""
    import asyncio

    from agent_env.errors import AgentEnvError

    try:
        with scored_when_stopped(as_json) as (listener, _):
            asyncio.run(go(listener))
        print_scores(folder, as_json)
    except AgentEnvError as exc:
        return str(exc)
    except SystemExit as exc:
        if exc.code != 1:
            raise
        return "no episode came to its end"
    return None
