"""What the analysis asks of TRAVELER: breakdowns, and what stands and falls together."""

from __future__ import annotations

from agent_env.schema import Sample
from agent_env.tasks.traveler.sample import TravelerSample

SHARED = "list of events"

fault_finder = None
"""No rules say why an answer is wrong."""


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Category, template, number of events, number of matches."""
    if not isinstance(sample, TravelerSample):
        return {}
    return {
        "category": (sample.category,),
        "template": (sample.template,),
        "events": (str(sample.size),),
        "matches": (sample.matches,),
    }


def cluster(sample: Sample) -> str:
    """The list of events that the question is about."""
    return sample.materials[0] if sample.materials else ""
