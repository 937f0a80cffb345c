"""Plugged-in scorers and metrics: a scorer in the place of the task's own, metrics beside it.

A scorer is a function of a sample and an answer that gives a number, yes or no, or a dict of
numbers. One of a sample and an episode may give a whole Score, with the names of its metrics, the
main one first, as its attribute `metrics`. A metric is a function of a sample and an episode that
gives a number.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agent_env.errors import ConfigError, error_text
from agent_env.protocols import Scorer
from agent_env.records.schema import Episode, Sample, Score
from agent_env.registry import NO_PLUGINS, Plugins, Registry, callable_only
from agent_env.scoring.sample_means import episode_score
from agent_env.tasks.task import Task

Metric = Callable[[Sample, Episode], float]
AUTHORS_SCORER = "authors"
"""Names the scorer that a paper's authors published."""
MEASURED = ("read", "unreadable")
"""Outcomes that have metrics."""


@dataclass(frozen=True, slots=True)
class FunctionScorer:
    """The Scorer of a function of a sample and an answer, or an episode, that gives a number, yes
    or no, or numbers by name. The function's name is the main metric, which is the number of this
    name, else the first one."""

    function: Callable[..., Any]
    takes_episode: bool

    @property
    def metrics(self) -> tuple[str, ...]:
        return (self.function.__name__,)

    def __call__(self, sample: Sample, episode: Episode) -> Score:
        return episode_score(sample, episode, partial(self._measure, sample, episode))

    def _measure(self, sample: Sample, episode: Episode, text: str | None) -> dict[str, object]:
        answer = answer_in(text or "")
        value = self.function(sample, episode if self.takes_episode else answer)
        numbers = dict(value) if isinstance(value, Mapping) else {self.metrics[0]: value}
        wrong = [each for each in numbers.values() if not isinstance(each, int | float)]
        if wrong or not numbers:
            raise TypeError(
                f"{self.metrics[0]} gave {type(wrong[0] if wrong else value).__name__}; give a "
                "number, True or False, or a dict of numbers: return answer == sample.gold[0]"
            )
        main = {self.metrics[0]: next(iter(numbers.values()))}
        outcome = "unreadable" if text is None else "read"
        metrics = {name: float(number) for name, number in (main | numbers).items()}
        rule = "the text behind MY ANSWER:" if "MY ANSWER:" in (text or "") else "the whole text"
        found = (answer,) if answer else ()
        return {"outcome": outcome, "answer": found, "rule": rule, "metrics": metrics}


class RecordedScorer:
    """The scores that a run kept, where the function that gave them is gone."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self._scores = {(each.sample, each.condition, each.repeat): each for each in scores}
        names = (name for each in scores for name in each.metrics)
        self.metrics = tuple(dict.fromkeys(names)) or ("score",)

    def __call__(self, sample: Sample, episode: Episode) -> Score:
        key = episode.sample, episode.condition, episode.repeat
        if (score := self._scores.get(key)) is not None:
            return score
        unscored = {"outcome": "scorer_failed", "rule": "its scorer is not here"}
        return episode_score(sample, episode, lambda answer: unscored)


def with_recorded_scores(task: Task, scores: bytes) -> Task:
    """The task with the scores of a scores.jsonl; ConfigError where it cannot be read."""
    try:
        lines = [Score.model_validate_json(line) for line in scores.splitlines()]
    except ValueError as exc:
        raise ConfigError(f"scores.jsonl cannot be read: {error_text(exc)}") from exc
    scorer: Any = RecordedScorer(lines)
    return replace(
        task, scorer=scorer, metrics=scorer.metrics, error_metrics=frozenset(), ceiling_metric=None
    )


def answer_in(text: str) -> str:
    """What is behind the last `MY ANSWER:`, else the whole text; without space around it."""
    return text.rpartition("MY ANSWER:")[2].strip(" \n\t*")


def _scorer(thing: Any, name: str) -> Scorer | None:
    if not callable(thing):
        return None
    metrics = getattr(thing, "metrics", None)
    if isinstance(metrics, tuple) and metrics and all(isinstance(m, str) for m in metrics):
        return thing  # type: ignore[no-any-return]
    if metrics is not None:
        raise ConfigError("its attribute metrics is not a tuple of names, such as ('right',)")
    parameters = list(inspect.signature(thing).parameters)
    if len(parameters) < 2 or not hasattr(thing, "__name__"):
        raise ConfigError(
            "it is not a function of a sample and an answer; the smallest one: "
            "def right(sample, answer): return answer == sample.gold[0]"
        )
    return FunctionScorer(thing, parameters[1] == "episode")


SCORERS: Registry[Scorer] = Registry(
    "scorer", "scorers", "a function of a sample and an answer that gives a number", _scorer
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
