"""Reads the set of dates that a reply gives as its answer, fairly but without guessing.

`answer_parts` says where in a reply the answer stands, `written_dates` which dates a text names.
Behind `MY ANSWER:` other words may stand beside the dates; in every other form they may not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_env.scoring.answer_parts import LONGEST, Part, answer_parts
from agent_env.scoring.written_dates import written_dates


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says, and how that was found out."""

    dates: tuple[str, ...] | None
    """ISO dates in order; () for "there is none"; None where the answer cannot be read."""
    rule: str
    """Which rule matched, or why none did."""
    is_as_asked: bool = False
    """Whether the last line is `MY ANSWER:` with ISO dates and commas, or None, and no more."""


_ISO = r"\d{4}-\d{2}-\d{2}"
_AS_ASKED = re.compile(rf"MY ANSWER: (?:None|{_ISO}(?:, ?{_ISO})*+)")


def read_dates(text: str | None, is_final: bool = True) -> Reading:
    """The dates that a reply gives as its answer; `is_final` where the model ended it itself."""
    if text is None or not text.strip():
        return Reading(None, "no text")
    for part in answer_parts(text, is_final):
        reading = _of_part(part)
        if reading.dates is not None:
            is_as_asked = _AS_ASKED.fullmatch(text.strip().rpartition("\n")[2]) is not None
            return Reading(reading.dates, reading.rule, is_as_asked)
        if part.is_marked:
            return reading
    return Reading(None, "no line that begins with MY ANSWER:")


def read_given(text: str) -> Reading:
    """The dates of a text that is an answer, such as what stands behind a label."""
    return _of_part(Part(text[:LONGEST], "after MY ANSWER:", True, is_cut=len(text) > LONGEST))


def _of_part(part: Part) -> Reading:
    if part.is_cut:
        return Reading(None, f"is longer than {LONGEST:,} characters")
    found = written_dates(part.text, only_dates=not part.is_marked)
    if found.dates is None:
        return Reading(None, found.problem)
    if not found.dates and part.is_marked:
        return Reading((), "none")
    return Reading(found.dates, f"{'dates' if found.dates else 'none'} {part.where}")
