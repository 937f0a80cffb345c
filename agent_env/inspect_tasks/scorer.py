"""The family's scorer as one of Inspect's: its metrics by name, from the log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

if TYPE_CHECKING:
    from agent_env.tasks.family import Materials
    from agent_env.tasks.task import Task


@scorer(metrics={"*": [mean(), stderr(cluster="cluster")]})
def episode_score(family: str, parameters: dict[str, Any]) -> Scorer:
    """Scores by the family and the parameters of its task."""
    made: dict[bool, Task] = {}

    async def score(state: TaskState, target: Target) -> Score:
        from agent_env.inspect_tasks.episodes import episode_of

        fields = state.metadata["sample"]
        has_tables = bool(fields.get("materials"))
        if has_tables not in made:
            made[has_tables] = _task_of(family, parameters, has_tables)
        task = made[has_tables]
        episode = episode_of(state)
        ours = task.score(task.sample_type.model_validate(fields), episode)
        about = {"outcome": ours.outcome, "rule": ours.rule}
        answer = None if ours.answer is None else ", ".join(ours.answer)
        if not ours.metrics:
            return Score.unscored(reason="scoring_failed", answer=answer, metadata=about)
        names = dict.fromkeys((*task.metrics, *ours.metrics))
        values = {name: ours.metrics.get(name, float("nan")) for name in names}
        return Score(value=values, answer=answer, explanation=episode.answer, metadata=about)

    return score


def _task_of(family: str, parameters: dict[str, Any], has_tables: bool) -> Task:
    """The task as far as its scorer goes; tables are made again from the parameters."""
    from agent_env.inspect_tasks.parameters import run_options
    from agent_env.runs.prepare import samples_of
    from agent_env.tasks.family import by_digest, read_options
    from agent_env.tasks.scorers import with_measures
    from agent_env.wiring.registry import FAMILIES

    options = run_options(family, parameters)
    its = options.plugins.find(FAMILIES, options.task)
    tables: Materials = by_digest(samples_of(options).tables) if has_tables else {}
    task = its.make_task("default", read_options(its, options.options), tables)
    return with_measures(task, options.scorer, options.metrics, options.plugins)
