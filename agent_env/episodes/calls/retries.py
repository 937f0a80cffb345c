"""Failed model calls: which are made again, when a run waits for its server, and when it stops.

Guarantees: an error that a retry cannot mend is final at once; a request is sent at most `attempts`
times, not after `time_s`, and not after the same error SAME times in a row. Rate limits do not
count as the same error, as they do not depend on the request.

All calls of a run wait together for a server that is away: refused connections, 502 to 504 and
connections that broke off while the server is down count towards no limit on failures and use no
time of an episode; one waiter at a time polls the server; `longest_s` after the last sign of life
the run stops and can be resumed, as it does FIRST_REPLY_S after the first refused connection of a
server that never answered. A server that answers others is not away: an error is its request's own
where other calls got replies since the request failed before, and where it alone fails, `attempts`
times in a row, at a server that is up and has answered. Not covered: a server that accepts a
connection and sends nothing (a timeout).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from agent_env.errors import ModelError, ModelErrorKind, RunStopped
from agent_env.records.options import CALLS, Opt
from agent_env.records.waits import doubled_s

FINAL: frozenset[ModelErrorKind] = frozenset({"authentication", "bad_request", "context_overflow"})
"""The same request would fail again."""
SAME = 3
"""The same error this often in a row ends the episode."""

STATUS_KINDS: dict[int, ModelErrorKind] = {
    401: "authentication",
    403: "authentication",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limit",
}


@dataclass(frozen=True, slots=True)
class Retries:
    """Number, time and waits of the retries of a failed call."""

    attempts: Annotated[
        int,
        Opt(
            "Further calls after one that failed.",
            CALLS,
            "--retries",
            min=0,
            default=5,
            read=lambda further: further + 1,
        ),
    ] = 6
    """Calls for one reply, the first included."""
    time_s: Annotated[
        float,
        Opt(
            "Seconds in which they may start; also how long a run waits for a server that is "
            "away, such as 3600.",
            CALLS,
            "--retry-time-s",
            min=0.0,
        ),
    ] = 600.0
    """From the first call to the start of the last one."""
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0

    def wait_s(self, attempt: int, chance: float) -> float:
        """Before the attempt after `attempt`: doubling, with a random part of up to one half."""
        wait_s = doubled_s(attempt, self.first_wait_s, self.longest_wait_s)
        return wait_s * (1.0 + 0.5 * chance)


@dataclass(frozen=True, slots=True)
class Retry:
    """Wait, then call again."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further call; `reason` is empty if the error is reason enough."""

    reason: str = ""


@dataclass(slots=True, eq=False)
class Tries:
    """The failed calls of one request so far."""

    rules: Retries
    errors: list[ModelError] = field(default_factory=list)

    def verdict(self, error: ModelError, elapsed_s: float, chance: float) -> Retry | GiveUp:
        """Decides on a retry after `error`, `elapsed_s` after the first call; `chance`: 0 to 1."""
        self.errors.append(error)
        if not may_pass(error):
            return GiveUp()
        count = len(self.errors)
        if self._in_a_row() >= SAME:
            return GiveUp(f"the same error came {SAME} times on this request")
        if count >= self.rules.attempts:
            return GiveUp(f"given up after {count} calls" if count > 1 else "")
        wait = 0.0 if error.is_corrected else self.rules.wait_s(count, chance)
        if error.retry_after_s is not None:  # obeyed; the random part keeps clients apart
            wait = max(wait, error.retry_after_s + self.rules.first_wait_s * 0.5 * chance)
        if elapsed_s + wait > self.rules.time_s:
            return GiveUp(
                f"given up after {count} calls in {elapsed_s:.0f} s: a further wait of {wait:.0f} s"
                f" is more than the {self.rules.time_s:g} s allowed"
            )
        return Retry(wait)

    def _in_a_row(self) -> int:
        """How many of the last errors were the same; rate limits do not count."""
        last, count = _sameness(self.errors[-1]), 0
        for error in reversed(self.errors):
            if error_kind(error) == "rate_limit" or _sameness(error) != last:
                break
            count += 1
        return count


def error_kind(error: ModelError) -> ModelErrorKind | None:
    """The class of an error, by its adapter, else by HTTP status; None if unknown."""
    if error.kind is not None or error.status is None:
        return error.kind
    if error.status in STATUS_KINDS:
        return STATUS_KINDS[error.status]
    if error.status >= 500:
        return "server"
    return "bad_request" if error.status >= 400 else "unreadable"


