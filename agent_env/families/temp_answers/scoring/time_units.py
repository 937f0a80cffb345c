"""Units of time: their names and exact conversions.

Seconds to weeks convert into each other, months and years too; the two groups do not, because a
month has no fixed length.
"""

from __future__ import annotations

import math
import re

Amount = int | float
"""A number of units; an int where it is whole, so that large ones stay exact."""

SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400, "weeks": 604_800}
MONTHS = {"months": 1, "years": 12}
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
