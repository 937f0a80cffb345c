"""Runs a number of workers over a run's items, until there are none or the run stops."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from agent_env.episodes.calls.budget import RunBudget
from agent_env.errors import RunStopped

Item = TypeVar("Item")


async def work_through(
    items: Iterator[Item], work: Callable[[Item], Awaitable[None]], workers: int, budget: RunBudget
) -> None:
    """Applies `work` to each item, `workers` at a time. Raises the first failure, which cancels the
    others; when a run limit is reached (RunStopped), calls in flight finish first."""
    stops: list[RunStopped] = []

    async def worker() -> None:
        for item in items:
            try:
                await work(item)
            except RunStopped as stop:
                if stop.reason == "failures":
                    raise
                stops.append(stop)
            if stops:
                return

    try:
        async with budget.wall_time(), asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
    except ExceptionGroup as failures:
        raise first_failure(failures) from failures
    if stops:
        raise stops[0]


def first_failure(failures: ExceptionGroup[Exception]) -> Exception:
    """The failure that cancelled the others, from nested groups."""
    failure = failures.exceptions[0]
    return first_failure(failure) if isinstance(failure, ExceptionGroup) else failure
