"""Both wordings of a puzzle mean the same days."""

from datetime import date

import pytest

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.reference_lookups import read_prompt
from agent_env.families.time_puzzles.reference_sums import solve
from agent_env.families.time_puzzles.task import PROMPTS, fields
from agent_env.records.schema import Condition
from agent_env.temporal.days import PUZZLE_DAYS
from tests.families.time_puzzles.sets import generate

from .by_hand import TABLES, WORDING

EXPLICIT = Condition(name="explicit", wording="explicit")


def test_explicit_wordings_have_the_gold_and_list_spans():
    for puzzle in generate(TABLES, 12, seed=3):
        asked = read_prompt(PROMPTS["default"].format(**fields(puzzle, EXPLICIT)))
        assert (*asked.lookups, *asked.unread) == ()
        assert tuple(solve(list(asked.clauses), asked.first, asked.last)) == puzzle.gold
    spring = {date(2024, 2, day) for day in range(10, 30)} | {date(2026, 2, 17)}
    text = WORDING.explicit(ft.LunarMonth(month=1), PUZZLE_DAYS.those(spring))
    assert text == (
        "The date is in one of these periods (inclusive): "
        "2024-02-10 to 2024-02-29; 2026-02-17 to 2026-02-17."
    )


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (ft.KbEvent(event="x", aspect="end", level="month", value=6), "The month is June."),
        (ft.YearRange(start=1990, end=1995), "The year is between 1990 and 1995, inclusive."),
        (ft.DayOfMonthRange(operator=">", value=20), "The date is after the 20th of the month."),
        (
            ft.WeekdayInMonth(direction="last", weekday="Friday", n=2),
            "The date is the 2nd-to-last Friday of the month.",
        ),
        (ft.MultiWeekday(value=("Monday", "Friday")), "The date is a Monday or a Friday."),
    ],
)
def test_explicit_texts(fact, text):
    assert WORDING.explicit(fact, PUZZLE_DAYS.everything) == text
