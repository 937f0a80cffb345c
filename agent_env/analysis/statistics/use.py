"""What an episode uses: tokens, cost, steps, calls, time."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.observations import QUANTITIES, RARE
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic

DIGITS = {"cost_usd": 4, "steps": 1, "tool_calls": 1, "duration_s": 2}
"""Of the quantities; tokens have none."""
SECONDARY = (*RARE, "tool_calls", "duration_s")


def use(comparison: Comparison) -> ResultTable:
    """Tokens, cost, steps, calls, time of an episode: means over samples."""
    present = [
        name
        for name in QUANTITIES
        if any(estimate.value is not None for estimate in comparison.means[name])
    ]
    rows = tuple(
        (arm.label, *(comparison.means[name][i].cell for name in present))
        for i, arm in enumerate(comparison.study.arms)
    )
    columns = (
        Column("condition"),
        *(Column(name, DIGITS.get(name, 0), is_secondary=name in SECONDARY) for name in present),
    )
    unknown = [name for name in QUANTITIES if name not in present]
    notes = ["Means over samples, repeats averaged first; cluster bootstrap intervals."]
    if unknown:
        notes.append(f"Not known for these runs: {', '.join(unknown)}.")
    if any(row[k] == (None, None, None) for row in rows for k in range(1, len(row))):
        notes.append("A dash: unknown for at least one episode, or none finished.")
    return ResultTable("use", "What an episode uses", columns, rows, tuple(notes))


USE = Statistic("use", use, order=40, section="Results")
