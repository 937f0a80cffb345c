"""Units of time: their names and exact conversions.

Seconds to weeks convert into each other, months and years too; the two groups do not, because a
month has no fixed length.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

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
            return quotient(amount * sizes[unit], sizes[to])
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


def quotient(dividend: Amount, divisor: int) -> Amount:
    """The quotient, an int where it is whole."""
    if isinstance(dividend, int) and dividend % divisor == 0:
        return dividend // divisor
    return whole(dividend / divisor)


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
