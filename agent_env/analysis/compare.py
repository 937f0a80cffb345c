"""Rows of scores by sample, each against the first: what needs no further package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from agent_env.analysis.observations import Observation
from agent_env.analysis.paired import Difference, difference
from agent_env.analysis.tables import Compared


@dataclass(frozen=True, slots=True)
class Plain:
    """The baseline's name and the other rows."""

    baseline: str
    rows: tuple[Compared, ...]


def compare(
    rows: Sequence[tuple[str, Mapping[str, float]]], metric: str, is_error: bool = False
) -> Plain:
    """Every row but the first against the first; scores are by sample. `is_error`: less is
    better."""
    (baseline, before), *others = rows
    found = ((name, difference(before, after)) for name, after in others)
    return Plain(
        baseline,
        tuple(
            Compared(name, metric, _as_errors(d))
            if is_error and d is not None
            else Compared(name, metric, d)
            for name, d in found
        ),
    )


def _as_errors(found: Difference) -> Difference:
    """Less is better, and that nothing differs says nothing of a value without bound."""
    interval = found.interval if found.better + found.worse else None
    return replace(found, better=found.worse, worse=found.better, interval=interval)


def by_sample(results: Iterable[Observation], metric: str) -> dict[str, float]:
    """Mean score of each sample over its repeats; episodes that failed are left out, and those for
    which the metric is not defined."""
    values: dict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.counts and metric in result.metrics:
            values[result.sample].append(result.metrics[metric])
    return {sample: fmean(found) for sample, found in values.items()}
