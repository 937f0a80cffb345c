"""What an episode has used, and which of its limits that reaches.

A conversation that does not fit is cut. Guarantees: nothing is cut before a server has refused it
as too long; only tool outputs are cut, the oldest first, each at its end and by a mark that the
model reads; what was cut stays cut, and each request's cuts are in the trace, from where replay,
resume and fork take them. The episode's own messages stay whole: they are cut only as they are
sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil

from agent_env.errors import ModelError
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
    tokens: int = 0
    """Input and output together."""
    cost_usd: float = 0.0
    started_s: float = 0.0
    waited_s: float = 0.0
    """Waits that are ours and not the episode's."""
    _timer: asyncio.Timeout | None = None

    def count_reply(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], reply: Reply
    ) -> None:
        """One step; a reply from the cache costs nothing."""
        self.steps += 1
        if reply.cached_at is None:
            self.count(known_or_estimated(reply.usage, messages, tools, reply.message))

    def count(self, usage: Usage) -> None:
        """The tokens of a call, as far as they are known."""
        self.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
        self.cost_usd += usage.charged_usd(self.facts)

    def reached(self, limits: Limits) -> StopReason | None:
        """The limit that forbids another model call."""
        consumption: tuple[tuple[StopReason, float, float | None], ...] = (
            ("steps", self.steps, limits.steps),
            ("tokens", self.tokens, limits.tokens),
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


LEAST = 200
"""Letters of an output that always stay."""
FOR_REPLY = 1 / 8
"""Of the context, left free for what the model says next."""


@dataclass(slots=True)
class Fit:
    """The cuts of one episode."""

    recorded: Sequence[Mapping[str, int]] = ()
    """Of each recorded step: letters that are left, by the id of the call."""
    _left: dict[str, int] = field(default_factory=dict)
    _cut: dict[str, Message] = field(default_factory=dict)

    def sent(self, messages: Sequence[Message], step: int) -> tuple[Message, ...]:
        """The messages as they are sent at this step, counted from 0."""
        if step < len(self.recorded) and self.recorded[step] != self._left:
            self._left, self._cut = dict(self.recorded[step]), {}
        if not self._left:
            return tuple(messages)
        return tuple(self._as_sent(message) for message in messages)

    def tighten(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], error: ModelError
    ) -> bool:
        """Cut as much more as the error asks for; whether there was anything to cut."""
        current = self.sent(messages, len(self.recorded))
        need = excess(LETTERS_PER_TOKEN * estimated_tokens(current, tools), error)
        has_cut = False
        for message in messages:
            name = message.tool_call_id
            if message.role != "tool" or name is None or need <= 0:
                continue
            letters = self._left.get(name, len(message.content))
            most = letters - max(LEAST, letters - need)
            if most > 0:
                self._left[name] = letters - most
                self._cut.pop(name, None)
                need, has_cut = need - most, True
        return has_cut

    def _as_sent(self, message: Message) -> Message:
        name = message.tool_call_id
        if message.role != "tool" or name is None or name not in self._left:
            return message
        if name not in self._cut:
            self._cut[name] = shortened(message, self._left[name])
        return self._cut[name]


def shortened(message: Message, letters: int) -> Message:
    """The tool's message with so many letters of its output; whole where it is no longer."""
    missing = len(message.content) - letters
    if missing <= 0:
        return message
    mark = f"\n[{missing} characters are left out here: the conversation is too long]"
    return message.model_copy(update={"content": message.content[:letters] + mark, "kept": letters})


def excess(letters: int, error: ModelError) -> int:
    """How many of a conversation's letters to cut: by the sizes that the server tells, else an
    eighth."""
    context, request = error.context_tokens, error.request_tokens
    if context is None:
        return ceil(letters / 8)
    if request is None or request <= context:
        request = max(context, letters // LETTERS_PER_TOKEN)
    return ceil(letters * (1 - context * (1 - FOR_REPLY) / request))
