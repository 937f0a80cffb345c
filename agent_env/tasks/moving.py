"""Samples in other worlds, as far as tasks and prompts know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date

from pydantic import JsonValue

from agent_env.records.schema import Condition, Message, Sample


class CannotShift(ValueError):
    """Why a sample has no shifted world, or cannot be asked on a day, as a clause."""


OnDay = Callable[[Sample, date], Mapping[str, JsonValue]]
"""The fields of a sample that are others where that day is today, such as question and gold; {} for
a question that does not depend on it. Raises CannotShift where it cannot be asked on that day."""


def with_today(messages: Sequence[Message], condition: Condition) -> tuple[Message, ...]:
    """The messages; where the condition says what day it is, that begins the last one."""
    if condition.today is None or not condition.says_today:
        return tuple(messages)
    day = date.fromisoformat(condition.today)
    said = f"Today is {day.day} {day:%B} {day.year} ({day}).\n\n"
    *before, question = messages
    return (*before, question.model_copy(update={"content": said + question.content}))
