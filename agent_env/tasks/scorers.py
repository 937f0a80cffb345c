"""Plugged-in scorers and metrics: a scorer in the place of the task's own, metrics beside it.

A scorer is a function from a sample and an episode to a Score, with the names of its metrics, the
main one first, as its attribute `metrics`. A metric is a function from the same to a number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agent_env.errors import ConfigError, error_text
from agent_env.protocols import Scorer
from agent_env.records.schema import Episode, Sample, Score
from agent_env.registry import NO_PLUGINS, Plugins, Registry, callable_only
from agent_env.tasks.task import Task

Metric = Callable[[Sample, Episode], float]
AUTHORS_SCORER = "authors"
"""Names the scorer that a paper's authors published."""
MEASURED = ("read", "unreadable")
"""Outcomes that have metrics."""


def _scorer(thing: Any, name: str) -> Scorer | None:
    if not callable(thing):
        return None
    metrics = getattr(thing, "metrics", ())
    if (
        not isinstance(metrics, tuple)
        or not metrics
        or not all(isinstance(m, str) for m in metrics)
    ):
        raise ConfigError("it names no metrics: set its attribute metrics = ('right',)")
    return thing  # type: ignore[no-any-return]


SCORERS: Registry[Scorer] = Registry(
    "scorer", "scorers", "a function from a sample and an episode to a Score", _scorer
)
METRICS: Registry[Metric] = Registry(
    "metric", "metrics", "a function from a sample and an episode to a number", callable_only
)


def with_measures(
    task: Task, scorer: str | None, metrics: Sequence[str], plugins: Plugins = NO_PLUGINS
) -> Task:
    """The task with another scorer and more metrics; ConfigError for a metric that it has."""
    if scorer is not None:
        if scorer != AUTHORS_SCORER:
            plugin: Any = plugins.find(SCORERS, scorer)
            task = replace(task, scorer=plugin, metrics=plugin.metrics, error_metrics=frozenset())
        elif task.authors_scorer is None:
            raise ConfigError(f"--scorer {scorer}: no published scorer of {task.name} is known")
        else:
            task = task.by_authors()
        task = replace(task, ceiling_metric=None)
    for text in metrics:
        name = text.rpartition(":")[2]
        if name in task.metrics:
            raise ConfigError(f"metric '{name}' is taken twice: by {task.name} and by {text}")
        measured = _measured(task.scorer, name, plugins.find(METRICS, text))
        task = replace(task, scorer=measured, metrics=(*task.metrics, name))
    return task


def _measured(scorer: Scorer, name: str, metric: Metric) -> Scorer:
    @functools.wraps(scorer)
    def score(sample: Sample, episode: Episode) -> Score:
        result = scorer(sample, episode)
        if result.outcome not in MEASURED:
            return result
        try:
            value = metric(sample, episode)
            if not isinstance(value, int | float):
                raise TypeError(f"it gave a {type(value).__name__}, not a number")
        except ConfigError:
            raise
        except Exception as exc:  # the user's own code; what the scorer measured stands
            errors = {**result.failed_metrics, name: error_text(exc)}
            return result.model_copy(update={"failed_metrics": errors})
        return result.model_copy(update={"metrics": {**result.metrics, name: float(value)}})

    return score
