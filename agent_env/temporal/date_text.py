"""Reads a text that is one date, in any usual form, to the precision that is written.

A form that has two meanings (`01/02/1992`) is settled by the other dates of the same column, or by
the user; it is never guessed. Dots put the day first (`4.8.1968`), as in every locale with dots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from agent_env.errors import ConfigError
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import (
    ANY_MONTH,
    DAY_FIRST,
    MONTH_FIRST,
    DateForms,
    WrittenDate,
    day_and_month,
)

_YEAR = r"(?P<y>\d{3,4})"
_MONTH = rf"(?P<m>{ANY_MONTH})\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_TIME = (
    r"(?:(?:T|,?\s+)\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
    r"(?:\s?(?:Z|UTC|GMT|[ap]\.?m\.?|[+-]\d{2}(?::?\d{2})?))?)?"
)
_FORMS = DateForms(
    rf"{_YEAR}(?:\.0)?",
    rf"{_YEAR}-(?P<m>\d{{1,2}})",
    rf"(?P<m>\d{{1,2}})/{_YEAR}",
    rf"{_YEAR}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}}){_TIME}",
    r"(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)",
    rf"(?P<d>\d{{1,2}})\.\s?(?P<m>\d{{1,2}})\.\s?{_YEAR}{_TIME}",
    rf"(?P<a>\d{{1,2}})(?P<sep>[-/])(?P<b>\d{{1,2}})(?P=sep)(?P<y>\d{{4}}){_TIME}",
    rf"{_WEEKDAY}{_DAY}\.?(?:\s+of)?[\s-]+{_MONTH},?[\s-]+{_YEAR}{_TIME}",
    rf"{_WEEKDAY}{_MONTH}[\s-]+{_DAY},?[\s-]+{_YEAR}{_TIME}",
    rf"{_MONTH},?[\s-]+(?:of\s+)?{_YEAR}",
    rf"{_YEAR},?[\s-]+{_MONTH}[\s-]+{_DAY}",
)


@dataclass(frozen=True, slots=True)
class DateReader:
    """Reads the dates of one file."""

    form: str | None = None
    """`day-first`, `month-first` or a pattern such as %d/%m/%y; None where no date needs one."""

    def read(self, text: str) -> PartialDate:
        """The date; ValueError says what is wrong."""
        return _read(text, self.form)


def date_reader(texts: Iterable[str], form: str | None, where: str) -> DateReader:
    """A reader for these texts, some of which may be no dates. ConfigError, with `where` the file,
    if they need a form and none is stated, or the stated one is unknown."""
    if form is not None:
        if form not in (DAY_FIRST, MONTH_FIRST) and "%" not in form:
            known = f"{DAY_FIRST}, {MONTH_FIRST}, or a pattern such as %d/%m/%y"
            raise ConfigError(f"date-format '{form}' is unknown; say {known}")
        return DateReader(form)
    firsts: dict[str, str] = {}
    unsettled = ""
    for text in texts:
        numbers = _numbers(_written(text))
        if numbers is None or numbers[0] == numbers[1]:
            continue
        if (both := day_and_month(*numbers)) is None:
            unsettled = unsettled or text
        else:
            firsts.setdefault(DAY_FIRST if both == numbers else MONTH_FIRST, text)
    if len(firsts) == 2:
        raise ConfigError(
            f"{where}: '{firsts[DAY_FIRST]}' has the day first and '{firsts[MONTH_FIRST]}' the "
            f"month; say --option date-format={DAY_FIRST} or {MONTH_FIRST}"
        )
    if unsettled and not firsts:
        raise ConfigError(
            f"{where}: no date tells whether '{unsettled}' has the day or the month first; say "
            f"--option date-format={DAY_FIRST} or {MONTH_FIRST}"
        )
    return DateReader(next(iter(firsts), None))


@lru_cache(maxsize=65536)
def _written(text: str) -> WrittenDate | None:
    return _FORMS.read(" ".join(text.split()))


def _numbers(written: WrittenDate | None) -> tuple[int, int] | None:
    """The two numbers before a year, of which either may be the day."""
    if written is None or "a" not in written.parts:
        return None
    return int(written.parts["a"]), int(written.parts["b"])


@lru_cache(maxsize=65536)
def _read(text: str, form: str | None) -> PartialDate:
    if form is not None and "%" in form:
        return _by_pattern(text, form)
    written = _written(text)
    if written is None:
        raise ValueError(f"'{text}' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD")
    month, day = written.month, written.day
    if numbers := _numbers(written):
        if form is not None:
            day, month = numbers if form != MONTH_FIRST else numbers[::-1]
        elif written.is_unclear:
            raise ValueError(
                f"'{text}' may have the day or the month first; say --option "
                f"date-format={DAY_FIRST} or {MONTH_FIRST}"
            )
    # databases write 1914-00-00 where month and day are unknown
    month, day = month or None, day or None
    if month is None and day is not None:
        raise ValueError(f"'{text}' is not a date: it has a day and no month")
    assert written.year is not None, "each form has one"
    value = PartialDate(written.year, month, day)
    try:
        value.first  # noqa: B018  (a day that does not exist raises)
    except ValueError as exc:
        raise ValueError(f"'{text}' is not a date: {exc}") from None
    return value


def _by_pattern(text: str, form: str) -> PartialDate:
    try:
        at = datetime.strptime(text.strip(), form)  # noqa: DTZ007  (only its day is taken)
    except ValueError:
        raise ValueError(f"'{text}' is not a date of the form {form}") from None
    has_day = any(mark in form for mark in ("%d", "%j", "%x", "%c"))
    has_month = has_day or any(mark in form for mark in ("%m", "%b", "%B"))
    return PartialDate(at.year, at.month if has_month else None, at.day if has_day else None)
