"""The tokens of an episode's model calls.

Totals include every reply, and every failed call whose usage the server reported. A total is None
if a reply's figure is unknown. Failed calls of unknown usage are counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_env.records.schema import Reply, Usage
from agent_env.records.trace_events import Event, ModelCalled


@dataclass(frozen=True, slots=True)
class TokenTotals:
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
    """Tokens charged to the run's limits for calls of unknown usage."""
    sources: tuple[str, ...]


def token_totals(events: Iterable[Event]) -> TokenTotals:
    """The sums over all model calls among the events."""
    calls = [event for event in events if isinstance(event, ModelCalled)]
    failures = [call for call in calls if call.reply is None]
    usages = usages_of(calls)
    return TokenTotals(
        input_tokens=total(u.input_tokens for u in usages),
        output_tokens=total(u.output_tokens for u in usages),
        cached_tokens=total(u.cached_tokens for u in usages),
        reasoning_tokens=total(u.reasoning_tokens for u in usages),
        failed_calls=len(failures),
        uncounted_calls=sum(call.usage is None for call in failures),
        cache_hits=sum(c.reply is not None and c.reply.cached_at is not None for c in calls),
        paid=_totals(paid_usages(calls)),
        charged=_totals([c.charged for c in _paid_calls(calls) if c.charged is not None]),
        sources=tuple(sorted({u.source for u in usages if u.source is not None})),
    )


def usages_of(calls: Sequence[ModelCalled]) -> list[Usage]:
    """The known usages of replies and failed calls."""
    usages = [call.reply.usage if call.reply is not None else call.usage for call in calls]
    return [usage for usage in usages if usage is not None]


def paid_usages(events: Iterable[Event]) -> list[Usage]:
    """The usages that cost money: not of replies from the cache, nor of those from a fork's
    parent."""
    return usages_of(_paid_calls(events))


def charges(events: Iterable[Event]) -> tuple[list[Usage], list[Usage]]:
    """What the run's limits count: usages of the paid calls, and tokens held for failed calls of
    unknown usage."""
    paid = _paid_calls(events)
    reserves = [c.charged for c in paid if c.charged is not None and c.reply is None]
    used = [c.charged or u for c in paid if c.charged is None or c.reply for u in usages_of([c])]
    return used, reserves


def _paid_calls(events: Iterable[Event]) -> list[ModelCalled]:
    calls = [e for e in events if isinstance(e, ModelCalled) and not e.replayed]
    return [c for c in calls if c.reply is None or c.reply.cached_at is None]


def _totals(usages: Sequence[Usage]) -> Usage:
    tiers = list(dict.fromkeys(usage.tier for usage in usages))
    parts = [_totals([u for u in usages if u.tier == tier]) for tier in tiers if len(tiers) > 1]
    return Usage(
        input_tokens=total(u.input_tokens for u in usages),
        cached_tokens=total(u.cached_tokens for u in usages),
        cache_write_tokens=_told(u.cache_write_tokens for u in usages),
        hour_cache_write_tokens=_told(u.hour_cache_write_tokens for u in usages),
        output_tokens=total(u.output_tokens for u in usages),
        reasoning_tokens=total(u.reasoning_tokens for u in usages),
        tier=tiers[0] if len(tiers) == 1 else None,
        by_tier=tuple(parts),
    )


def _told(values: Iterable[int | None]) -> int | None:
    """The sum of those that are told, which few servers do; None where none is."""
    told = [value for value in values if value is not None]
    return sum(told) if told else None


STANDARD = "standard"
"""The tier of replies that name no other."""


def tiers(replies: Sequence[Reply]) -> dict[str, int]:
    """Replies by service tier; empty where all are of the standard one."""
    counts = Counter(reply.usage.tier or STANDARD for reply in replies if reply.cached_at is None)
    return {} if set(counts) <= {STANDARD} else dict(sorted(counts.items()))


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None if any value is."""
    sum_ = 0
    for value in values:
        if value is None:
            return None
        sum_ += value
    return sum_
