"""What the analysis asks of temp-answers: breakdowns, and what stands and falls together."""

from __future__ import annotations

from agent_env.families.temp_answers.sample import TimeQuestion
from agent_env.records.schema import Sample
from agent_env.tasks.task import AnalysisHooks


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Split, question type, unit."""
    if not isinstance(sample, TimeQuestion):
        return {}
    return {
        "split": (sample.split,),
        "question type": (sample.question_type,),
        "unit": (sample.answer_unit,),
    }


def cluster(sample: Sample) -> str:
    """The table or graph that the question is about."""
    return sample.materials[0] if sample.materials else ""


HOOKS = AnalysisHooks(groups, cluster, "table or graph")
