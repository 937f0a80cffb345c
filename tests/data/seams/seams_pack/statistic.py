"""How many episodes each condition has."""

from agent_env.sdk.results import Column, Comparison, ResultTable, Statistic


def _table(comparison: Comparison) -> ResultTable:
    rows = tuple((arm.label, len(arm.observations)) for arm in comparison.study.arms)
    columns = (Column("condition"), Column("episodes"))
    return ResultTable("episodes-in-all", "Episodes in all", columns, rows)


EPISODES = Statistic("episodes-in-all", _table, order=1_000)
