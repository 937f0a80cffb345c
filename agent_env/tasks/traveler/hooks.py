"""What the analysis asks of traveler: breakdowns."""

from __future__ import annotations

from agent_env.schema import Sample
from agent_env.tasks.traveler.sample import TravelerSample


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """Category, template, time expression, how many events fit."""
    if not isinstance(sample, TravelerSample):
        return {}
    return {
        "category": (sample.category,),
        "template": (sample.template,),
        "expression": (sample.expression,),
        "matches": (sample.matches,),
    }


def cluster(sample: Sample) -> str:
    """Nothing: each question is drawn by itself."""
    return ""


fault_finder = None
"""No rules say why an answer is wrong."""
