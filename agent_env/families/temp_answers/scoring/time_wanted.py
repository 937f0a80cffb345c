"""What a question about a time asks for, and what is read of an answer to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_env.families.temp_answers.scoring.time_dates import ReadDate
from agent_env.families.temp_answers.scoring.time_units import Amount

Kind = Literal["number", "duration", "year", "month", "date", "time"]
Outcome = Literal["parsed", "unparsable", "refused", "truncated"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question asks for."""

    kind: Kind
    unit: str
    """Of the amount: a unit of time; `years` for a year, `months` for a month, `days` for a date,
    `seconds` for a time of day."""
    style: Literal["line", "json"] = "line"
    """After `Final Answer:`, or in an object."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Keys that the object must have, each with the unit it stands for, or `answer`, `day`, or
    `time`."""
    day_first: bool = False
    """How a numeric date is read that could be either."""
    clock: Literal["h:m", "m:s"] = "h:m"
    """What two numbers with a colon between them are."""


@dataclass(frozen=True, slots=True)
class TimeAnswer:
    """What was read, or why nothing was."""

    outcome: Outcome
    amount: Amount | None = None
    """In the wanted unit; a year astronomical, a month as 12 · year + month - 1, a date as days
    since 1970-01-01. None unless parsed, and for a date that is coarser than wanted."""
    rule: str = ""
    """Which rule read it, or why it could not be read."""
    date: ReadDate | None = None
    """What was written, where a year, month or date was wanted."""


def unparsable(why: str) -> TimeAnswer:
    """An answer of which nothing was read."""
    return TimeAnswer("unparsable", rule=why)
