"""The specification of a time answer, the parsed answer, and their units and dates.

Seconds to weeks convert into each other, months and years too; the two groups do not, because a
month has no fixed length. Dates have their own precision; nothing is completed from a clock. Years
are astronomical (1 BC is 0), so that differences are right.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal

from agent_env.temporal.written import (
    ANY_MONTH,
    DAY_FIRST,
    MONTH_FIRST,
    DateForms,
    month_number,
)

_ERA = r"(?:\s*(?P<era>b\.?\s?c\.?(?:\s?e\.?)?|a\.?d\.?|c\.?e\.?)(?![a-z]))?"
_MONTH = rf"(?P<m>{ANY_MONTH})\.?"
_TH = r"(?:st|nd|rd|th)?"
_DATES = DateForms(
    r"(?P<y>\d{4})(?P<sep>[-/.]|\s?-\s?)(?P<m>\d{1,2}|[A-Za-z]{3,9})(?P=sep)(?P<d>\d{1,2})"
    r"(?!\d)(?:[T ](?P<clock>\d{1,2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    rf"(?P<d>\d{{1,2}}){_TH}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+(?P<y>\d{{1,4}})(?![\d:]){_ERA}",
    rf"{_MONTH}\s+(?P<d>\d{{1,2}}){_TH}(?:,\s*|\s+)(?P<y>\d{{1,4}})(?![\d:]){_ERA}",
    r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})(?!\d)",
    rf"{_MONTH},?\s+(?:of\s+)?(?P<y>\d{{3,4}})(?!\d){_ERA}",
    r"(?P<y>\d{4})-(?P<m>\d{2})(?![\d-])",
    rf"{_MONTH}\s+(?P<d>\d{{1,2}}){_TH}(?!\d)",
    r"(?P<era>b\.?\s?c\.?(?:\s?e\.?)?|a\.?d\.?)\s*(?P<y>\d{1,4})(?![\d,.]?\d)",
    rf"(?P<y>\d{{1,5}})(?![\d,.]\d){_ERA}",
    before=r"(?<![\w.,-])",
    after=r"(?!\w)",
)


@dataclass(frozen=True, slots=True)
class ParsedDate:
    """A date at the precision of its text."""

    year: int | None
    """Astronomical: 0 is 1 BC; None where the text has only month and day."""
    month: int | None = None
    day: int | None = None
    end: int = 0
    """Its end in the text."""
    start: int = 0
    era: bool = False
    """Whether the text has BC or AD."""
    zone: bool = False
    """Whether a clock time or a zone follows; both are ignored."""

    @property
    def precision(self) -> str:
        """`day`, `month` or `year`; `none` where the year is missing."""
        if self.year is None:
            return "none"
        return "day" if self.day else "month" if self.month else "year"

    @property
    def ordinal(self) -> int | None:
        """Days since 1970-01-01 in the proleptic Gregorian calendar; None but for full dates."""
        if self.year is None or self.month is None or self.day is None:
            return None
        return days_from_civil(self.year, self.month, self.day)


def find_dates(text: str, day_first: bool = False) -> Iterator[ParsedDate]:
    """The dates in a text, bare years included, impossible days excluded. `day_first` decides how
    an ambiguous numeric date is parsed."""
    return (each for each in _all_dates(text, day_first) if each is not None)


def impossible(text: str, day_first: bool = False) -> bool:
    """Whether the text has a day that does not exist, such as 2001-02-30."""
    return None in _all_dates(text, day_first)


def _all_dates(text: str, day_first: bool) -> Iterator[ParsedDate | None]:
    """The dates in a text, None for a day that does not exist."""
    for written in _DATES.find(text, DAY_FIRST if day_first else MONTH_FIRST):
        era = written.parts.get("era", "")
        year, month, day = written.year, written.month, written.day
        if written.is_unclear:  # a misspelt name counts by its beginning
            month = month_number(written.parts["m"][:3]) or 13
        if year is not None and era.lower().startswith("b"):
            year = 1 - year
        is_month = month is None or 1 <= month <= 12
        if is_month and (
            day is None or 1 <= day <= monthrange(4 if year is None else year, month or 1)[1]
        ):
            start, end = written.at
            yield ParsedDate(year, month, day, end, start, bool(era), "clock" in written.parts)
        else:
            yield None


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 for any astronomical year: the calendar repeats after 400 years."""
    cycles, year_of_cycle = divmod(year - 1, 400)
    days = date(1 + year_of_cycle, month, day).toordinal() - date(1970, 1, 1).toordinal()
    return days + cycles * 146_097


Amount = int | float
"""A number of units; an int where it is whole, so that large ones stay exact."""
Exact = int | Fraction

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
MONTHS = {"months": 1, "years": 12}
_DAYS = {"months": (28, 31), "years": (365, 366)}
"""The fewest and the most days of units without a fixed length."""
UNITS = (*SECONDS, *MONTHS)

_SHORT = {
    "s": "seconds", "sec": "seconds", "secs": "seconds",
    "m": "minutes", "min": "minutes", "mins": "minutes",
    "h": "hours", "hr": "hours", "hrs": "hours",
    "d": "days", "wk": "weeks", "wks": "weeks", "w": "weeks",
    "mo": "months", "mos": "months", "yr": "years", "yrs": "years", "y": "years",
}  # fmt: skip
_BARE = re.compile(r"[<>#_\s.]|num|number of")


def parse_unit(text: str) -> str | None:
    """The unit of `years`, `hr`, `<num_days>` or `# months`; None for an unknown one."""
    bare = _BARE.sub("", text.lower())
    if bare in SECONDS or bare in MONTHS:
        return bare
    if f"{bare}s" in SECONDS or f"{bare}s" in MONTHS:
        return f"{bare}s"
    return _SHORT.get(bare)


def convert(amount: Amount, unit: str, to: str) -> Amount | None:
    """The same time in another unit; None where no exact conversion exists."""
    for sizes in (SECONDS, MONTHS):
        if unit in sizes and to in sizes:
            dividend = amount * sizes[unit]
            divisor = sizes[to]
            if isinstance(dividend, int) and dividend % divisor == 0:
                return dividend // divisor
            return whole(dividend / divisor)
    return None


def bounds(amount: Amount, unit: str, to: str) -> tuple[Exact, Exact] | None:
    """The least and the greatest amount in another unit that is at least as coarse; equal where the
    conversion is exact. None for a coarser unit, such as years as days."""
    exact = amount if isinstance(amount, int) else Fraction(amount)
    for sizes in (SECONDS, MONTHS):
        if unit in sizes and to in sizes:
            product, size = exact * sizes[unit], sizes[to]
            value = product if size == 1 else Fraction(product, size)
            return value, value
    if unit not in SECONDS or to not in _DAYS:
        return None
    days = Fraction(exact * SECONDS[unit], SECONDS["days"])
    few, many = _DAYS[to]
    ends = sorted((days / few, days / many))
    return ends[0], ends[1]


def as_amount(value: Exact) -> Amount:
    """An int where the fraction is whole, else a float."""
    return int(value) if value.denominator == 1 else float(value)


def whole(amount: Amount) -> Amount:
    """An int where the float is exactly one."""
    if isinstance(amount, float) and amount.is_integer() and abs(amount) < 2**53:
        return int(amount)
    return amount


def same(a: Amount, b: Amount) -> bool:
    """Whether two amounts are equal, up to the rounding of fractions in floats."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


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
