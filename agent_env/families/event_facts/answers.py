"""Parses answers on labelled lines: dates, years, other texts.

A label begins a line, emphasis marks and letter case aside. Of repeated labels the last counts.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence

from agent_env.families.event_facts.sample import ONGOING
from agent_env.scoring.date_answers import parse_date_text
from agent_env.temporal.facts.tables import parse_years
from agent_env.temporal.facts.writing import spans_text
from agent_env.temporal.partial import PartialDate

UNKNOWN = "unknown"
_MONTHS = [name.lower() for name in calendar.month_name if name]
_MONTH_YEAR = re.compile(rf"({'|'.join(_MONTHS)})(?: of)?,? (\d{{4}})")
_YEARS = re.compile(r"[0-9]{4}(?:~[0-9]{4})?")
_ONGOING = re.compile(r"ongoing|present|still (?:lasts|ongoing|lasting|in office)")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))


class Unreadable(ValueError):
    """The line that cannot be parsed, and why."""


def labelled(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The text behind each label, up to the next label or the end."""
    pattern = rf"^[\s>*_`#-]*({'|'.join(labels)})[*_` ]*[:：][*_` ]*"
    marks = list(re.finditer(pattern, text, re.I | re.M))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pairs = zip(marks, ends, strict=False)  # without a mark there is one end all the same
    return {mark[1].upper(): text[mark.end() : end].strip() for mark, end in pairs}


def first_line(text: str) -> str:
    """The first line without its emphasis marks."""
    return text.split("\n", 1)[0].strip(" \t*_`.\"'")


def read_bound(line: str) -> str:
    """A date as ISO 8601 at its precision, `ongoing` or `unknown`."""
    text = " ".join(line.translate(_DASHES).split())
    plain = text.lower()
    if plain == UNKNOWN or _ONGOING.fullmatch(plain):
        return UNKNOWN if plain == UNKNOWN else ONGOING
    try:
        return str(PartialDate.parse(text))
    except ValueError:
        pass  # not written the ISO way; it may still be a date
    if (match := _MONTH_YEAR.fullmatch(plain)) is not None:
        return str(PartialDate(int(match[2]), _MONTHS.index(match[1]) + 1))
    reading = parse_date_text(text)
    if reading.dates is None or len(reading.dates) != 1:
        why = reading.rule if not reading.dates else "names several dates"
        raise Unreadable(f"'{line}': {why}")
    return reading.dates[0]


def read_years(line: str) -> str:
    """Years as spans such as `1908;1948~1950`, in order, or `unknown`."""
    text = line.translate(_DASHES).strip()
    if text.lower() == UNKNOWN:
        return UNKNOWN
    parts = re.split(r"(?:(?<!\s)\s++)?[,;]\s*+(?:and\s+)?|(?<!\s)\s++and\s+", text)
    spans = [re.sub(r"(\d)\s*(?:-|~|to)\s*(\d)", r"\1~\2", part) for part in parts]
    if (short := next((s for s in spans if not _YEARS.fullmatch(s)), None)) is not None:
        raise Unreadable(f"'{short}' is no year of four digits and no span of such")
    try:
        years = parse_years(";".join(dict.fromkeys(spans)))
    except ValueError as exc:
        raise Unreadable(str(exc)) from exc
    return spans_text(years)
