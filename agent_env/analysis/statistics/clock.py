"""Conditions in a world on another day: which day an answer follows, and who asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.tasks.moving import DATE_ASKED, FOLLOWS, LOOKS_UP, ON, OTHER_DAY, PRESENT

NOTES = (
    "Over the questions about the present whose answer is not the same on all days. Follows the "
    "clock: right on the condition's day. Another day: wrong there, and right on another of the "
    "run's days, which ‘right on’ names. The present: wrong there, and right in the present of "
    "the tables; both may hold of one answer.",
    "Date asked: a tool told the day that its arguments did not, or a search for the date did. "
    "Looks up: the web or a table was asked before the answer; both over all questions.",
)


@Statistic(
    "clock", order=21, section="Results", is_main=True, in_score=True,
    without_rows="No condition has a day; run --today makes one that has.",
).of  # fmt: skip
def clock(comparison: Comparison) -> ResultTable:
    """A row for each condition with a day."""
    arms = [arm for arm in comparison.study.arms if arm.condition.today is not None]
    days = sorted({arm.condition.today or "" for arm in arms})
    rows = tuple(tuple(_cells(comparison, arm, days)) for arm in arms)
    columns = (
        Column("condition"), Column("follows the clock"), Column("another day", rank=1),
        Column("the present"), *(Column(f"right on {day}", rank=3) for day in days),
        Column("n", 0), Column("date asked"), Column("looks up", rank=2),
    )  # fmt: skip
    return ResultTable("clock", "Which day answers follow", columns, rows, NOTES)


def _cells(comparison: Comparison, arm: Arm, days: list[str]) -> Iterator[Cell]:
    follows = _share(comparison, arm, FOLLOWS)
    yield arm.label
    yield from (each.cell for each in (follows, *_shares(comparison, arm, (OTHER_DAY, PRESENT))))
    yield from (each.cell for each in _shares(comparison, arm, [f"{ON}{day}" for day in days]))
    yield follows.samples or None
    yield from (each.cell for each in _shares(comparison, arm, (DATE_ASKED, LOOKS_UP)))


def _shares(comparison: Comparison, arm: Arm, metrics: Sequence[str]) -> list[Estimate]:
    return [_share(comparison, arm, name) for name in metrics]


def _share(comparison: Comparison, arm: Arm, metric: str) -> Estimate:
    values = comparison.column(arm, metric)[:, None]
    known = values[~np.isnan(values)]
    return comparison.estimates(values, bool(np.isin(known, (0.0, 1.0)).all()))[0]
