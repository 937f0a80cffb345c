"""The specification of a time answer, and the parsed answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from agent_env.families.temp_answers.scoring.time_dates import ParsedDate
from agent_env.families.temp_answers.scoring.time_units import UNITS, Amount, Exact, as_amount

AnswerKind = Literal["number", "duration", "year", "month", "date", "time"]
Outcome = Literal["parsed", "finer than asked", "unparsable", "refused", "truncated"]
"""`finer than asked`: parsed too, and counted as its completed units."""
WITH_VALUE: tuple[Outcome, ...] = ("parsed", "finer than asked")


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """The answer that a question asks for, from which its parser is chosen."""

    kind: AnswerKind
    unit: str
    """The amount's unit: `years` for a year, `months` for a month, `days` for a date, `seconds` for
    a time of day."""
    style: Literal["line", "json"] = "line"
    """`line`: after `Final Answer:`; `json`: in an object."""
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
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
    bounds: tuple[Amount, Amount] | None = None
    """The least and the greatest amount that the answer can mean, where it is not its amount alone:
    of a finer answer, a coarse date, or a range, which has no amount."""

    @property
    def is_parsed(self) -> bool:
        return self.outcome in WITH_VALUE

    @property
    def interval(self) -> tuple[Amount, Amount] | None:
        """The least and the greatest amount; equal for a plain one, None for no answer."""
        if self.bounds is not None or self.amount is None:
            return self.bounds
        return self.amount, self.amount


def unparsable(why: str) -> TimeAnswer:
    """An answer without a value, for the reason `why`."""
    return TimeAnswer("unparsable", rule=why)


def of_parts(low: Exact, high: Exact, units: Iterable[str], spec: AnswerSpec) -> TimeAnswer:
    """A sum of parts in `units`, between `low` and `high` in the specified unit. With a finer unit
    among them (`20 years and 3 months` where years are asked) its completed units count, unless
    the ends have different ones; a decimal fraction of the specified unit stays one."""
    is_finer = any(UNITS.index(unit) < UNITS.index(spec.unit) for unit in units)
    if low == high and (low.denominator == 1 or not is_finer):
        return TimeAnswer("parsed", as_amount(low), "a sum of parts")
    bounds = (as_amount(low), as_amount(high))
    if int(low) != int(high):
        why = f"{int(low)} or {int(high)} completed {spec.unit}"
        return TimeAnswer("unparsable", rule=why, bounds=bounds)
    return TimeAnswer("finer than asked", int(low), f"completed {spec.unit}", bounds=bounds)
