"""Months as numbers, how they are written (`Jan, 1992`, `January 1992`, `1992-01`, `1992`), and
days some months or years away.

Years have three or four digits.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from agent_env.temporal.written import ANY_MONTH, MONTHS, DateForms

_FORMS = DateForms(
    r"(?:(?P<d>\d{1,2}) )?(?P<m>[A-Za-z]{3,9})\.?,? (?P<y>\d{3,4})",
    r"(?:(?P<d>\d{1,2}) )?(?P<m>[A-Za-z]{3,9})\.?,? (?P<e>\d{1,2}),? (?P<y>\d{3,4})",
    r"(?P<y>\d{3,4})(?:-(?P<m>\d{1,2})(?:-(?P<d>\d{1,2}))?)?",
)
DATE_TEXT = (
    rf"(?:\d{{1,2}} )?(?:[A-Za-z]{{3,9}}\.?,? (?:\d{{1,2}},? )?\d{{4}}"
    rf"|(?:{ANY_MONTH})\.?,? (?:\d{{1,2}},? )?\d{{3}}(?!\d))"
    r"|(?:\d{4}|\d{3}(?!\d))(?:-\d{1,2}){0,2}"
)
"""Regular expression of a date. Before a year of three digits only a month's name makes a date, as
`Radio 538` is none; what is before a year of four may be a misspelt month."""

Month = int
"""Months since January of the year 0."""


def month(year: int, number: int) -> Month:
    """The month of a year; `number` is 1 for January."""
    return year * 12 + number - 1


@dataclass(frozen=True, slots=True)
class Span:
    """The months that a date can mean, both included: one, or the twelve of a year."""

    first: Month
    last: Month


@lru_cache(maxsize=4096)  # a table has the same few hundred months many times
def read_span(text: str) -> Span:
    """The months that the text names; ValueError says what is wrong. A day is checked for being
    in the calendar's range and otherwise left aside: everything here is by months."""
    plain = " ".join(text.split())
    written = _FORMS.read(plain)
    if written is None or written.year is None:
        raise ValueError(f"'{plain}' is not a date; write Jan, 1992 or 1992-01 or 1992")
    if "m" not in written.parts:
        first = month(written.year, 1)
        return Span(first, first + 11)
    if written.month is None or not 1 <= written.month <= 12:
        name = f"'{written.parts['m']}'" if written.month is None else written.month
        raise ValueError(f"'{plain}': there is no month {name}")
    day = written.parts.get("d") or written.parts.get("e")
    if day is not None and not 1 <= int(day) <= _LENGTHS[written.month - 1]:
        raise ValueError(f"'{plain}': there is no day {day}")
    one_month = month(written.year, written.month)
    return Span(one_month, one_month)


_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

Style = Literal["short", "long", "iso"]


def write_month(value: Month, style: Style = "long") -> str:
    """`January 1992`, `Jan, 1992` or `1992-01`."""
    year, index = divmod(value, 12)
    if style == "iso":
        return f"{year:04d}-{index + 1:02d}"
    name = MONTHS[index]
    return f"{name} {year}" if style == "long" else f"{name[:3]}, {year}"


def add_months(day: date, months: int) -> date:
    """So many months later, or earlier; a day past the month's end is its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        raise OverflowError(f"{day} and {months} months is not a day of the years 1 to 9999")
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))
