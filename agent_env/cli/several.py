"""Several runs by one command, a model each: all are attempted, whatever becomes of the others.

All folders are made before the first episode, so that `resume` of their parent goes on with all of
them, those that never began too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.cli.run import print_scores, say, scored_when_stopped

if TYPE_CHECKING:
    from agent_env.runs.options import ResumeOptions, RunOptions
    from agent_env.runs.run import Run
    from agent_env.runs.start import Engine

Go = Callable[..., Coroutine[Any, Any, None]]
"""Runs whatever is missing of one run; takes a Listener."""


def run_several(each: Sequence[RunOptions], spread: Engine | None, as_json: bool) -> None:
    """Make all runs and run them one after the other; exit 1 where any failed. A mistake that keeps
    all of them from being made is raised."""
    import asyncio

    from agent_env.errors import AgentEnvError
    from agent_env.runs.run import Run
    from agent_env.runs.start import run_episodes

    begun: dict[Run, Go] = {}
    failed: dict[Path, str] = {}
    for options in each:
        assert options.out is not None  # named for each model
        try:
            run = asyncio.run(_make(options))
        except AgentEnvError as exc:
            failed[options.out] = f"not begun: {exc}"
            if len(failed) == len(each):
                for folder in failed:
                    Run(folder).discard()
                raise
            continue

        begun[run] = partial(spread or run_episodes, run, options.concurrency)
    _run_each(begun, failed, as_json)


async def _make(options: RunOptions) -> Run:
    """The run, with nothing of it open; kept where its preflight refused it."""
    from agent_env.runs.start import make_run

    async with AsyncExitStack() as stack:
        return await make_run(options, say, stack, keep_refused=True)


def resume_several(
    parent: Path, options: ResumeOptions, spread: Engine | None, as_json: bool
) -> bool:
    """Go on with all runs in the folder; exit 1 where any failed. False where it is a run itself,
    or holds none."""
    from agent_env.errors import ConfigError, DatasetError
    from agent_env.runs.resume import check_resumed, resume
    from agent_env.runs.run import Run

    folders = sorted(file.parent for file in parent.glob("*/run.json"))
    if (parent / "run.json").exists() or not folders:
        return False
    if options.model or options.base_url or options.api_key_env:
        raise ConfigError(
            f"{parent} holds several models; change one of them: agent-env resume {folders[0]}"
        )
    runs = [Run(at) for at in folders]
    for run in runs:  # all of them before any is begun
        with suppress(DatasetError):  # told with the others' outcomes
            check_resumed(run, options, say)
    _run_each({run: partial(resume, run, options, engine=spread) for run in runs}, {}, as_json)
    return True


def _run_each(runs: Mapping[Run, Go], failed: dict[Path, str], as_json: bool) -> None:
    parent = next(iter((*(run.path for run in runs), *failed))).parent
    for run, go in runs.items():
        say(f"{run.path.name}:")
        try:
            problem = _problem(run, go, as_json)
        except SystemExit:  # Ctrl-C
            say(f"Go on with all models: agent-env resume {parent}")
            raise
        if problem is not None:
            failed[run.path] = problem
    for folder in sorted({*(run.path for run in runs), *failed}):
        say(f"{folder.name}: {failed.get(folder, 'done')}")
    if failed:
        say(f"agent-env resume {parent} goes on with all models.")
    say(f"agent-env compare {parent} compares the models.")
    if failed:
        sys.exit(1)


def _problem(run: Run, go: Go, as_json: bool) -> str | None:
    """What kept the run from its end; None where nothing did."""
    import asyncio

    from agent_env.errors import AgentEnvError

    try:
        with scored_when_stopped(as_json) as (listener, _):
            asyncio.run(go(listener))
        print_scores(run, as_json)
    except AgentEnvError as exc:
        return str(exc)
    except SystemExit as exc:
        if exc.code != 1:
            raise
        return "no episode came to its end"
    return None
