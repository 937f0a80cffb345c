"""How answers miss: values missing, values too many, both."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic


def outcomes(comparison: Comparison) -> ResultTable:
    """How answers miss: dates missing, dates too many, both."""
    rows = []
    for arm in comparison.study.arms:
        readable = [o for o in arm.observations if o.absent is not None and o.extra is not None]
        shares: list[Cell] = [None] * 4
        if readable:
            kinds = [(bool(o.absent), bool(o.extra)) for o in readable]
            cases = ((False, False), (True, False), (False, True), (True, True))
            shares = [kinds.count(kind) / len(readable) for kind in cases]
        rows.append((arm.label, len(readable), *shares))
    if not any(row[1] for row in rows):  # the logs of other tools have scores alone
        rows = []
    heads = ("right", "only missing", "only extra", "both")
    columns = (Column("condition"), Column("answers read", 0), *(Column(h) for h in heads))
    notes = (
        "Shares of the answers that could be read: gold values missing, values too many, or both.",
    )
    return ResultTable("outcomes", "How answers miss", columns, tuple(rows), notes)


OUTCOMES = Statistic("outcomes", outcomes, order=50, section="Results")
