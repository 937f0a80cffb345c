"""Runs that are planned and opened, and not begun."""

from __future__ import annotations

from contextlib import AsyncExitStack

from agent_env.runs.options import RunOptions
from agent_env.runs.plan import plan_run
from agent_env.runs.run import Run
from agent_env.runs.start import open_plan


async def run_of(options: RunOptions) -> Run:
    """The folder of the run, made and without an episode."""
    async with AsyncExitStack() as stack:
        return open_plan(await plan_run(options, print, stack), print, stack)
