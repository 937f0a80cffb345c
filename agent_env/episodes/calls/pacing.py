"""An adaptive limit on concurrent calls: it grows on success and halves on a rate limit.

Guarantees: places are granted in the order of requests, a cancelled waiter takes none, and a burst
of rate limits from concurrent calls halves the limit once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class ConcurrencyLimit:
    """The limit on a run's concurrent model calls."""

    most: int
    """The initial limit, and the greatest."""
    limit: float = field(init=False)
    in_flight: int = 0
    halvings: int = 0
    """How often a rate limit halved the limit; the number of the current round."""
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = float(self.most)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[int]:
        """Waits for a place and holds it; yields the round, for `limited`."""
        await self._enter()
        try:
            yield self.halvings
        finally:
            self.in_flight -= 1
            self._admit()

    def succeeded(self) -> None:
        """Notes a reply; a full round of replies raises the limit by one."""
        self.limit = min(float(self.most), self.limit + 1.0 / self.limit)
        self._admit()

    def limited(self, round_: int) -> None:
        """Notes a rate limit; `round_`: the round in which the refused call got its place."""
        if round_ == self.halvings:
            self.limit = max(1.0, self.limit / 2)
            self.halvings += 1

    async def _enter(self) -> None:
        if not self._waiting and self.in_flight < int(self.limit):
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was given as we were cancelled
                self.in_flight -= 1
                self._admit()
            else:
                self._waiting.remove(turn)
            raise

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def __str__(self) -> str:
        return f"{self.in_flight} calls in flight of at most {int(self.limit)}"
