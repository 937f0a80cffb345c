"""Studies of one run, made of single scored episodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.observations import observe
from agent_env.analysis.study import Arm, Study
from agent_env.records.schema import Condition, Episode, Sample, Score
from agent_env.tasks.task import AnalysisHooks

Scored = tuple[Episode, Score]


def study_of(
    scored: Iterable[Scored],
    conditions: Sequence[str],
    metrics: tuple[str, ...],
    samples: Iterable[Sample] | None = None,
    hooks: AnalysisHooks = AnalysisHooks(),
) -> Comparison:
    """Each condition as an arm; `samples` where they are more than an id."""
    found = list(scored)
    names = dict.fromkeys(episode.sample for episode, _ in found)
    given = tuple(samples or (Sample(id=name, task="t", gold=()) for name in names))
    by_id = {sample.id: sample for sample in given}
    arms = tuple(
        Arm(
            label=name,
            run="run",
            model="m",
            condition=Condition(name=name),
            observations=tuple(
                observe(by_id[episode.sample], episode, score)
                for episode, score in found
                if episode.condition == name
            ),
            asked=len(given),
        )
        for name in conditions
    )
    return Comparison(Study("t", metrics, arms, given, (), hooks=hooks))
