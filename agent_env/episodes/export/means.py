"""The results of a run, as files of results have them: the mean of each metric by condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.models.addresses import COMPATIBLE, LOCAL, served_name
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean of a metric over the finished episodes of a condition, as `score` has it."""

    condition: str
    metric: str
    value: float
    low: float | None
    high: float | None
    """The 95 % confidence interval; both None where there is none."""
    method: str
    """How the interval was made, or why there is none."""
    samples: int
    episodes: int
    """Finished ones."""
    is_error: bool
    """Less is better, from 0 without end."""
    is_bounded: bool
    """Whether no episode scored below 0 or above 1."""
    problem: str | None = None
    """Why the condition cannot mean anything."""

    @property
    def interval(self) -> str:
        """For a reader."""
        if self.low is None or self.high is None:
            return f"no interval: {self.method}"
        return f"95 % CI {self.low:.4f} to {self.high:.4f} ({self.method})"


@dataclass(frozen=True, slots=True)
class Results:
    """What a file of results says beside the episodes."""

    means: Sequence[MeanScore] = ()
    notes: Sequence[str] = ()
    """What a reader of the means must know."""
    benchmark: str | None = None
    """The Hub's dataset that was asked: ORG/DATASET."""
    benchmark_task: str = "default"
    """Its task's name in the dataset's eval.yaml."""
    organization: str = "unknown"
    """Who evaluated."""

    def by_condition(self) -> Mapping[str, list[MeanScore]]:
        """Each condition's means, the main metric's first."""
        found: dict[str, list[MeanScore]] = {}
        for mean in self.means:
            found.setdefault(mean.condition, []).append(mean)
        return found


def is_plain(condition: Condition, manifest: Manifest) -> bool:
    """Whether its mean is a result of the dataset: nothing of the answer is told, nothing in its
    world is changed on purpose, and no episode is a fork of another."""
    is_fork = manifest.parent is not None or manifest.forks_of is not None
    return condition.wording == "implicit" and condition.disturbance is None and not is_fork


def hub_model(model: str) -> str:
    """The model as DEVELOPER/NAME; the developer is `unknown` where the name does not say it."""
    if not model.startswith((COMPATIBLE, LOCAL)):
        return model if "/" in model else f"agent-env/{model}"
    name = served_name(model)
    if model.startswith(COMPATIBLE) and name.count("/") == 1 and name.strip("/") == name:
        return name
    return f"unknown/{name.strip('/').rpartition('/')[2] or 'unknown'}"
