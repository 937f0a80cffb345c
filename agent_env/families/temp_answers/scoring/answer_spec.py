"""The specification of a time answer, and the parsed answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_env.families.temp_answers.scoring.time_dates import ParsedDate
from agent_env.families.temp_answers.scoring.time_units import Amount

AnswerKind = Literal["number", "duration", "year", "month", "date", "time"]
Outcome = Literal["parsed", "unparsable", "refused", "truncated"]


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """The answer that a question asks for, from which its parser is chosen."""

    kind: AnswerKind
    unit: str
    """The amount's unit: `years` for a year, `months` for a month, `days` for a date, `seconds` for
    a time of day."""
    style: Literal["line", "json"] = "line"
    """`line`: after `Final Answer:`; `json`: in an object."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The object's required keys, each with its unit or `answer`, `day` or `time`."""
    day_first: bool = False
    """How an ambiguous numeric date is parsed."""
    clock: Literal["h:m", "m:s"] = "h:m"
    """The meaning of two numbers with a colon between them."""


@dataclass(frozen=True, slots=True)
class TimeAnswer:
    """A parsed answer, or the reason why it is unparsable."""

    outcome: Outcome
    amount: Amount | None = None
    """In the specified unit; a year is astronomical, a month 12 · year + month - 1, a date the days
    since 1970-01-01. None unless parsed, and for a date less precise than specified."""
    rule: str = ""
    """The parser's rule, or why the answer is unparsable."""
    date: ParsedDate | None = None
    """For answers of the kinds year, month and date."""


def unparsable(why: str) -> TimeAnswer:
    """An answer without a value, for the reason `why`."""
    return TimeAnswer("unparsable", rule=why)
