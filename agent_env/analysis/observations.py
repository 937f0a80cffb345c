"""One episode reduced to what comparisons need; the messages are let go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent_env.analysis.fault_trails import AttackTrail, FaultTrail, attack_trail, fault_trail
from agent_env.analysis.totals import episode_cost
from agent_env.analysis.treatment import Arrival, arrival
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Episode, Sample, Score

TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
RARE = ("cached_tokens", "reasoning_tokens")
"""Parts of the other tokens, which some servers tell."""
QUANTITIES = (*TOKENS, "cost_usd", "steps", "tool_calls", "duration_s")
"""What an episode used, in the order of the tables; None is unknown."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One episode and what it scored."""

    sample: str
    repeat: int
    outcome: str
    """`read`, `unreadable` (scores 0); `failed`, `unfinished`, `scorer_failed` (score nothing)."""
    metrics: Mapping[str, float]
    used: Mapping[str, float | None]
    """By QUANTITIES."""
    absent: int | None
    """Gold dates that the answer lacks; None where no answer was read."""
    extra: int | None
    """Dates of the answer that are not gold."""
    stop_reason: str | None
    usage_sources: tuple[str, ...]
    model: str = ""
    arrival: Arrival | None = None
    """Whether its tools arrived."""
    served_models: tuple[str, ...] = ()
    answer: frozenset[str] | None = None
    """None where none was read."""
    hosted_calls: int = 0
    """Calls of the provider's own tools."""
    cut_outputs: int = 0
    saved_tokens: int | None = 0
    """Tool outputs that were cut to fit into the context."""
    faults: FaultTrail | None = None
    """Faults of its tools and what followed them; None where none were drawn on purpose."""
    attacks: Mapping[str, AttackTrail] = field(default_factory=dict)
    """What became of each attack on its sample, by name; in other conditions by chance."""
    trouble: str | None = None
    """Why the episode, or its scorer, failed."""

    @property
    def counts(self) -> bool:
        """Whether the episode came to an end without failing, and so enters the means."""
        return self.outcome in ("read", "unreadable")


def observe(
    sample: Sample, episode: Episode, score: Score, facts: ModelFacts | None = None
) -> Observation:
    """The observation of one scored episode at these prices; what it does not tell is None."""
    gold = set(sample.gold)
    is_free = episode.imported is not None  # a text, where our answers are sets of values
    answer = None if score.answer is None or is_free else set(score.answer)
    return Observation(
        sample=episode.sample,
        repeat=episode.repeat,
        outcome=score.outcome,
        metrics=score.metrics,
        used={
            **{name: getattr(episode, name) for name in QUANTITIES if name != "cost_usd"},
            "cost_usd": episode_cost(episode, facts),
        },
        absent=None if answer is None else len(gold - answer),
        extra=None if answer is None else len(answer - gold),
        stop_reason=episode.stop_reason,
        usage_sources=episode.usage_sources,
        model=episode.model,
        arrival=arrival(episode),
        served_models=episode.served_models,
        answer=None if score.answer is None else frozenset(score.answer),
        hosted_calls=episode.hosted_calls,
        cut_outputs=episode.cut_outputs,
        saved_tokens=episode.saved_tokens,
        faults=fault_trail(episode) if "~faults" in episode.condition else None,
        attacks={each.name: attack_trail(each, episode, score) for each in sample.attacks},
        trouble=score.rule if score.outcome == "scorer_failed" else episode.failure,
    )
