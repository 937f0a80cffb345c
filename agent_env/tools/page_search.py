"""Searches a page's text: the matches with the text around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

CONTEXT = 240
"""Characters of an excerpt on either side of a match."""
MAX_EXCERPTS = 8


@dataclass(frozen=True, slots=True)
class Places:
    """The matches in a text."""

    count: int
    """All matches, also those without an excerpt."""
    excerpts: tuple[tuple[int, str], ...]
    """Position and text around it; matches close together share one."""


def find(text: str, query: str) -> Places:
    """The places of the words, ignoring case and the amount of white space."""
    words = [re.escape(word) for word in query.split()]
    spans = [match.span() for match in re.finditer(r"\s+".join(words), text, re.I)] if words else []
    windows: list[tuple[int, int, int]] = []
    for start, end in spans:
        low, high = max(0, start - CONTEXT), min(len(text), end + CONTEXT)
        if windows and low <= windows[-1][2]:
            windows[-1] = (*windows[-1][:2], high)
        else:
            windows.append((start, low, high))
    return Places(
        len(spans), tuple((at, _cut(text, low, high)) for at, low, high in windows[:MAX_EXCERPTS])
    )


def _cut(text: str, low: int, high: int) -> str:
    """The part, from a word's beginning where one is near."""
    if low:
        low = text.find(" ", low, low + 40) + 1 or low
    part = " ".join(text[low:high].split())
    return f"{'… ' if low else ''}{part}{' …' if high < len(text) else ''}"
