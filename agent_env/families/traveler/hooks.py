"""What the analysis asks of TRAVELER: breakdowns, and what stands and falls together."""

from __future__ import annotations

from agent_env.families.traveler.sample import TravelerSample
from agent_env.records.schema import Sample
from agent_env.tasks.task import AnalysisHooks


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Category, template, time expression, how many events there are and how many fit."""
    if not isinstance(sample, TravelerSample):
        return {}
    return {
        "category": (sample.category,),
        "template": (sample.template,),
        "expression": (sample.expression,),
        "events": (str(sample.size),),
        "matches": (sample.matches,),
    }


def cluster(sample: Sample) -> str:
    """The list of events that the question is about."""
    return sample.materials[0] if sample.materials else ""


HOOKS = AnalysisHooks(groups, cluster, "list of events")
