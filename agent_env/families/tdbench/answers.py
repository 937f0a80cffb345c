"""Scored answers as the paper's tables take them, and means over them with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agent_env.analysis.intervals import Estimate, bootstrap_estimate, mean_estimates
from agent_env.analysis.paper_results import percent
from agent_env.analysis.resampling import ratio, weight_chunks
from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, MaterialTable

Pair = tuple[float, float]
"""Numerator and denominator of an answer's part in a ratio; (value, 1) for a mean."""


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One finished answer, with its sample and its row of a layout."""

    sample: TdbenchSample
    metrics: Mapping[str, float]
    model: str
    prompt: str
    condition: str
    label: str | None = None
    """What people say of the answer; None where nobody judged it."""
    table: MaterialTable | None = None
    """The first table of the sample."""
    is_shortcut: bool = False
    """Whether no model gave it."""

    def metric(self, name: str) -> float | None:
        """None where it is not defined."""
        return self.metrics.get(name)


def condition_names(manifest: Manifest) -> dict[str, str]:
    """What tells the conditions of a run apart, by name."""
    closed = manifest.options.get("book") == "closed"
    return {each.name: _condition_text(each, closed) for each in manifest.conditions}


def _condition_text(condition: Condition, closed: bool) -> str:
    strategy = "" if condition.strategy == "tool-loop" else f" {condition.strategy}"
    book = " closed" if closed and condition.name == "base" else ""
    return f"{condition.name}{book}{strategy}"


def is_closed(answer: ScoredAnswer) -> bool:
    """Whether the question was asked without any rows."""
    own = answer.sample.book == "closed" and answer.condition.split()[0] == "base"
    return own or "closed" in answer.condition.split()


def estimate(values: Iterable[tuple[str, Pair]]) -> Estimate:
    """The ratio in percent, with an interval over clusters (queries): Wilson's where every answer
    is 0 or 1, else the percentiles of a cluster bootstrap."""
    names, pairs = zip(*own, strict=True) if (own := list(values)) else ((), ())
    if not pairs or not (total := sum(pair[1] for pair in pairs)):
        return Estimate(None, method="no answer for it")
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    clusters = np.array([numbers[name] for name in names], dtype=np.int64)
    if all(pair in ((0.0, 1.0), (1.0, 1.0)) for pair in pairs):
        column = np.array([[pair[0]] for pair in pairs])
        (share,) = mean_estimates(column, clusters, np.empty((0, 1)), share=True)
        return percent(share)
    sums = np.zeros((len(numbers), 2))
    np.add.at(sums, clusters, np.array(pairs, dtype=float))
    value = sum(pair[0] for pair in pairs) / total
    if np.ptp(sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1)) < 1e-12:
        return percent(Estimate(value, None, None, "all equal", len(pairs), len(numbers)))
    draws = [
        ratio(weights @ sums[:, :1], weights @ sums[:, 1:]) for weights in weight_chunks(len(sums))
    ]
    return percent(bootstrap_estimate(value, np.concatenate(draws)[:, 0], len(pairs), len(numbers)))


def distinct_samples(answers: Sequence[ScoredAnswer]) -> list[ScoredAnswer]:
    """One answer of each sample."""
    return list({answer.sample.id: answer for answer in answers}.values())
