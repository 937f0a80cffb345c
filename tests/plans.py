"""Runs by the options of Python: planned and opened only, or run to their end in silence."""

import asyncio
from contextlib import AsyncExitStack

from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.plan import plan_run
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, open_plan, start_run

QUIET = Listener(lambda line: None, lambda run, episodes: None, lambda key, ending: None)


async def run_of(options):
    """The folder of the run, made and without an episode."""
    async with AsyncExitStack() as stack:
        return open_plan(await plan_run(options, print, stack), print, stack)


def finished(out, task="time-puzzles", **options):
    """The run with all its episodes."""
    asyncio.run(start_run(RunOptions(task, out=out, **options), QUIET))
    return Run(out)
