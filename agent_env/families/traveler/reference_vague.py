"""What the reference policy knows of time words by itself: how vague ones fade, and holidays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

FADING = {"just": (-2.73, 2.21), "recently": (-1.30, 3.04),
          "some time ago": (0.87, 2.65), "long time ago": (2.80, 3.97)}  # fmt: skip
"""Slope and middle over the power of ten of the minutes."""
LASTING = {"friend": 0.31, "salsa": 0.11, "juice": -0.58, "risotto": -0.38, "book": 0.27,
           "wine": 0.03, "film": 0.25}  # fmt: skip
"""By a word of the event, how much later its middle lies."""
FIXED = {
    "New Year's Day": (1, 1),
    "Valentine's Day": (2, 14),
    "Saint Patrick's Day": (3, 17),
    "May Day": (5, 1),
    "Independence Day in the United States": (7, 4),
    "Halloween": (10, 31),
    "Christmas Day": (12, 25),
}


def applies(question: str, adverbial: str, minutes: float) -> float:
    """How probably the adverbial fits an event so long ago; the question tells its kind."""
    slope, middle = FADING[adverbial]
    later = next((shift for word, shift in LASTING.items() if word in question), 0.0)
    return 1 / (1 + math.exp(-slope * (math.log10(max(minutes, 1.0)) - middle - later)))


def likeliest_names(chances: Mapping[str, Sequence[float]]) -> list[str]:
    """Those who more probably did than not, in order."""
    return sorted(name for name, found in chances.items() if math.prod(1 - p for p in found) < 0.5)


def likeliest_number(chances: Sequence[float]) -> int:
    """The number of events that most probably fit."""
    shares = [1.0]
    for p in chances:
        fewer, more = [*shares, 0.0], [0.0, *shares]
        shares = [(1 - p) * a + p * b for a, b in zip(fewer, more, strict=True)]
    return shares.index(max(shares))


def holiday(name: str, year: int) -> date | None:
    """The day of this name; None where it is not known."""
    if name == "Easter Sunday":
        return _easter(year)
    return date(year, *FIXED[name]) if name in FIXED else None


def _easter(year: int) -> date:
    """By the anonymous Gregorian rule."""
    golden, century, rest = year % 19, year // 100, year % 100
    skipped = (century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    moon = (19 * golden + skipped) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)
