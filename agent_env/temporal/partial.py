"""Dates known to the day, the month or the year."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date

_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date at the precision at which it is known."""

    year: int
    month: int | None = None
    day: int | None = None

    @classmethod
    def parse(cls, text: str) -> PartialDate:
        """From `2019`, `2019-09` or `2019-09-09`; ValueError says what is wrong."""
        match = _ISO.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is not a date; write YYYY, YYYY-MM or YYYY-MM-DD")
        year, month, day = (int(part) if part else None for part in match.groups())
        assert year is not None
        try:
            date(year, month or 1, day or 1)
        except ValueError as exc:
            raise ValueError(f"'{text}' is not a date: {exc}") from None
        return cls(year, month, day)

    @property
    def exists(self) -> bool:
        """Whether it is in the calendar."""
        try:
            return self.first is not None
        except ValueError:
            return False

    @property
    def first(self) -> date:
        """The earliest day it can mean."""
        return date(self.year, self.month or 1, self.day or 1)

    @property
    def last(self) -> date:
        """The latest day it can mean."""
        month = self.month or 12
        return date(self.year, month, self.day or calendar.monthrange(self.year, month)[1])

    def __str__(self) -> str:
        parts = [f"{self.year:04d}"]
        parts += [f"{part:02d}" for part in (self.month, self.day) if part is not None]
        return "-".join(parts)
