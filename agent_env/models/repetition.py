"""Repetition loops at the end of a text that is still being written, by rule.

A loop is one unit over and over, letter by letter: at least TIMES times, and over RUN characters
where the unit says something (WORDS different words), over BARE_RUN where it does not: rulers,
zeros, empty cells, digits, names of days and months. What counts up, such as a list of dates or the
rows of a table, is none, for it differs. Not covered: loops whose rounds differ by a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

RUN = 600
BARE_RUN = 3_000
TIMES = 4
WORDS = 2
WINDOW = 8_000
"""Characters at the end that are read."""
EVERY = 100
"""Characters between two looks at a stream."""
_ANCHOR = 40
_TRIES = 12
_WORD = re.compile(r"[^\W\d_]{3,}")
_NAMES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun january "
    "february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec none null true false nan".split()
)
Place = Literal["content", "reasoning"]


@dataclass(frozen=True, slots=True)
class Loop:
    """What a text ends with."""

    unit: str
    times: int
    """Whole rounds, as far as the window reaches."""


def loop_at_end(text: str) -> Loop | None:
    """The loop in which the text ends; None for none."""
    tail = text[-WINDOW:]
    if len(tail) < RUN:
        return None
    anchor, end = tail[-_ANCHOR:], len(tail) - 1
    for _ in range(_TRIES):
        at = tail.rfind(anchor, 0, end)
        if at < 0:
            return None
        period = len(tail) - _ANCHOR - at
        unit = tail[-period:]
        words = {word.lower() for word in _WORD.findall(unit)}
        run = max(TIMES * period, RUN if len(words - _NAMES) >= WORDS else BARE_RUN)
        if max(TIMES * period, RUN) > len(tail):
            return None
        if run <= len(tail) and tail[-run:-period] == tail[period - run :]:
            return Loop(unit, _rounds(tail, period))
        end = at + _ANCHOR - 1
    return None


def _rounds(tail: str, period: int) -> int:
    unit, times = tail[-period:], 1
    while tail[-(times + 1) * period : -times * period] == unit:
        times += 1
    return times


@dataclass(slots=True)
class LoopWatch:
    """Reads a stream along; stands on the first loop, in the text or in the reasoning."""

    texts: dict[str, str] = field(default_factory=dict)
    loop: Loop | None = None
    place: Place = "content"
    """Where the loop is."""
    _seen: dict[str, int] = field(default_factory=dict)

    def add(self, pieces: Iterable[tuple[Place, str]]) -> bool:
        """Whether the stream loops, after these pieces by place."""
        for place, piece in pieces:
            text = self.texts[place] = (self.texts.get(place, "") + piece)[-2 * WINDOW :]
            count = self._seen[place] = self._seen.get(place, 0) + len(piece)
            if count < EVERY:
                continue
            self._seen[place] = 0
            self.look((place, text))
        return self.loop is not None

    def look(self, *texts: tuple[Place, str]) -> None:
        """Looks at whole texts."""
        for place, text in texts:
            if self.loop is None and (loop := loop_at_end(text)) is not None:
                self.loop, self.place = loop, place
