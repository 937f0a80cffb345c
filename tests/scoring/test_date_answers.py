"""Reading answers: fair to how models write, strict where it would be guessing."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.scoring.date_answers import read_dates

TWO = ("1982-04-02", "1990-12-31")


@pytest.mark.parametrize(
    "text",
    [
        "MY ANSWER: 1982-04-02, 1990-12-31",
        "so\nMY ANSWER: 1990-12-31,1982-04-02.",
        "my answer: 1982-04-02 and 1990-12-31",
        "**MY ANSWER:** 1982-04-02, 1990-12-31",
        "**MY ANSWER: 1982-04-02, 1990-12-31**",
        "### MY ANSWER: `1982-04-02`, `1990-12-31`",
        "MY ANSWER:\n1982-04-02\n1990-12-31",
        "MY ANSWER:\n\n- 1982-04-02\n- 1990-12-31\n",
        "MY ANSWER: 1982-04-02,\n1990-12-31",
        "MY ANSWER: 1982–04–02, 1990–12–31",
        "MY ANSWER: 1982/04/02, 1990/12/31",
        "MY ANSWER: 1982.4.2; 1990.12.31",
        "MY ANSWER: 2 April 1982, 31 December 1990",
        "MY ANSWER: April 2, 1982 and December 31st, 1990",
        "MY ANSWER: 2nd of April 1982, Dec. 31, 1990",
        "MY ANSWER: 1982-04-02 (a Friday), 1990-12-31 (a Monday)",
        "The answer is hard to say.\nMY ANSWER: 1982-04-02, 1990-12-31",
        "MY ANSWER: None\nNo wait, I missed some.\nMY ANSWER: 1982-04-02, 1990-12-31",
        "MY ANSWER: 1982-04-02, 1982-04-02, 1990-12-31",
    ],
)
def test_every_clear_way_of_writing_two_dates_is_read(text: str) -> None:
    assert read_dates(text).dates == TWO


@pytest.mark.parametrize(
    "text",
    ["MY ANSWER: None", "MY ANSWER: none.", "**MY ANSWER: NONE**", "MY ANSWER:\nNone",
     "MY ANSWER: no valid date", "MY ANSWER: No dates", "MY ANSWER: []"],
)  # fmt: skip
def test_none_is_the_empty_set(text: str) -> None:
    reading = read_dates(text)
    assert (reading.dates, reading.rule) == ((), "none")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (None, "no text"),
        ("  ", "no text"),
        ("The date is 1982-04-02.", "no line that begins with MY ANSWER:"),
        ("MY ANSWER: 1982-02-30", "names a day that does not exist"),
        ("MY ANSWER: 1982-04-02, 1982-13-01", "names a day that does not exist"),
        ("MY ANSWER: 0000-01-01", "names a day that does not exist"),
        ("MY ANSWER: 04/02/1982", "names no date"),
        ("MY ANSWER: April 1982", "names no date"),
        ("MY ANSWER: 1982-04-02, 04/03/1982", "leaves numbers that are no full date"),
        ("MY ANSWER: 1982-04-02 or 1982-04-03", "hedges between dates ('or')"),
        ("MY ANSWER: 1982-04-02 to 1982-04-05", "hedges between dates ('to')"),
        ("MY ANSWER: not 1982-04-02", "hedges between dates ('not')"),
        ("MY ANSWER: 1982-04-02 / none", "names dates and none"),
        ("MY ANSWER: I do not know", "names no date"),
        ("MY ANSWER: 11982-04-02", "names no date"),
        ("MY ANSWER: 1982-04-021", "names no date"),
    ],
)
def test_what_is_not_clear_is_unreadable_and_says_why(text: str | None, rule: str) -> None:
    reading = read_dates(text)
    assert (reading.dates, reading.rule) == (None, rule)


def test_text_after_a_gap_below_the_answer_is_not_part_of_it() -> None:
    text = "MY ANSWER: 1982-04-02\n\nChecked also 1990-12-31, which fails."
    assert read_dates(text).dates == ("1982-04-02",)


def test_prose_right_below_the_answer_is_not_part_of_it() -> None:
    text = "MY ANSWER: 1982-04-02\nIt is the only Friday, unlike 1990-12-31."
    assert read_dates(text).dates == ("1982-04-02",)


@given(st.sets(st.dates(date(1800, 1, 1), date(2050, 12, 31)), max_size=8))
def test_whatever_is_written_as_asked_is_read_back(days: set[date]) -> None:
    iso = sorted(day.isoformat() for day in days)
    assert read_dates(f"MY ANSWER: {', '.join(iso) or 'None'}").dates == tuple(iso)


@given(st.text())
def test_no_text_makes_the_reader_fail(text: str) -> None:
    read_dates("MY ANSWER: " + text)
