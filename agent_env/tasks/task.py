"""A question family as data: what is asked, how it is scored, how its results are analysed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agent_env.errors import ConfigError
from agent_env.protocols import Limits, Scorer, Strategy
from agent_env.records.schema import Condition, Episode, Message, Sample, Score
from agent_env.tasks.faults import Faults


class FaultFinder(Protocol):
    """Says which constraints an answer does not satisfy."""

    def __call__(self, sample: Sample, answer: tuple[str, ...]) -> Faults: ...


def _no_groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
    return {}


def _no_cluster(sample: Sample) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class AnalysisHooks:
    """What the analysis asks of a family; the defaults fit any."""

    groups: Callable[[Sample], Mapping[str, tuple[str, ...]]] = _no_groups
    """What a sample is broken down by; it may stand under several values of one name."""
    cluster: Callable[[Sample], str] = _no_cluster
    """What a sample shares with others, drawn together in resampling; "" for nothing."""
    shared: str = ""
    """What samples of one cluster share, as a noun."""
    fault_finder: Callable[[], FaultFinder] | None = None
    """Makes the finder, which may load tables; None where the family has none."""
    statistics: tuple[str, ...] = ()
    """The family's own, as MODULE:NAME of an `analysis.statistics.Statistic` each."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question that is answered before the sample's own."""

    fields: Mapping[str, str]
    """The placeholders' texts."""
    answer: str
    """What the assistant says to it."""


Prompt = Callable[[Sample, Condition], tuple[Message, ...]]
"""The first messages for a sample under a condition."""


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What a strategy is made of."""

    prompt: Prompt
    condition: Condition
    examples: Prompt | None = None
    """Worked examples of the family, as turns of user and assistant; None where it has none."""


StrategyMaker = Callable[[StrategyParts], Strategy | None]
"""None for a strategy that only words the question: the tool loop does the rest. Raises ConfigError
where the strategy cannot work with these parts."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question family as data."""

    name: str
    sample_type: type[Sample]
    prompt: Prompt
    scorer: Scorer
    metrics: tuple[str, ...]
    """What the scorer measures, the main one first."""
    default_conditions: tuple[str, ...]
    ceiling_metric: str | None = None
    """The metric that is 1 for the best answer there can be, where the main one may stay below."""
    error_metrics: frozenset[str] = frozenset()
    """Those of `metrics` that say how far off an answer is: the less the better, without a bound,
    and absent from a score where they are not defined."""
    limits: Limits = Limits()  # noqa: RUF009, frozen
    placeholders: Mapping[str, bool] = field(default_factory=dict)
    """What a user's own prompt may hold, and whether it must."""
    fields: Callable[[Sample, Condition], Mapping[str, str]] | None = None
    """The placeholders' texts; None where the family takes no prompt of the user's."""
    wording: Callable[[Mapping[str, str]], str] | None = None
    """The question made of the placeholders' texts."""
    examples: Callable[[Sample, Condition], tuple[Example, ...]] | None = None
    """Worked examples for few-shot prompts, worded like the question."""
    setup: Callable[[Sample, Condition], str] | None = None
    """Code with which a Python session of the sample begins; None where it begins empty."""
    strategies: Mapping[str, StrategyMaker] = field(default_factory=dict)
    """Strategies that only these questions can be asked by, beside those of every task."""
    analysis: AnalysisHooks = AnalysisHooks()
    """How results are broken down and resampled, and wrong answers diagnosed."""

    def score(self, sample: Sample, episode: Episode) -> Score:
        """The episode's score. A scorer that raises ends no command: its error is the episode's
        outcome. Only ConfigError passes, such as a missing extra, which the user can mend."""
        try:
            return self.scorer(sample, episode)
        except ConfigError:
            raise
        except Exception as exc:  # whatever a model's text may set off
            reason = " ".join(f"{type(exc).__name__}: {exc}".split())
            return Score(
                sample=episode.sample,
                condition=episode.condition,
                repeat=episode.repeat,
                outcome="scorer_failed",
                rule=f"the scorer raised {reason[:300]}",
            )

    @property
    def right_metric(self) -> str:
        """The metric that is 1 for a right answer."""
        return self.ceiling_metric or self.metrics[0]
