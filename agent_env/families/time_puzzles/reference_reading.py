"""Parses the constraints of a prompt into clauses and lookups."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

Clause = list[Any]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
SEASONS = {"winter": [12, 1, 2], "spring": [3, 4, 5], "summer": [6, 7, 8], "autumn": [9, 10, 11]}
ANIMALS = (
    "rat", "ox", "tiger", "rabbit", "dragon", "snake",
    "horse", "goat", "monkey", "rooster", "dog", "pig",
)  # fmt: skip
OLYMPICS = [
    *range(1896, 1913, 4), *range(1920, 1937, 4), *range(1948, 2017, 4), 2021, 2024,
]  # fmt: skip
WORLD_CUPS = [1930, 1934, 1938, *range(1950, 2027, 4)]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A fact to look up."""

    what: Literal["event", "life", "presidency"]
    phrase: str
    shares: Literal["year", "month", "day", "span"]
    """What the date has in common with it; `span`: it lies between the two ends."""
    edge: Literal["first", "last", "any"] = "any"


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """The parsed constraints of a prompt."""

    first: str
    last: str
    clauses: tuple[Clause, ...]
    lookups: tuple[Lookup, ...]
    unread: tuple[str, ...]
    """Constraints of unknown form."""


def read_prompt(text: str) -> ParsedPrompt:
    """The constraints of a prompt: the list items below the line that announces them. Without such
    a line, a list of mostly unknown items is not one of constraints."""
    span = re.search(r"(\d{4})-01-01 to (\d{4})-12-31 count", text)
    first, last = span.groups() if span else ("1800", "2050")
    clauses: list[Clause] = []
    lookups: list[Lookup] = []
    unread: list[str] = []
    announced, items = _items(text)
    for item in items:
        constraint = read_constraint(item)
        if isinstance(constraint, Lookup):
            lookups.append(constraint)
        elif constraint is not None:
            clauses.append(constraint)
        else:
            unread.append(item)
    if not announced and 2 * len(unread) > len(items):
        clauses, lookups = [], []
    return ParsedPrompt(
        f"{first}-01-01", f"{last}-12-31", tuple(clauses), tuple(lookups), tuple(unread)
    )


