"""Coroutines run to their end from plain code, also where an event loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def wait_for(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result. Where this thread's event loop runs, as in a notebook, the coroutine
    runs in a thread of its own, and the loop stands still until it ends; Ctrl-C cancels it, waits
    for its end, and is raised again."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    loop = asyncio.new_event_loop()
    results: list[Result] = []
    errors: list[BaseException] = []
    task = loop.create_task(coroutine)

    async def result() -> Result:
        return await task

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                results.append(runner.run(result()))
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=work, name="agent-env")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]
