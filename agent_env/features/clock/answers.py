"""What an answer follows in a world where it is another day."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date

from agent_env.sdk.family import CannotShift, Task, tools_of
from agent_env.sdk.records import Condition, Episode, Sample, Score, ToolCall, World
from agent_env.sdk.scoring import stands_in

FOLLOWS, OTHER_DAY, PRESENT = "follows_clock", "other_day", "present"
"""Metrics of an answer to a question about the present: right on the condition's day; else right on
another of the sample's days; else right in the present of its tables."""
ON = "right_on_"
"""Begins the metric for each other day: right on that day, and not on the condition's."""
RIGHT_SINCE, RIGHT_UNTIL = "right_since", "right_until"
"""Metrics of an answer that is right on some day: when that began and ended, as years of the
calendar (1995.5 is July); of several such spans the one with the condition's day, else the last one
before it, else the first behind it. The end is missing where it lasts."""
EVER_RIGHT = "ever_right"
"""Metric of an answer whose question's history is known: whether it was right on some day."""
DATE_ASKED, LOOKS_UP = "date_asked", "looks_up"
"""Metrics of every answer on a day: whether a tool told the day; whether anything was looked up."""
_ASKS = re.compile(r"\b(?:today|current(?:ly)?|date|now)\b", re.I)


def states_of(task: Task, sample: Sample) -> list[tuple[date, Sample]]:
    """The sample as it is asked on each day on which its answer may change, in their order."""
    states: list[tuple[date, Sample]] = []
    if task.on_day is None or task.changes is None:
        return states
    for day in sorted(set(task.changes(sample))):
        try:
            fields = dict(task.on_day(sample, day))
        except CannotShift:  # before its world, or behind it
            continue
        moved = sample.model_copy(update={"by_day": {str(day): fields}})
        states.append((day, moved.in_world(World(today=str(day)))))
    return states


def clock_metrics(task: Task, sample: Sample, episode: Episode, score: Score, day: str) -> Score:
    """The score with these metrics, under a condition with the day; `sample` is the plain one."""

    def is_right(world: Sample) -> bool:
        return task.scorer(world, episode).metrics.get(task.right_metric) == 1

    extra = _behaviour(episode, day)
    if sample.by_day.get(day):
        follows = score.metrics.get(task.right_metric) == 1
        others = {
            other: not follows and is_right(sample.in_world(World(today=other)))
            for other in sample.by_day
            if other != day
        }
        extra |= {
            FOLLOWS: float(follows),
            OTHER_DAY: float(any(others.values())),
            PRESENT: float(not follows and is_right(sample)),
        }
        extra |= {f"{ON}{other}": float(right) for other, right in others.items()}
        if history := states_of(task, sample):
            today = date.fromisoformat(day)
            extra |= _span_metrics(_right_spans(history, today, is_right, follows), today)
    return score.model_copy(update={"metrics": score.metrics | extra})


Span = tuple[date, date | None]
"""From a day to before another; None: it lasts."""


def _right_spans(
    states: Sequence[tuple[date, Sample]],
    today: date,
    is_right: Callable[[Sample], bool],
    follows: bool,
) -> list[Span]:
    """When the answer is right, of the times at which there is one; where it is so today, that span
    alone."""
    spans: list[Span] = []
    for number, (start, state) in enumerate(states, 1):
        end = states[number][0] if number < len(states) else None
        is_now = start <= today and (end is None or today < end)
        if not state.gold or not (is_now if follows else is_right(state)):
            continue
        if spans and spans[-1][1] == start:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def _span_metrics(spans: Sequence[Span], today: date) -> dict[str, float]:
    before = [span for span in spans if span[0] <= today]
    metrics = {EVER_RIGHT: float(bool(spans))}
    for start, end in before[-1:] or spans[:1]:
        metrics[RIGHT_SINCE] = in_years(start)
        if end is not None:
            metrics[RIGHT_UNTIL] = in_years(end)
    return metrics


def in_years(day: date) -> float:
    """The day as a number of years, 1995.0 for its first."""
    return day.year + (day.timetuple().tm_yday - 1) / 366


def _behaviour(episode: Episode, day: str) -> dict[str, float]:
    """Whether a tool that gives dates told the day, unasked by its arguments, or a search for the
    date did; and whether the web or a table was looked at."""
    calls = list(_results(episode))
    names = tuple(dict.fromkeys(call.name for call, _ in calls))
    tools = {each.name: each for each in tools_of([Condition(name="base", tools=names)])}
    asked = any(
        stands_in(day, output)
        and not stands_in(day, call.arguments)
        and (_ASKS.search(call.arguments) if tools[call.name].shows_web else True)
        for call, output in calls
        if tools[call.name].gives_dates or tools[call.name].shows_web
    )
    looked = any(tools[call.name].needs_web or tools[call.name].needs_table for call, _ in calls)
    return {DATE_ASKED: float(asked), LOOKS_UP: float(looked)}


def _results(episode: Episode) -> Iterator[tuple[ToolCall, str]]:
    """The calls that gave something, with it; an output of Python's dates in words too."""
    calls = {call.id: call for message in episode.messages for call in message.tool_calls}
    for message in episode.messages:
        call = calls.get(message.tool_call_id or "")
        if message.role == "tool" and call is not None:
            yield call, _DATE.sub(lambda m: "{}-{:0>2}-{:0>2}".format(*m.groups()), message.content)


_DATE = re.compile(r"date(?:time)?\((\d{4}), (\d{1,2}), (\d{1,2})")
