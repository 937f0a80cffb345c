"""A server that is away: all calls of a run wait for it together. One that fails stops the run.

Guarantees: refused connections, 502 to 504 and connections that broke off while the server is down
count towards no limit on failures and use no time of an episode; one waiter at a time polls the
server; `longest_s` after the last sign of life the run stops and can be resumed, as it does
`connect_s` after the first refused connection of a server that never answered. Not covered: a
server that accepts a connection and sends nothing (a timeout); an error while other calls get
replies (a failure of its call).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf

from agent_env.episodes.calls.retries import error_kind
from agent_env.errors import ModelError, RunStopped
from agent_env.records.waits import doubled_s

AWAY = frozenset({502, 503, 504})
"""Statuses of a proxy without its server, and of a server that still loads its model."""
TELL_EVERY_S = 30.0
QUIET_S = 60.0
"""After this time without a reply, the user is notified that calls are in flight."""

IsUp = Callable[[], Awaitable[bool]]
"""Asks a server's health address."""


def silent(text: str) -> None:
    """Ignores a message; for a `note` that nobody reads."""


@dataclass(slots=True)
class Outage:
    """The state of a run's server, as far as the run knows."""

    longest_s: float | None = 600.0
    """The run stops after this time without a reply; None: never."""
    is_up: IsUp | None = None
    """None without a health check: calls are then retried with exponential backoff."""
    note: Callable[[str], None] = silent
    """Called with messages on the beginning, the length and the end of a wait."""
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    poll_s: float = 2.0
    clock: Callable[[], float] = time.monotonic
    connect_s: float | None = None
    """For a server that refuses connections and never answered; None: as `longest_s`."""
    has_answered: bool = False
    """Whether it did so before this start."""
    replies: int = 0
    since_s: float | None = None
    """When the outage was noticed; None while the server is up."""
    _rounds: int = 0
    """Waits in this outage; calls that failed together wait once."""
    _most_s: float | None = None
    """Maximum of this wait."""
    _passed: int = 0
    _told_s: float = 0.0
    _waiting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_waited_for(self) -> bool:
        """Whether a wait is on."""
        return self._waiting.locked()

    async def passage(self) -> None:
        """Returns when nobody waits for the server."""
        async with self._waiting:
            pass

    def answered(self) -> None:
        """A reply came."""
        self.replies += 1
        if self.since_s is not None:
            self.note(f"the server is back after {self.away_s:.0f} s; the run goes on")
            self.since_s, self._rounds = None, 0

    @property
    def away_s(self) -> float:
        """How long the server has been away."""
        return 0.0 if self.since_s is None else self.clock() - self.since_s

    async def is_outage(self, error: ModelError, mark: int) -> bool:
        """Whether a call failed because the server is away; `mark`: the number of replies when the
        call began."""
        if self.replies != mark:
            return False
        if self.since_s is not None or error.unsent or error.status in AWAY:
            return error.unsent or error.status in AWAY or error_kind(error) == "connection"
        if error_kind(error) != "connection" or self.is_up is None:
            return False
        async with self._waiting:  # the first of several failed calls asks
            if self.since_s is None and not await self.is_up():
                self._begin(error)
        return self.since_s is not None

    async def wait(self, error: ModelError) -> bool:
        """Returns True when another call may succeed, False if not though the server is up; raises
        RunStopped if it stays away."""
        passed = self._passed
        if self.since_s is None:
            self._begin(error)
        async with self._waiting:
            if self._passed != passed:
                return True  # somebody has waited for all of us
            is_worth_it = await self._until_up(error)
            self._passed += 1
            return is_worth_it

    async def tell_quiet(self, in_flight: Callable[[], int]) -> None:
        """Notifies the user, again and again, while calls are in flight without a reply."""
        seen, since = self.replies, self.clock()
        while True:
            await asyncio.sleep(QUIET_S / 4)
            if self.replies != seen or self.since_s is not None or not in_flight():
                seen, since = self.replies, self.clock()
            elif (quiet_s := self.clock() - since) >= QUIET_S:
                self.note(f"no reply for {quiet_s:.0f} s; {in_flight()} calls in flight")
                await asyncio.sleep(QUIET_S)

    def _begin(self, error: ModelError) -> None:
        self.since_s = self._told_s = self.clock()
        self._most_s, name = self.longest_s, "its server"
        is_new = error.unsent and not (self.replies or self.has_answered)
        longest_s = inf if self.longest_s is None else self.longest_s
        if is_new and self.connect_s is not None and self.connect_s < longest_s:
            self._most_s = self.connect_s
            name = "a server that never answered (--connect-time-s)"
        most = "" if self._most_s is None else f", at most {self._most_s:g} s"
        self.note(f"the run waits for {name}{most}: {error}")

    async def _until_up(self, error: ModelError) -> bool:
        self._rounds += 1
        wait_s = doubled_s(self._rounds, self.first_wait_s, self.longest_wait_s)
        wait_s = max(wait_s, error.retry_after_s or 0.0)
        while self._most_s is None or self.away_s + wait_s <= self._most_s:
            await asyncio.sleep(wait_s)
            if self.is_up is None or await self.is_up():
                return True
            wait_s = self.poll_s
            if self.clock() - self._told_s >= TELL_EVERY_S:
                self._told_s = self.clock()
                self.note(f"the server is still away after {self.away_s:.0f} s")
        if self.is_up is not None and await self.is_up():
            return False
        raise RunStopped(
            f"the model's server was away for {self.away_s:.0f} s, the last error: {error}",
            reason="failures",
        )


@dataclass(slots=True)
class Breaker:
    """Stops a run whose last `calls` calls all failed; None never does."""

    calls: int | None = 20
    failed: int = 0
    """Failed calls since the last reply."""

    def succeeded(self) -> None:
        """A reply came."""
        self.failed = 0

    def note(self, error: ModelError, is_last: bool) -> None:
        """Notes a failed call; raises RunStopped at the limit. A retried rate limit does not
        count, for the server is up; nor does a conversation that exceeds the model's context."""
        kind = error_kind(error)
        if kind == "context_overflow" or (kind == "rate_limit" and not is_last):
            return
        self.failed += 1
        if self.calls is not None and self.failed >= self.calls:
            raise RunStopped(
                f"the last {self.failed} model calls all failed, the last one so: {error}",
                reason="failures",
            )
