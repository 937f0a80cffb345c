"""Parses the set of dates that a reply gives as its answer, without guessing.

`answer_parts` finds the answer in a reply, `written_dates` the dates in a text. Other words beside
the dates are allowed after `MY ANSWER:`, in no other form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_env.scoring.answer_parts import LONGEST, Part, answer_parts
from agent_env.scoring.written_dates import written_dates


@dataclass(frozen=True, slots=True)
class DateAnswer:
    """The dates of an answer, and the rule that found them."""

    dates: tuple[str, ...] | None
    """ISO dates in order; () for "there is none"; None for an answer that cannot be parsed."""
    rule: str
    """The rule that matched, or why none did."""
    is_as_asked: bool = False
    """Whether the last line is just `MY ANSWER:` with ISO dates and commas, or None."""


_ISO = r"\d{4}-\d{2}-\d{2}"
_AS_ASKED = re.compile(rf"MY ANSWER: (?:None|{_ISO}(?:, ?{_ISO})*+)")


def parse_date_answer(text: str | None, is_final: bool = True) -> DateAnswer:
    """Parses a reply; `is_final`: the model ended it itself."""
    if text is None or not text.strip():
        return DateAnswer(None, "no text")
    for part in answer_parts(text, is_final):
        parsed = _of_part(part)
        if parsed.dates is not None:
            is_as_asked = _AS_ASKED.fullmatch(text.strip().rpartition("\n")[2]) is not None
            return DateAnswer(parsed.dates, parsed.rule, is_as_asked)
        if part.is_marked:
            return parsed
    return DateAnswer(None, "no line that begins with MY ANSWER:")


def parse_date_text(text: str) -> DateAnswer:
    """Parses a text that is an answer, such as the text after a label."""
    return _of_part(Part(text[:LONGEST], "after MY ANSWER:", True, is_cut=len(text) > LONGEST))


def _of_part(part: Part) -> DateAnswer:
    if part.is_cut:
        return DateAnswer(None, f"is longer than {LONGEST:,} characters")
    if part.problem:
        return DateAnswer(None, part.problem)
    written = written_dates(part.text, only_dates=not part.is_marked)
    if written.dates is None:
        return DateAnswer(None, written.problem)
    if not written.dates and part.is_marked:
        return DateAnswer((), "none")
    return DateAnswer(written.dates, f"{'dates' if written.dates else 'none'} {part.where}")
