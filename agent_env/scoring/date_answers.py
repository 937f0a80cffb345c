"""Reads the set of dates that an answer names, fairly but without guessing.

The last line that begins with `MY ANSWER:` counts (emphasis marks and letter case aside) with the
lines below it. ISO-like and English dates are read where they can mean only one day; a text that
names an impossible day, leaves numbers over or hedges between dates is unreadable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says, and how that was found out."""

    dates: tuple[str, ...] | None
    """ISO dates in order; () for "there is none"; None where the answer cannot be read."""
    rule: str
    """Which rule matched, or why none did."""


_MARKER = re.compile(r"^[\s>*_`#-]*my\s+answers?\s*(?:is)?[*_`]*\s*[:：][*_`]*", re.I | re.M)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES) + "|sept"
_ISO = r"(?P<y1>\d{4})\s?(?P<sep>[-/.])\s?(?P<m1>\d{1,2})\s?(?P=sep)\s?(?P<d1>\d{1,2})"
_DAY_FIRST = (
    rf"(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m2>{_MONTH})\.?,?\s+(?P<y2>\d{{4}})"
)
_MONTH_FIRST = rf"(?P<m3>{_MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})"
_DATE = re.compile(rf"(?<![\w.-])(?:{_ISO}|{_DAY_FIRST}|{_MONTH_FIRST})(?![\w-]|\.\d)", re.I)
_NONE = re.compile(
    r"(?:none|no\s+(?:valid\s+|such\s+)?(?:dates?|solutions?)(?:\s+exists?)?|∅|\{\s*\}|\[\s*\])",
    re.I,
)
_HEDGE = re.compile(
    r"\b(?:not|or|maybe|perhaps|possibly|either|except|excluding|to|through|thru|until|till"
    r"|between|before|after|from|unknown|unsure|unclear)\b",
    re.I,
)
_NOTE = re.compile(r"\([^()]*\)")


def read_dates(text: str | None) -> Reading:
    """The dates that the answer names; see the module for the rules."""
    if text is None or not text.strip():
        return Reading(None, "no text")
    markers = list(_MARKER.finditer(text))
    if not markers:
        return Reading(None, "no line that begins with MY ANSWER:")
    return _read_block(_block(text[markers[-1].end() :]).translate(_DASHES))


def _block(rest: str) -> str:
    """The answer's own line; where that is empty, the lines below up to the next gap; lines
    that go on with a list after it."""
    lines = rest.split("\n")
    block = [lines[0]]
    for line in lines[1:]:
        bare = line.strip(" \t*_`-•,;.")
        if not bare:
            if any(part.strip(" \t*_`") for part in block):
                break
            continue
        listed = _DATE.match(bare.translate(_DASHES)) is not None
        if not listed and any(part.strip(" \t*_`") for part in block):
            break
        block.append(bare)
    return "\n".join(block)


def _read_block(block: str) -> Reading:
    plain = re.sub(r"[*_`\"“”'’]", "", block)
    if _NONE.fullmatch(plain.strip(" \t\n.!")):
        return Reading((), "none")
    found = [_as_date(match) for match in _DATE.finditer(plain)]
    left = _DATE.sub(" ", plain)
    left = _NOTE.sub(" ", left)
    if any(day is None for day in found):
        return Reading(None, "names a day that does not exist")
    if not found:
        return Reading(None, "names no date")
    if re.search(r"\d", left):
        return Reading(None, "leaves numbers that are no full date")
    if (hedge := _HEDGE.search(left)) is not None:
        return Reading(None, f"hedges between dates ('{hedge.group().lower()}')")
    if re.search(r"\bnone\b", left, re.I):
        return Reading(None, "names dates and none")
    days = sorted({day.isoformat() for day in found if day is not None})
    return Reading(tuple(days), "dates after MY ANSWER:")


def _as_date(match: re.Match[str]) -> date | None:
    for number in "123":
        if (year := match[f"y{number}"]) is not None:
            month = _month_number(match[f"m{number}"])
            try:
                return date(int(year), month, int(match[f"d{number}"]))
            except ValueError:
                return None
    return None


def _month_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    return 1 + [name[:3] for name in _MONTH_NAMES].index(text[:3].lower())