def _items(text: str) -> tuple[bool, list[str]]:
    """Whether a line announces the items, and these."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if _announces(line.rstrip().lower())]
    below = lines[starts[-1] + 1 :] if starts else lines
    items: list[str] = []
    for line in below:
        if (match := re.match(r"\s*+(?:[-*•]|\d++[.)])\s++(\S(?:.*\S)?)", line)) is not None:
            items.append(match[1])
        elif items:
            break
    return bool(starts), items


def _announces(line: str) -> bool:
    """Whether a line says that constraints follow."""
    return line.endswith(":") and "constraints" in line


def read_constraint(text: str) -> Clause | Lookup | None:
    """One constraint, parsed; None for an unknown form."""
    for pattern, make in _READERS:
        if (match := re.search(pattern, text[:_LONGEST], re.I)) is not None:
            return make(match, text)
    return None


Reader = Callable[[re.Match[str], str], Clause | Lookup | None]


def _years(match: re.Match[str], text: str) -> Clause:
    return ["years", [int(year) for year in re.findall(r"\b\d{4}\b", match[0])]]


def _year_range(match: re.Match[str], text: str) -> Clause:
    return ["years", list(range(int(match[1]), int(match[2]) + 1))]


def _spans(match: re.Match[str], text: str) -> Clause:
    return ["spans", [list(span) for span in re.findall(rf"({_ISO}) to ({_ISO})", text)]]


def _between(match: re.Match[str], text: str) -> Clause:
    spans = re.findall(rf"after ({_ISO}) and before ({_ISO})", text)
    return ["spans", [inside(low, high) for low, high in spans]]


def inside(low: str, high: str) -> list[str]:
    """The days strictly between two, as a span with both ends included."""
    day = timedelta(days=1)
    return [str(date.fromisoformat(low) + day), str(date.fromisoformat(high) - day)]


def _weekdays(match: re.Match[str], text: str) -> Clause:
    names = re.findall("|".join(WEEKDAYS), text.lower())
    return ["weekdays", [WEEKDAYS.index(name) for name in names]]


def _nth(kind: str) -> Reader:
    def parse(match: re.Match[str], text: str) -> Clause:
        number = re.match(r"\d+", match["n"])
        n = int(number[0]) if number else 1
        return [kind, WEEKDAYS.index(match["w"].lower()), n, "last" in match["n"].lower()]

    return parse


def _season(match: re.Match[str], text: str) -> Clause:
    return ["months", SEASONS[match[1].lower().replace("fall", "autumn")]]


def _sign(match: re.Match[str], text: str) -> Clause:
    low = [MONTHS.index(match[2].lower()) + 1, int(match[1])]
    return ["month_days", low, [MONTHS.index(match[4].lower()) + 1, int(match[3])]]


def _day_range(match: re.Match[str], text: str) -> Clause:
    value = int(match[2])
    low = match[1].lower() in ("less", "smaller", "lower", "earlier")
    return ["days", list(range(1, value) if low else range(value + 1, 32))]


def _event(match: re.Match[str], text: str) -> Lookup:
    what = match["what"].lower()
    shares = "day" if what.startswith("day") else what.removeprefix("calendar ")
    phrase = re.sub(r"(?<!\s)\s*+\(in any year\)|\.$", "", match["event"])
    return Lookup("event", phrase.strip(), shares, match["edge"].lower())  # type: ignore[arg-type]


_ISO = r"\d{4}-\d{2}-\d{2}"
_WEEKDAY = "|".join(WEEKDAYS)
_MONTH = "|".join(MONTHS)
_NTH = rf"(?P<n>\d+(?:st|nd|rd|th)(?:-to-last)?|last|first) (?P<w>{_WEEKDAY})"
_LONGEST = 1000
"""Characters of a constraint that are read."""
_READERS: tuple[tuple[str, Reader], ...] = (
    (
        r"(?P<what>day number within the month|calendar month|year)\b.* (?:in which|that) the "
        r"(?P<edge>first|last) day of (?P<event>.+) (?:fell|had)\b",
        _event,
    ),
    (
        r"(?P<what>day of the month|month|year) is the same as that of the (?P<edge>first|last) "
        r"day of (?P<event>.+)",
        _event,
    ),
    (
        r"year (?:is one of those in|during) which (.+) took place\b",
        lambda m, t: Lookup("event", m[1], "year"),
    ),
    (r"^(.+) was alive\b", lambda m, t: Lookup("life", m[1], "span")),
    (r"^On that day (.+) had been born", lambda m, t: Lookup("life", m[1], "span")),
    (r"^(.+) was President of the United", lambda m, t: Lookup("presidency", m[1], "span")),
    (
        r"President of the United States was (.+?)(?:, |$)",
        lambda m, t: Lookup("presidency", m[1], "span"),
    ),
    (r"Summer Olympic", lambda m, t: ["years", OLYMPICS]),
    (r"football World Cup", lambda m, t: ["years", WORLD_CUPS]),
    (rf"after {_ISO} and before {_ISO}", _between),
    (rf"span.*{_ISO} to {_ISO}", _spans),
    (r"\b(\d{4}) to (\d{4})\b", _year_range),
    (r"between (\d{4}) and (\d{4})", _year_range),
    (r"at least (\d{4}) and at most (\d{4})", _year_range),
    (r"year (?:is )?(?:one of )?\d{4}(?:, \d{4})*", _years),
    (r"leap year|February has 29", lambda m, t: ["leap"]),
    (
        rf"year of the ({'|'.join(ANIMALS)})|({'|'.join(ANIMALS)})'s year",
        lambda m, t: ["zodiac", ANIMALS.index((m[1] or m[2]).lower())],
    ),
    (
        r"lunar month (\d+)|(\d+)(?:st|nd|rd|th) month of the Chinese",
        lambda m, t: ["lunar_months", [int(m[1] or m[2])]],
    ),
    (rf"(\d+) ({_MONTH}) to (\d+) ({_MONTH})", _sign),
    (rf"(?:month is|day in) ({_MONTH})", lambda m, t: ["months", [MONTHS.index(m[1].lower()) + 1]]),
    (r"\bis (winter|spring|summer|autumn|fall)\b", _season),
    (rf"{_NTH} (?:of its|in the) month", _nth("nth_in_month")),
    (rf"{_NTH} (?:of its|in the) year", _nth("nth_in_year")),
    (r"day of the month is (less|greater) than (\d+)", _day_range),
    (r"(earlier|later) in the month than the (\d+)", _day_range),
    (r"day (?:number within|of) the month is (\d+)", lambda m, t: ["days", [int(m[1])]]),
    (r"first day of its month|new month begins on that", lambda m, t: ["days", [1]]),
    (r"last day of its month|next day another month begins", lambda m, t: ["last_day"]),
    (r"day (\d+) (?:of its|in the) year", lambda m, t: ["day_of_year", int(m[1])]),
    (_WEEKDAY, _weekdays),
)
