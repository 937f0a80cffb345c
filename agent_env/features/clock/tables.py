"""Conditions in a world on another day: which day an answer follows, and who asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from math import inf

from agent_env.features.clock.answers import (
    DATE_ASKED,
    EVER_RIGHT,
    FOLLOWS,
    LOOKS_UP,
    ON,
    OTHER_DAY,
    PRESENT,
    RIGHT_SINCE,
    RIGHT_UNTIL,
    in_years,
)
from agent_env.sdk.results import (
    Arm,
    Cell,
    Column,
    Comparison,
    Observation,
    ResultTable,
    Statistic,
)

NOTES = (
    "Over the questions about the present whose answer is not the same on all days. Follows the "
    "clock: right on the condition's day. Another day: wrong there, and right on another of the "
    "run's days, which ‘right on’ names. The present: wrong there, and right in the present of "
    "the tables; both may hold of one answer. A later day: wrong there, right only behind it. "
    "Years old: of the answers that were right before their day, how long ago that was.",
    "Date asked: a tool told the day that its arguments did not, or a search for the date did. "
    "Looks up: the web or a table was asked before the answer; both over all questions.",
)


@Statistic(
    "clock", order=21, section="Results", in_score=True,
    without_rows="No condition has a day; --today of run gives it one.",
).of  # fmt: skip
def clock(comparison: Comparison) -> ResultTable:
    """A row for each condition with a day."""
    arms = [arm for arm in comparison.study.arms if arm.condition.today is not None]
    days = sorted({arm.condition.today or "" for arm in arms})
    rows = tuple(tuple(_cells(comparison, arm, days)) for arm in arms)
    columns = (
        Column("condition"), Column("follows the clock"), Column("another day", rank=1),
        Column("the present"), Column("a later day", rank=2),
        Column("years old", 1), *(Column(f"right on {day}", rank=3) for day in days),
        Column("n", 0), Column("date asked"), Column("looks up", rank=2),
    )  # fmt: skip
    return ResultTable("clock", "Which day do answers follow?", columns, rows, NOTES)


def _cells(comparison: Comparison, arm: Arm, days: list[str]) -> Iterator[Cell]:
    today = in_years(date.fromisoformat(arm.condition.today or ""))
    (right,) = comparison.estimates_over([arm], FOLLOWS)
    yield arm.label
    yield right.cell
    yield from _shares(comparison, arm, OTHER_DAY, PRESENT)
    of_span: tuple[Callable[[Observation], float | None], ...] = (
        lambda each: _is_later(each, today),
        lambda each: _age(each, today),
    )
    yield from (comparison.estimate_of(arm, value).cell for value in of_span)
    yield from _shares(comparison, arm, *(f"{ON}{day}" for day in days))
    yield right.samples or None
    yield from _shares(comparison, arm, DATE_ASKED, LOOKS_UP)


def _shares(comparison: Comparison, arm: Arm, *metrics: str) -> Iterator[Cell]:
    for name in metrics:
        yield comparison.estimates_over([arm], name)[0].cell


def _is_later(each: Observation, today: float) -> float | None:
    if EVER_RIGHT not in each.metrics:
        return None
    return float(each.metrics.get(RIGHT_SINCE, today) > today)


def _age(each: Observation, today: float) -> float | None:
    """How many years ago an answer of before the day was last right."""
    since = each.metrics.get(RIGHT_SINCE)
    span = None if since is None else (since, each.metrics.get(RIGHT_UNTIL, inf))
    return None if span is None or span[1] > today else today - span[1]
