"""What a run's calls may take: places among the calls in flight, and tokens and money.

The limit on concurrent calls is adaptive: it grows on success and halves on a rate limit. Places
are granted in the order of requests, a cancelled waiter takes none, and a burst of rate limits from
concurrent calls halves the limit once.

A call reserves tokens and money before it starts, also in the wider budgets of which the run is a
part. Guarantees: no call starts if spent and reserved amounts, its own included, exceed a limit; so
a run overshoots at most by what the calls in flight cost beyond their reservations. A call waits
while others in flight may return unused amounts. The reservation of a failed call of unknown cost
stays taken. Not covered: calls in flight when this process is killed; they leave no trace.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Annotated

from agent_env.errors import RunStopped
from agent_env.graph.meter import estimated_tokens
from agent_env.records.options import RUN, Opt
from agent_env.records.schema import Message, ModelFacts, ToolSpec, Usage


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


FIRST_OUTPUT = 512
"""Output tokens reserved for a call before the first reply."""

NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a run; None for no limit."""

    tokens: Annotated[
        int | None,
        Opt(
            "Stop at so many tokens, in and out, over all resumes.",
            RUN,
            "--run-tokens",
            min=1,
            resume=True,
        ),
    ] = None
    """Input and output of all calls, those of earlier starts included."""
    cost_usd: Annotated[
        float | None,
        Opt(
            "Stop at so many dollars; needs --prices.",
            RUN,
            "--run-cost-usd",
            min=0.0,
            resume=True,
        ),
    ] = None
    """Of all calls, those of earlier starts included."""
    time_s: Annotated[
        float | None,
        Opt("Seconds from this start.", RUN, "--run-time-s", min=0.1, resume=True),
    ] = None
    """Wall time of this start."""


@dataclass(slots=True)
class Reservation:
    """Tokens and money reserved for a call, replaced by its usage afterwards."""

    tokens: int
    cost_usd: float
    estimated_input: int = 0
    """By characters, before the correction by the server's counts."""
    needed: Usage = NOTHING
    """The same tokens, input and output apart."""
    used: Usage | None = None
    """Set by the caller; None for a call without known usage."""
    held: Usage | None = None
    """Set by the caller for a failed call of unknown cost: stays taken."""


