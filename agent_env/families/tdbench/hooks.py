"""What comparisons ask of questions from temporal tables: groups, and what is not independent."""

from __future__ import annotations

from collections.abc import Mapping

from agent_env.families.tdbench.sample import tdbench_sample
from agent_env.records.schema import Sample
from agent_env.tasks.task import AnalysisHooks


def groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
    """What a sample is broken down by."""
    asked = tdbench_sample(sample)
    return {
        "relation": (asked.relation,),
        "cardinality": (asked.cardinality,),
        "kind": (asked.kind,),
        "domain": (asked.domain,),
        "granularity": (asked.granularity,),
        "worded_by": (asked.worded_by,),
    }


def cluster(sample: Sample) -> str:
    """The query: its phrasings are drawn together."""
    return tdbench_sample(sample).query


HOOKS = AnalysisHooks(groups, cluster, "query")
