"""What the model calls of a trace used: the one place where tokens are added up.

Counted are the usage of every reply, and of every failed call where the server told it. A sum is
None where any reply's figure is unknown. A failed call of which nobody told anything is in no sum;
how many there are is said beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_env.records.schema import Usage
from agent_env.records.trace_events import Event, ModelCalled


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of all model calls of an episode."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    failed_calls: int
    uncounted_calls: int
    cache_hits: int
    paid: Usage
    """Of the calls that cost money."""
    charged: Usage
    """What the run's limits were charged for calls whose tokens nobody told."""
    sources: tuple[str, ...]


def tokens_spent(events: Iterable[Event]) -> Spent:
    """The sums over all model calls among the events."""
    calls = [event for event in events if isinstance(event, ModelCalled)]
    failed = [call for call in calls if call.reply is None]
    usages = usages_of(calls)
    return Spent(
        input_tokens=_sum(u.input_tokens for u in usages),
        output_tokens=_sum(u.output_tokens for u in usages),
        cached_tokens=_sum(u.cached_tokens for u in usages),
        reasoning_tokens=_sum(u.reasoning_tokens for u in usages),
        failed_calls=len(failed),
        uncounted_calls=sum(call.usage is None for call in failed),
        cache_hits=sum(c.reply is not None and c.reply.cached_at is not None for c in calls),
        paid=_added_up(paid_usages(calls)),
        charged=_added_up([c.charged for c in _paid(calls) if c.charged is not None]),
        sources=tuple(sorted({u.source for u in usages if u.source is not None})),
    )


def usages_of(calls: Sequence[ModelCalled]) -> list[Usage]:
    """Of every reply, and of failed calls as far as told."""
    usages = [call.reply.usage if call.reply is not None else call.usage for call in calls]
    return [usage for usage in usages if usage is not None]


def paid_usages(events: Iterable[Event]) -> list[Usage]:
    """Those that cost money: replies from the reply cache did not, nor those that a fork took
    over from its parent."""
    return usages_of(_paid(events))


def charges(events: Iterable[Event]) -> tuple[list[Usage], list[Usage]]:
    """What the run's limits count of the paid calls: as used, and as held for failed calls of which
    nobody told the tokens."""
    paid = _paid(events)
    held = [c.charged for c in paid if c.charged is not None and c.reply is None]
    used = [c.charged or u for c in paid if c.charged is None or c.reply for u in usages_of([c])]
    return used, held


def _paid(events: Iterable[Event]) -> list[ModelCalled]:
    calls = [e for e in events if isinstance(e, ModelCalled) and not e.replayed]
    return [c for c in calls if c.reply is None or c.reply.cached_at is None]


def _added_up(usages: Sequence[Usage]) -> Usage:
    return Usage(
        input_tokens=_sum(u.input_tokens for u in usages),
        cached_tokens=_sum(u.cached_tokens for u in usages),
        output_tokens=_sum(u.output_tokens for u in usages),
        reasoning_tokens=_sum(u.reasoning_tokens for u in usages),
    )


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum, or None where any part of it is unknown."""
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
