"""What an episode has used, and which of its limits that reaches."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from agent_env.protocols import Limits
from agent_env.records.schema import Message, ModelFacts, Reply, StopReason, ToolSpec, Usage

LETTERS_PER_TOKEN = 4


@dataclass(slots=True)
class Meter:
    """Counts of one episode; shared by the loop and by whoever sees the calls that failed.

    A limit must hold where the server tells no usage too: such a reply counts by its letters.
    """

    facts: ModelFacts | None = None
    """Prices; without them the cost stays 0, and a cost limit is refused beforehand."""
    clock: Callable[[], float] = time.monotonic
    steps: int = 0
    tool_calls: int = 0
    by_tool: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    started_s: float = 0.0
    waited_s: float = 0.0
    """Waits that are ours and not the episode's."""
    _timer: asyncio.Timeout | None = None

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def count_reply(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], reply: Reply
    ) -> None:
        """One step; a reply from the cache costs nothing."""
        self.steps += 1
        if reply.cached_at is None:
            self.count(known_or_estimated(reply.usage, messages, tools, reply.message))

    def count(self, usage: Usage) -> None:
        """The tokens of a call, as far as they are known."""
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.cost_usd += usage.charged_usd(self.facts)

    def reached(self, limits: Limits) -> StopReason | None:
        """The limit that forbids another model call."""
        consumption: tuple[tuple[StopReason, float, float | None], ...] = (
            ("steps", self.steps, limits.steps),
            ("tokens", self.tokens, limits.tokens),
            ("input_tokens", self.input_tokens, limits.input_tokens),
            ("output_tokens", self.output_tokens, limits.output_tokens),
            ("cost", self.cost_usd, limits.cost_usd),
            ("time", self.elapsed_s(), limits.time_s),
        )
        over = (name for name, amount, most in consumption if most is not None and amount >= most)
        return next(over, None)

    def elapsed_s(self) -> float:
        """Since the episode began, without the waits that are ours."""
        return self.clock() - self.started_s - self.waited_s

    @contextmanager
    def timed(self, timer: asyncio.Timeout) -> Iterator[None]:
        """Name the timeout under which the next call runs, so that `unclocked` can stop it."""
        self._timer = timer
        try:
            yield
        finally:
            self._timer = None

    @contextmanager
    def unclocked(self) -> Iterator[None]:
        """A wait for our own limits: the episode's time stands still."""
        timer, began = self._timer, self.clock()
        if timer is not None and timer.expired():
            timer = None
        deadline = timer.when() if timer is not None else None
        if timer is not None:
            timer.reschedule(None)
        try:
            yield
        finally:
            waited = self.clock() - began
            self.waited_s += waited
            if timer is not None and deadline is not None:
                timer.reschedule(deadline + waited)


def known_or_estimated(
    usage: Usage, messages: Sequence[Message], tools: Sequence[ToolSpec], reply: Message
) -> Usage:
    """The usage with our estimate where the server tells nothing."""
    if usage.input_tokens is not None and usage.output_tokens is not None:
        return usage
    estimated = {
        "input_tokens": estimated_tokens(messages, tools),
        "output_tokens": estimated_tokens([reply]),
    }
    missing = {name: n for name, n in estimated.items() if getattr(usage, name) is None}
    return usage.model_copy(update={**missing, "source": "estimate"})


def estimated_tokens(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """Letters by four; for limits and reservations only, never for what is reported."""
    letters = sum(
        len(m.content)
        + len((m.reasoning or "") if m.provider_fields is not None else "")  # it goes back
        + sum(len(call.arguments) + len(call.name) for call in m.tool_calls)
        for m in messages
    )
    letters += sum(tool.letters for tool in tools)
    return letters // LETTERS_PER_TOKEN + 4 * len(messages)