def may_pass(error: ModelError) -> bool:
    """Whether the same request may succeed later. An exhausted quota is a rate limit that its
    adapter marks as not retryable."""
    if error.kind is None or error.kind == "rate_limit":
        return error.retryable
    return error.kind not in FINAL


def may_have_cost(error: ModelError) -> bool:
    """Whether the provider may bill the call: not if it refused it or never received it."""
    return not error.unsent and error_kind(error) not in (*FINAL, "rate_limit")


def final_error(error: ModelError, tries: Sequence[ModelError], reason: str) -> ModelError:
    """The error that ends the episode, with the reason and the errors of all calls."""
    if not reason:
        return error
    story = ", ".join(brief(e) for e in tries)
    final = ModelError(
        f"{error} [{reason}; calls ended: {story}]",
        status=error.status,
        kind=error.kind,
        retry_after_s=error.retry_after_s,
    )
    final.__cause__ = error.__cause__
    return final


def brief(error: ModelError) -> str:
    """The error's class and HTTP status, if any."""
    kind = error_kind(error) or "error"
    return f"{kind} {error.status}" if error.status is not None else kind


def _sameness(error: ModelError) -> tuple[str | None, int | None, str]:
    """Class, status and text without numbers and ids, which vary between calls."""
    text = re.sub(r"\b(?=\w*\d)[\w-]+\b", "#", str(error))
    return error_kind(error), error.status, text


AWAY = frozenset({502, 503, 504})
"""Statuses of a proxy without its server, and of a server that still loads its model."""
FIRST_REPLY_S = 30.0
"""A server that refuses connections and never answered is waited for so long, at most."""
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

    longest_s: float = 600.0
    """The run stops after this time without a reply."""
    is_up: IsUp | None = None
    """None without a health check: calls are then retried with exponential backoff."""
    note: Callable[[str], None] = silent
    """Called with messages on the beginning, the length and the end of a wait."""
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    poll_s: float = 2.0
    clock: Callable[[], float] = time.monotonic
    has_answered: bool = False
    """Whether it did so before this start."""
    attempts: int = 6
    """Calls of the only request that fails at a server that is up."""
    replies: int = 0
    since_s: float | None = None
    """When the outage was noticed; None while the server is up."""
    _rounds: int = 0
    """Waits in this outage; calls that failed together wait once."""
    _failing: set[object] = field(default_factory=set)
    """The requests that failed since the last reply."""
    _most_s: float = 0.0
    """Maximum of this wait."""
    _passed: int = 0
    _told_s: float = 0.0
    _waiting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_waited_for(self) -> bool:
        return self._waiting.locked()

    async def passage(self) -> None:
        """Returns when nobody waits for the server."""
        async with self._waiting:
            pass

    def answered(self) -> None:
        """A reply came."""
        self.replies += 1
        self._failing.clear()
        if self.since_s is not None:
            self.note(f"the server is back after {self.away_s:.0f} s; the run continues")
            self.since_s, self._rounds = None, 0

    @property
    def away_s(self) -> float:
        """How long the server has been away."""
        return 0.0 if self.since_s is None else self.clock() - self.since_s

    async def is_outage(self, error: ModelError, replies: int) -> bool:
        """Whether a call failed because the server is away; `replies`: their number when
        its request failed before, or was first sent."""
        if self.replies != replies:
            return False
        if self.since_s is not None or error.unsent or error.status in AWAY:
            return error.unsent or error.status in AWAY or error_kind(error) == "connection"
        if error_kind(error) != "connection" or self.is_up is None:
            return False
        async with self._waiting:  # the first of several failed calls asks
            if self.since_s is None and not await self.is_up():
                self._begin(error)
        return self.since_s is not None

    async def wait(self, error: ModelError, request: object = None) -> bool:
        """Returns True when another call may succeed, False if not though the server is up; raises
        RunStopped if it stays away. `request` tells the calls of one request from others."""
        passed = self._passed
        self._failing.add(request)
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
        if is_new and self.longest_s > FIRST_REPLY_S:
            self._most_s, name = FIRST_REPLY_S, "a server that never answered"
        self.note(f"the run waits for {name}, at most {self._most_s:g} s: {error}")

    async def _until_up(self, error: ModelError) -> bool:
        self._rounds += 1
        wait_s = doubled_s(self._rounds, self.first_wait_s, self.longest_wait_s)
        wait_s = max(wait_s, error.retry_after_s or 0.0)
        is_alone = len(self._failing) == 1 and (self.replies or self.has_answered)
        if is_alone and self._rounds >= self.attempts and self.is_up and await self.is_up():
            self.since_s, self._rounds = None, 0
            return False
        while self.away_s + wait_s <= self._most_s:
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
