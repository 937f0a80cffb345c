"""Whether the tools of each condition arrived."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.treatment import Treatment, treatment_table, treatments


def treatment(comparison: Comparison) -> ResultTable:
    """Whether the tools of each arm arrived; no rows where none has any."""
    return treatment_table(arrivals(comparison))


def arrivals(comparison: Comparison) -> list[tuple[str, Treatment]]:
    """What the finished episodes of each condition with tools tell, with the arm's label."""
    pairs = []
    for run in dict.fromkeys(arm.run for arm in comparison.study.arms):
        arms = {arm.condition.name: arm for arm in comparison.study.arms if arm.run == run}
        own = {
            name: [o.arrival for o in arm.observations if o.arrival is not None and o.counts]
            for name, arm in arms.items()
        }
        problems = {name: arm.problem for name, arm in arms.items() if arm.problem is not None}
        conditions = [arm.condition for arm in arms.values()]
        in_text = any(arm.in_text for arm in arms.values())
        rows = treatments(conditions, own, problems, in_text)
        pairs += [(arms[row.condition].label, row) for row in rows]
    return pairs


TREATMENT = Statistic(
    "treatment", treatment, order=30, section="Results", is_main=True, in_score=True
)
