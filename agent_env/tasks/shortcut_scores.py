"""What shortcuts score on samples, by the scorer of their task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from agent_env.records.schema import Episode, Sample, Score
from agent_env.tasks.shortcuts import Shortcut
from agent_env.tasks.task import Task


def answered_by(
    task: Task,
    shortcut: Shortcut,
    samples: Sequence[Sample],
    on_failure: Callable[[Sample, Exception], None] = lambda sample, error: None,
) -> list[tuple[Sample, Episode, Score]]:
    """The shortcut's answers to the samples for which it has one, scored. It has none to a
    sample on which it fails, such as one that somebody edited; `on_failure` is told of each."""
    try:
        guess = shortcut.make(samples)
    except Exception as exc:  # a foreign run's samples may cause any error
        for sample in samples:
            on_failure(sample, exc)
        return []
    scored = []
    for sample in samples:
        rng = Random(f"{shortcut.name}/{sample.id}")
        shown = sample if shortcut.sees_gold else sample.model_copy(update=dict(task.hidden))
        try:
            text = guess(shown, rng)
        except Exception as exc:  # as above
            on_failure(sample, exc)
            continue
        if text is None:
            continue
        episode = Episode(
            sample=sample.id, condition=Shortcut.CONDITION, repeat=1, model=shortcut.name,
            status="finished", answer=text, stop_reason="answered",
        )  # fmt: skip
        scored.append((sample, episode, task.score(sample, episode)))
    return scored


def solved_by(task: Task, shortcut: Shortcut, samples: Sequence[Sample]) -> list[str]:
    """The ids of the samples that the shortcut answers rightly."""
    scored = answered_by(task, shortcut, samples)
    return [sample.id for sample, _, score in scored if score.metrics.get(task.right_metric) == 1]
