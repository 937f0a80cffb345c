"""Parses dates at their own precision; nothing is completed from a clock.

Years are astronomical (1 BC is 0), so that differences are right.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

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
    r"(?P<era9>b\.?\s?c\.?(?:\s?e\.?)?|a\.?d\.?)\s*(?P<y9>\d{1,4})(?![\d,.]?\d)",
    rf"(?P<y7>\d{{1,5}})(?![\d,.]\d){_era(7)}",
)
_LEADS = {number: f"m{number}" if number == "8" else f"y{number}" for number in "123456789"}
"""A group that is never None where its form matches."""
_DATE = re.compile(r"(?<![\w.,-])(?:" + "|".join(_FORMS) + r")(?!\w)", re.I)


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
    for match in _DATE.finditer(text):
        moment = _from_match(match, day_first)
        if moment is not None:
            yield moment


def impossible(text: str, day_first: bool = False) -> bool:
    """Whether the text has a day that does not exist, such as 2001-02-30."""
    return any(_from_match(match, day_first) is None for match in _DATE.finditer(text))


def _from_match(match: re.Match[str], day_first: bool) -> ParsedDate | None:
    number = next(n for n, lead in _LEADS.items() if match[lead] is not None)
    year_text, month_text, day_text = (_part(match, f"{name}{number}") for name in "ymd")
    era = (_part(match, f"era{number}") or "").lower()
    before = era.startswith("b")
    year = None if year_text is None else (1 - int(year_text) if before else int(year_text))
    month, day = _month(month_text), None if day_text is None else int(day_text)
    if number == "4":
        month, day = _numeric(int(match["a4"]), int(match["b4"]), day_first)
    if month_text is not None and month is None:
        return None
    if month is not None and not (1 <= month <= 12):
        return None
    if day is not None and not 1 <= day <= monthrange(4 if year is None else year, month or 1)[1]:
        return None
    return ParsedDate(
        year, month, day, match.end(), match.start(), bool(era),
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


def _month(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isdigit():
        return int(text)
    names = [n for n, name in enumerate(_NAMES, start=1) if name.startswith(text[:3].lower())]
    return names[0] if names else None


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 for any astronomical year: the calendar repeats after 400 years."""
    cycles, year_of_cycle = divmod(year - 1, 400)
    days = date(1 + year_of_cycle, month, day).toordinal() - date(1970, 1, 1).toordinal()
    return days + cycles * 146_097