@dataclass(slots=True)
class RunBudget:
    """The account of a run."""

    limits: RunLimits = field(default_factory=RunLimits)
    facts: ModelFacts | None = None
    tier: str | None = None
    """The service tier that calls ask for; None for the standard one."""
    max_output: int | None = None
    """The user's limit on the output tokens of a call."""
    wider: tuple[RunBudget, ...] = ()
    """Budgets of several runs together, which this run's calls must fit into, too."""
    whose: str = "the run"
    """For users."""
    tokens: int = 0
    """Spent so far."""
    cost_usd: float = 0.0
    held_tokens: int = 0
    """Held for failed calls of unknown usage."""
    held_cost_usd: float = 0.0
    in_flight: int = 0
    _reserved_tokens: int = 0
    _reserved_cost_usd: float = 0.0
    _batch_holds: list[Usage] = field(default_factory=list)
    _largest_output: int = 0
    _most_per_estimate: float = 1.0
    """The largest ratio of counted to estimated input tokens."""
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def share(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[Reservation]:
        """Reserves what the call may need, waiting if necessary; RunStopped at the limit."""
        estimated = estimated_tokens(messages, tools) if self.is_limited else 0
        async with self.share_of(estimated) as share:
            yield share

    @property
    def is_limited(self) -> bool:
        """Whether tokens or money are limited, here or in a wider budget."""
        is_limited_here = self.limits.tokens is not None or self.limits.cost_usd is not None
        return is_limited_here or any(budget.is_limited for budget in self.wider)

    @asynccontextmanager
    async def share_of(self, estimated: int) -> AsyncIterator[Reservation]:
        """As `share`, for an estimated number of input tokens."""
        # estimated again after each wait: the calls that ended show how much the server counts
        while (short := self._short(share := self._needed(estimated))) is not None:
            budget, lacking = short
            if not budget.in_flight:
                raise lacking
            budget._settled.clear()
            await budget._settled.wait()
        for budget in (self, *self.wider):
            budget._book(share, 1)
        try:
            yield share
        finally:
            for budget in (self, *self.wider):
                budget._book(share, -1)
            self.settle(share)
            for budget in (self, *self.wider):
                budget._settled.set()

    def settle(self, share: Reservation) -> None:
        """Books what the call used, or may have used."""
        if share.held is not None:
            self.hold(share.held)
        if share.used is not None:
            self.spend(share.used)
            if share.estimated_input and share.used.input_tokens:
                ratio = share.used.input_tokens / share.estimated_input
                self._most_per_estimate = max(self._most_per_estimate, ratio)

    @asynccontextmanager
    async def wall_time(self) -> AsyncIterator[None]:
        """Cancels its body, calls in flight too, when the run's time is up: RunStopped."""
        try:
            async with asyncio.timeout(self.limits.time_s):
                yield
        except TimeoutError as exc:
            text = f"{self.whose} has used its {self.limits.time_s:g} s"
            raise RunStopped(text, reason="time") from exc

    def spend(self, usage: Usage, is_preflight: bool = False) -> None:
        """Adds the known usage of a call. What a preflight's short replies take tells nothing of
        the output of others."""
        for budget in (self, *self.wider):
            budget.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
            budget.cost_usd += usage.charged_usd(self.facts)
        if not is_preflight:
            self._largest_output = max(self._largest_output, usage.output_tokens or 0)

    def hold(self, usage: Usage, sign: int = 1) -> None:
        """Holds what a failed call may have used."""
        for budget in (self, *self.wider):
            tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            budget.held_tokens += sign * tokens
            budget.held_cost_usd += sign * usage.charged_usd(self.facts)

    def park(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> None:
        """Holds what a call that goes by batch may need, until `unpark`."""
        if self.is_limited:
            usage = self.may_need(estimated_tokens(messages, tools))
            self._batch_holds.append(usage)
            self.hold(usage)

    def unpark(self) -> None:
        """Lets go of what calls in batches hold; those that still have no reply hold it again."""
        for usage in self._batch_holds:
            self.hold(usage, -1)
        self._batch_holds.clear()

    def may_need(self, estimated: int) -> Usage:
        """What a call of `estimated` input tokens may use, judged by earlier calls."""
        input_tokens = ceil(estimated * self._most_per_estimate)
        prices = None if self.facts is None else self.facts.prices_of(self.tier)
        plain, written = (
            (prices.input_per_million or 0.0, prices.cache_write_per_million or 0.0)
            if prices is not None
            else (0.0, 0.0)
        )
        return Usage(
            input_tokens=input_tokens,
            cache_write_tokens=input_tokens if written > plain else None,
            output_tokens=self.max_output or self._largest_output or FIRST_OUTPUT,
            source="estimate",
            tier=self.tier,
        )

    def _needed(self, estimated: int) -> Reservation:
        if not self.is_limited:
            return Reservation(0, 0.0)
        need = self.may_need(estimated)
        tokens = (need.input_tokens or 0) + (need.output_tokens or 0)
        return Reservation(tokens, need.charged_usd(self.facts), estimated, need)

    def _short(self, share: Reservation) -> tuple[RunBudget, RunStopped] | None:
        """The first budget that lacks what the call may need, and what it says."""
        for budget in (self, *self.wider):
            if (lacking := budget._lacking(share)) is not None:
                return budget, lacking
        return None

    def _lacking(self, share: Reservation) -> RunStopped | None:
        most = self.limits.tokens
        taken = self.tokens + self.held_tokens + self._reserved_tokens
        if most is not None and taken + share.tokens > most:
            text = f"{self.whose} has used {self.tokens} of its {most} tokens"
            if self.held_tokens:
                text += f", and up to {self.held_tokens} by calls that failed or wait in batches"
            text += f"; the next call may need {share.tokens}"
            return RunStopped(text, reason="tokens", at_least=taken + share.tokens)
        limit = self.limits.cost_usd
        spent = self.cost_usd + self.held_cost_usd + self._reserved_cost_usd
        if limit is not None and spent + share.cost_usd > limit:
            text = f"{self.whose} has cost {self.cost_usd:.4f} of its {limit:g} USD"
            if self.held_cost_usd:
                text += (
                    f", and up to {self.held_cost_usd:.4f} by calls that failed or wait in batches"
                )
            text += f"; the next call may cost {share.cost_usd:.4f}"
            return RunStopped(text, reason="cost", at_least=spent + share.cost_usd)
        return None

    def _book(self, share: Reservation, sign: int) -> None:
        self.in_flight += sign
        self._reserved_tokens += sign * share.tokens
        self._reserved_cost_usd += sign * share.cost_usd
