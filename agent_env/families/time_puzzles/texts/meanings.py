"""The meanings of constraint texts: facts, and four conditions that no fact type has; and the words
of the texts, patterns of numbers, dates and names with their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent_env.families.time_puzzles import facts as ft
from agent_env.temporal.written import MONTH, DateForms

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


ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
)  # fmt: skip
OTHER_ANIMALS = {
    "mouse": "Rat", "cow": "Ox", "buffalo": "Ox", "hare": "Rabbit", "sheep": "Goat", "ram": "Goat",
    "cock": "Rooster", "chicken": "Rooster", "boar": "Pig",
}  # fmt: skip
ANIMALS = {name.casefold(): name for name in ft.ANIMALS} | OTHER_ANIMALS
SEASONS = {name: name for name in ft.SEASONS} | {"fall": "autumn"}

WEEKDAY = "|".join(ft.WEEKDAYS)
NTH = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})"
DATES = DateForms(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
    rf"(?P<m>{MONTH}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{MONTH}),? (?P<y>\d{{4}})",
    before=r"\b",
)
_YEARS = r"(?:between \d{4} and \d{4}|\d{4}(?: ?(?:-|~|to|through) ?\d{4})?)"
YEAR_LIST = rf"{_YEARS}(?:(?:, | ?; ?|,? or |,? and ){_YEARS})*+"
"""Years, and ranges of years with both ends included."""


def either(names: Iterable[str]) -> str:
    """A pattern of any of the names."""
    return "|".join(re.escape(name) for name in names)


def number_of(text: str) -> int:
    """The value of `3rd` or `third`."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else ORDINALS.index(text.casefold()) + 1


def weekdays_in(text: str) -> tuple[str, ...]:
    """The weekdays of a text, each once, as our facts write them."""
    return tuple(dict.fromkeys(name.capitalize() for name in re.findall(WEEKDAY, text, re.I)))


def years_in(text: str) -> tuple[int, ...]:
    """The years of a text that matches YEAR_LIST, sorted and distinct; none of year 0."""
    years: set[int] = set()
    pattern = r"between (\d{4}) and (\d{4})|(\d{4})(?: ?(?:-|~|to|through) ?(\d{4}))?"
    for low, high, first, last in re.findall(pattern, text, re.I):
        years.update(range(int(low or first), int(high or last or first) + 1))
    return tuple(sorted(years - {0}))


def dates_in(text: str) -> tuple[date, ...]:
    """The dates of a text in order; none if one of them does not exist."""
    found = DATES.find(text)
    try:
        return tuple(date(each.year or 0, each.month or 0, each.day or 0) for each in found)
    except ValueError:
        return ()
