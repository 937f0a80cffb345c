"""Hand-made worked examples for few-shot prompts.

Each has its constraints, a worked answer and its dates, which are checked on every day from 1800 to
2050 (tests/families/time_puzzles/test_examples.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkedPuzzle:
    """One puzzle with its worked answer."""

    constraints: tuple[str, ...]
    reasoning: str
    answer: tuple[str, ...]


WORKED = (
    WorkedPuzzle(
        constraints=(
            "The year is between 1996 and 2003, both included.",
            "The date falls in a leap year.",
            "The month is February.",
            "The day of the month is 29.",
            "The date is a Tuesday.",
        ),
        reasoning="The leap years from 1996 to 2003 are 1996 and 2000. 29 February 1996 was a "
        "Thursday. 29 February 2000 was a Tuesday, so it fits. No other day is left.",
        answer=("2000-02-29",),
    ),
    WorkedPuzzle(
        constraints=(
            "The year is 2015.",
            "The day of the month is 13.",
            "The date is a Friday.",
            "The date falls in winter or spring.",
        ),
        reasoning="In 2015 the 13th was a Friday in February, March and November. February is in "
        "winter, March in spring; November is in autumn and drops out.",
        answer=("2015-02-13", "2015-03-13"),
    ),
)
