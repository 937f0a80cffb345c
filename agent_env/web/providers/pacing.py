"""Turns: requests start no faster than a service allows, and all wait where it asks one to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_env.web.providers.api import Pace


class Turns:
    """Gives turns in the order in which they are asked for; belongs to one event loop."""

    def __init__(self, pace: Pace) -> None:
        self._interval_s = 1.0 / pace.per_second
        self._seats = asyncio.Semaphore(pace.at_once)
        self._gate = asyncio.Lock()
        self._free_at = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One request's time; waits for its start."""
        async with self._seats:
            async with self._gate:
                while (wait_s := self._free_at - _now()) > 0:  # noqa: ASYNC110  # `hold` moves it
                    await asyncio.sleep(wait_s)
                self._free_at = _now() + self._interval_s
            yield

    def hold(self, wait_s: float) -> None:
        """No request starts before `wait_s` seconds are over."""
        self._free_at = max(self._free_at, _now() + wait_s)


def _now() -> float:
    return asyncio.get_running_loop().time()
