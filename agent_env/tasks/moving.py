"""Questions about the present: what an answer follows in a world where it is another day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from agent_env.protocols import Scorer
from agent_env.records.schema import Condition, Episode, Message, Sample, Score, ToolCall
from agent_env.scoring.evidence import stands_in
from agent_env.tasks.conditions import today_of
from agent_env.tasks.tool_registry import traits_of

FOLLOWS, OTHER_DAY, PRESENT = "follows_clock", "other_day", "present"
"""Metrics of an answer to a question about the present: right on the condition's day; else right on
another of the sample's days; else right in the present of its tables."""
ON = "right_on_"
"""Begins the metric for each other day: right on that day, and not on the condition's."""
DATE_ASKED, LOOKS_UP = "date_asked", "looks_up"
"""Metrics of every answer on a day: whether a tool told the day; whether anything was looked up."""
_ASKS = re.compile(r"\b(?:today|current(?:ly)?|date|now)\b", re.I)


def with_today(messages: Sequence[Message], condition: Condition) -> tuple[Message, ...]:
    """The messages; where the condition says what day it is, that begins the last one."""
    if condition.today is None or not condition.says_today:
        return tuple(messages)
    day = date.fromisoformat(condition.today)
    said = f"Today is {day.day} {day:%B} {day.year} ({day}).\n\n"
    *before, question = messages
    return (*before, question.model_copy(update={"content": said + question.content}))


def clock_metrics(
    scorer: Scorer, right_metric: str, sample: Sample, episode: Episode, score: Score
) -> Score:
    """The score with these metrics, where the condition has a day; `sample` is the plain one."""
    day = today_of(episode.condition)
    if day is None or not score.metrics:
        return score

    def is_right(world: Sample) -> bool:
        return scorer(world, episode).metrics.get(right_metric) == 1

    extra = _behaviour(episode, day)
    if sample.by_day.get(day):
        follows = score.metrics.get(right_metric) == 1
        others = {
            other: not follows and is_right(sample.on_day(other))
            for other in sample.by_day
            if other != day
        }
        extra |= {
            FOLLOWS: float(follows),
            OTHER_DAY: float(any(others.values())),
            PRESENT: float(not follows and is_right(sample)),
        }
        extra |= {f"{ON}{other}": float(right) for other, right in others.items()}
    return score.model_copy(update={"metrics": score.metrics | extra})


def _behaviour(episode: Episode, day: str) -> dict[str, float]:
    """Whether a tool that gives dates told the day, unasked by its arguments, or a search for the
    date did; and whether the web or a table was looked at."""
    calls = list(_results(episode))
    names = tuple(dict.fromkeys(call.name for call, _ in calls))
    tools = {each.name: each for each in traits_of(Condition(name="base", tools=names))}
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
