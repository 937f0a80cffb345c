"""Calls of plug-ins' functions: each ends within its time, whatever the function does.

Guaranteed: the wait ends after `timeout_s`, of a plain function and of an `async def` that awaits.
Not guaranteed: that the code itself ends. A plain function runs in a thread, which nothing can end;
it goes on unseen and ends with the process. An `async def` that does not await keeps the whole
process from running: it is named on stderr, and nothing else can be done.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from agent_env.errors import place_in


class Overdue(TimeoutError):
    """The call took too long; `place` is the line where it stood, "" where that is not known."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


GRACE_S = 5.0
"""How long after its time a function that blocks is named."""


async def call(what: str, timeout_s: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives; Overdue where it takes longer; else what it raises."""
    if inspect.iscoroutinefunction(function):
        return await _awaited(what, timeout_s, function, arguments)
    future, thread = _in_thread(function, arguments)
    return await _within(timeout_s, future, lambda: place_in(_frame_of(thread)))


async def _awaited(
    what: str, timeout_s: float, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    thread = threading.get_ident()
    alarm = threading.Timer(timeout_s + GRACE_S, _name_blocker, (what, timeout_s, thread))
    alarm.daemon = True
    alarm.start()
    try:
        task = asyncio.ensure_future(function(*arguments))
        return await _within(timeout_s, task, lambda: _stands_at(task))
    finally:
        alarm.cancel()


async def _within(timeout_s: float, future: asyncio.Future[Any], place: Callable[[], str]) -> Any:
    """Does not wait for a cancelled task that goes on."""
    try:
        done, _ = await asyncio.wait({future}, timeout=timeout_s)
    except asyncio.CancelledError:
        future.cancel()
        raise
    if not done:
        overdue = Overdue(place())
        future.cancel()
        raise overdue
    return future.result()


def _stands_at(task: asyncio.Task[Any]) -> str:
    """The innermost line, as far as coroutines say what they wait for."""
    place = ""
    waiting: Any = task.get_coro()
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        place = place_in(frame) or place
        waiting = getattr(waiting, "cr_await", None)
    return place


def _frame_of(thread: threading.Thread) -> FrameType | None:
    return sys._current_frames().get(thread.ident or 0)


def _in_thread(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[asyncio.Future[Any], threading.Thread]:
    """A thread of its own: those of a pool are waited for at the end of the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def end(result: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(result) if error is None else future.set_exception(error)

    def work() -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            result = context.run(function, *arguments)
        except StopIteration as exc:  # no future takes one
            error = RuntimeError("the function raised StopIteration")
            error.__cause__ = exc
        except BaseException as exc:
            error = exc if isinstance(exc, Exception) else RuntimeError(f"it raised {exc!r}")
        try:
            loop.call_soon_threadsafe(end, result, error)
        except RuntimeError:
            return  # the loop ended before the function did

    thread = threading.Thread(target=work, daemon=True, name="agent-env plug-in")
    thread.start()
    return future, thread


def _name_blocker(what: str, timeout_s: float, thread: int) -> None:
    place = place_in(sys._current_frames().get(thread))
    print(
        f"agent-env: {what} blocks the event loop{f' at {place}' if place else ''}, and took more "
        f"than its {timeout_s:g} s; as a plain def it would run in a thread",
        file=sys.stderr,
        flush=True,
    )
