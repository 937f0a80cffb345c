"""Reads dates at the precision at which they are written; nothing is completed from a clock.

Years before Christ are counted astronomically inside (1 BC is 0), so that differences are true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _NAMES if name != "may") + "|may|sept"
_ERA = r"(?:\s*(?P<era{n}>b\.?\s?c\.?(?:\s?e\.?)?|a\.?d\.?|c\.?e\.?)(?![a-z]))?"


def _era(n: int) -> str:
    return _ERA.replace("{n}", str(n))


_FORMS = (
    r"(?P<y1>\d{4})(?P<s1>[-/.]|\s?-\s?)(?P<m1>\d{1,2}|[A-Za-z]{3,9})(?P=s1)(?P<d1>\d{1,2})"
    r"(?!\d)(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    rf"(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?P<m2>{_MONTH})\.?,?[\s-]+"
    rf"(?P<y2>\d{{1,4}})(?![\d:]){_era(2)}",
    rf"(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+)"
    rf"(?P<y3>\d{{1,4}})(?![\d:]){_era(3)}",
    r"(?P<a4>\d{1,2})(?P<s4>[-/.])(?P<b4>\d{1,2})(?P=s4)(?P<y4>\d{4})(?!\d)",
    rf"(?P<m5>{_MONTH})\.?,?\s+(?:of\s+)?(?P<y5>\d{{3,4}})(?!\d){_era(5)}",
    r"(?P<y6>\d{4})-(?P<m6>\d{2})(?![\d-])",
    rf"(?P<m8>{_MONTH})\.?\s+(?P<d8>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)",
    r"(?:a\.?d\.?\s*)(?P<y9>\d{1,4})(?!\d)",
    rf"(?P<y7>\d{{1,5}})(?![\d,.]\d){_era(7)}",
)
_LEADS = {number: f"m{number}" if number == "8" else f"y{number}" for number in "123456789"}
"""A group that each form has wherever it matches."""
_DATE = re.compile(r"(?<![\w.,-])(?:" + "|".join(_FORMS) + r")(?!\w)", re.I)


@dataclass(frozen=True, slots=True)
class ReadDate:
    """A date as far as it was written."""

    year: int | None
    """Astronomical: 0 is 1 BC; None where only month and day were written."""
    month: int | None = None
    day: int | None = None
    end: int = 0
    """Where in the text it ends."""
    start: int = 0
    era: bool = False
    """Whether BC or AD was written."""
    zone: bool = False
    """Whether a clock time or a zone was written with it; both are left aside."""

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


def find_dates(text: str, day_first: bool = False) -> Iterator[ReadDate]:
    """The dates in a text, years alone included; impossible days are left out. Where a numeric
    date can be read in two ways, `day_first` decides."""
    for match in _DATE.finditer(text):
        found = _from_match(match, day_first)
        if found is not None:
            yield found


def impossible(text: str, day_first: bool = False) -> bool:
    """Whether the text names a day that no calendar has, such as 2001-02-30."""
    return any(_from_match(match, day_first) is None for match in _DATE.finditer(text))


def _from_match(match: re.Match[str], day_first: bool) -> ReadDate | None:
    number = next(n for n, lead in _LEADS.items() if match[lead] is not None)
    written, month_text, day_text = (_part(match, f"{name}{number}") for name in "ymd")
    era = (_part(match, f"era{number}") or "").lower()
    before = era.startswith("b")
    year = None if written is None else (1 - int(written) if before else int(written))
    month, day = _month(month_text), _int(day_text)
    if number == "4":
        month, day = _numeric(int(match["a4"]), int(match["b4"]), day_first)
    if month_text is not None and month is None:
        return None
    if month is not None and not (1 <= month <= 12):
        return None
    if day is not None and not 1 <= day <= days_in_month(4 if year is None else year, month or 1):
        return None
    return ReadDate(
        year, month, day, match.end(), match.start(), bool(era) or number == "9",
        number == "1" and ":" in match[0],
    )  # fmt: skip


def _part(match: re.Match[str], name: str) -> str | None:
    """A group's text; None where the form has no such group."""
    return match[name] if name in _DATE.groupindex else None


def _numeric(a: int, b: int, day_first: bool) -> tuple[int, int]:
    """Month and day of `a/b/YYYY`."""
    if a > 12 >= b or (day_first and b <= 12):
        return b, a
    return a, b


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _month(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    names = [n for n, name in enumerate(_NAMES, start=1) if name.startswith(text[:3].lower())]
    return names[0] if names else None


def days_in_month(year: int, month: int) -> int:
    """In the proleptic Gregorian calendar; the year is astronomical."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 for any astronomical year (H. Hinnant's algorithm)."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
