"""The meanings of constraint texts: facts, and four conditions that no fact type has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent_env.families.time_puzzles import facts as ft

Ends = Literal["included", "excluded", "unstated"]


@dataclass(frozen=True, slots=True)
class YearSet:
    """The year is one of these."""

    years: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class YearRule:
    """The year leaves a remainder, within optional bounds, with exceptions."""

    modulus: int = 1
    remainder: int = 0
    first: int | None = None
    last: int | None = None
    """Included, as `first`."""
    exceptions: tuple[int, ...] = ()

    def holds(self, year: int) -> bool:
        """Whether a year satisfies the rule."""
        return (
            year % self.modulus == self.remainder
            and (self.first is None or year >= self.first)
            and (self.last is None or year <= self.last)
            and year not in self.exceptions
        )


@dataclass(frozen=True, slots=True)
class DateSpans:
    """The date lies in one of these spans; a single date is a span of one day."""

    spans: tuple[tuple[date, date], ...]
    ends: Ends = "included"
    """Whether the first and last day of each span belong to it; `unstated` ends are included."""


@dataclass(frozen=True, slots=True)
class EventMention:
    """The date has its year, month or day of the month in common with an event to look up."""

    phrase: str
    """What the text calls the event: a noun phrase, or a clause."""
    edge: Literal["first", "last", "any"]
    """Its first day, its last day, or any of its years."""
    level: ft.Level

    @property
    def aspect(self) -> str:
        """The aspect of a `KbEvent` with this edge."""
        return {"first": "start", "last": "end", "any": "multi_year"}[self.edge]


Meaning = ft.Fact | YearSet | YearRule | DateSpans | EventMention

Match = re.Match[str]
Form = tuple[str, Callable[[Match], Meaning | None]]
"""A pattern for a whole sentence, and the meaning of its match; None leaves it to other forms."""
