"""What a condition or a run cost in all: sums over episodes, failed and unfinished ones too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from agent_env.models.usage import is_priced
from agent_env.records.schema import Episode, ModelFacts, Usage


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums; a token sum is None where any reply's figure is unknown."""

    episodes: int
    calls: int
    """Model calls, failed ones included, cache hits not."""
    failed_calls: int
    uncounted_calls: int
    """Of the failed ones, those of unknown size; they are in no sum."""
    charged_tokens: int
    """What the run's limits were charged for calls of unknown size; in no other sum."""
    charged_cost_usd: float | None
    """The same in money; None without prices."""
    cache_hits: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    """None where a price or a count is unknown; cache hits cost nothing."""
    tiers: Mapping[str, int] = field(default_factory=dict)
    """Replies by service tier; empty where all are of the standard one."""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value != {}}


def totals(episodes: Iterable[Episode], facts: ModelFacts | None) -> Totals:
    """Over the episodes, at these prices."""
    every = list(episodes)
    hits = sum(e.cache_hits for e in every)
    failed = sum(e.failed_calls for e in every)
    charged = [e.charged for e in every if e.charged != Usage()]
    sums: Counter[str] = Counter()
    for episode in every:
        sums.update(episode.tiers)
    return Totals(
        episodes=len(every),
        calls=sum(e.steps for e in every) + failed - hits,
        failed_calls=failed,
        uncounted_calls=sum(e.uncounted_calls for e in every),
        charged_tokens=sum((c.input_tokens or 0) + (c.output_tokens or 0) for c in charged),
        charged_cost_usd=sum_known([c.cost_usd(facts) for c in charged])
        if is_priced(facts)
        else None,
        cache_hits=hits,
        input_tokens=sum_known([e.input_tokens for e in every]),
        cached_tokens=sum_known([e.cached_tokens for e in every]),
        output_tokens=sum_known([e.output_tokens for e in every]),
        reasoning_tokens=sum_known([e.reasoning_tokens for e in every]),
        cost_usd=sum_known([episode_cost(e, facts) for e in every]),
        tiers=dict(sums),
    )


def episode_cost(episode: Episode, facts: ModelFacts | None) -> float | None:
    """In USD; None where a price or a count is unknown."""
    if episode.imported is not None and "cost_usd" in episode.imported.used:
        return episode.imported.used["cost_usd"]
    return episode.paid.cost_usd(facts)


Number = TypeVar("Number", int, float)


def sum_known(values: list[Number | None]) -> Number | None:
    """The sum, or None where any part of it is unknown."""
    present = [value for value in values if value is not None]
    return sum(present) if len(present) == len(values) else None
