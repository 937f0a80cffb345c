"""Reading answers: fair to how models write, strict where it would be guessing."""

import time
from datetime import date
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.extensions.answers.date_answers import parse_date_answer, parse_date_text
from tests.extensions.answers.date_answer_forms import NONE, ONE, SEVERAL, UNREADABLE, A

TWO = ("1982-04-02", "1990-12-31")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (None, "no text"),
        ("  ", "no text"),
        ("The war began on 1982-04-02.", "no line that begins with MY ANSWER:"),
        ("MY ANSWER: 1982-02-30", "names a day that does not exist"),
        ("MY ANSWER: 1982-04-02, 1982-13-01", "names a day that does not exist"),
        ("MY ANSWER: 0000-01-01", "names a day that does not exist"),
        ("MY ANSWER: 04/02/1982", "writes a date that can mean two days"),
        ("MY ANSWER: April 1982", "names no date"),
        ("MY ANSWER: 1982-04-02, 04/03/1982", "writes a date that can mean two days"),
        ("MY ANSWER: 1982-04-02 or 1982-04-03", "hedges between dates ('or')"),
        ("MY ANSWER: 1982-04-02 to the end", "hedges between dates ('to')"),
        ("MY ANSWER: not 1982-04-02", "hedges between dates ('not')"),
        ("MY ANSWER: 1982-04-02 / none", "names dates and none"),
        ("MY ANSWER: I do not know", "names no date"),
        ("MY ANSWER: 11982-04-02", "names no date"),
        ("MY ANSWER: 1982-04-021", "names no date"),
    ],
)
def test_what_is_not_clear_is_unreadable_and_says_why(text, rule):
    reading = parse_date_answer(text)
    assert (reading.dates, reading.rule) == (None, rule)


@given(st.sets(st.dates(date(1800, 1, 1), date(2050, 12, 31)), max_size=8))
def test_whatever_is_written_as_asked_is_read_back(days):
    iso = sorted(day.isoformat() for day in days)
    assert parse_date_answer(f"MY ANSWER: {', '.join(iso) or 'None'}").dates == tuple(iso)


@given(st.text())
def test_no_text_makes_the_reader_fail(text):
    parse_date_answer("MY ANSWER: " + text)


@pytest.mark.parametrize("text", ONE)
def test_one_date_is_read_in_every_form_that_models_give_it(text):
    assert parse_date_answer(text).dates == (A,)


@pytest.mark.parametrize(("text", "dates"), SEVERAL)
def test_several_dates_are_read_in_every_form(text, dates):
    assert parse_date_answer(text).dates == dates


@pytest.mark.parametrize("text", NONE)
def test_that_there_is_no_date_is_read_in_every_form(text):
    assert parse_date_answer(text).dates == ()


@pytest.mark.parametrize(("text", "rule"), UNREADABLE)
def test_what_gives_no_clear_answer_is_never_read(text, rule):
    reading = parse_date_answer(text)
    assert (reading.dates, reading.rule) == (None, rule)


@pytest.mark.parametrize(
    "text",
    ["1915-07-06", "\\boxed{1915-07-06}", "The answer is 1915-07-06.", "So, MY ANSWER: 1915-07-06"],
)
def test_a_reply_that_a_limit_cut_answers_by_its_own_line_alone(text):
    assert parse_date_answer(text).dates == (A,)
    assert parse_date_answer(text, is_final=False).dates is None
    assert parse_date_answer(f"{text}\nMY ANSWER: 1915-07-06", is_final=False).dates == (A,)


@pytest.mark.parametrize(
    ("text", "is_as_asked"),
    [
        ("MY ANSWER: 1915-07-06", True),
        ("It is a Tuesday.\n\nMY ANSWER: 1915-07-06, 1915-07-13\n", True),
        ("MY ANSWER: None", True),
        ("**MY ANSWER: 1915-07-06**", False),
        ("MY ANSWER: 1915-07-06.", False),
        ("MY ANSWER: July 6, 1915", False),
        ("MY ANSWER: 1915-07-06\n\nI hope this helps.", False),
        ("\\boxed{1915-07-06}", False),
        ("<think>\nMY ANSWER: 1915-07-06", False),
        ("MY ANSWER: 1915-07-32", False),
    ],
)
def test_an_answer_is_as_asked_or_merely_readable(text, is_as_asked):
    assert parse_date_answer(text).is_as_asked is is_as_asked


def test_the_text_behind_a_label_is_read_like_an_answer():
    assert parse_date_text("July 6, 1915 at 2:27 pm").dates == (A,)
    assert parse_date_text("1915-07-06 or 1915-07-13").rule == "hedges between dates ('or')"


def test_an_answer_of_more_than_20000_characters_is_unreadable():
    reading = parse_date_answer("MY ANSWER: " + "1915-07-06, " * 2_000)
    assert (reading.dates, reading.rule) == (None, "is longer than 20,000 characters")


BEFORE = ("", "MY ANSWER: ", "MY ANSWER:\n- 1915-07-06\n")
DEGENERATE = (
    "\n", " ", "\t", " \n", "\r\n", "7", "1915", "(", "[", "{", "([{", "[[[[", "]", ")", ",", ", ",
    "-", " - ", "–", "**", "*", "_", "`", "```\n", "July ", "July 6, ", "6 July ", "1915-07-06, ",
    "- 1915-07-06\n", "1915-07-06 to ", "MY ANSWER:", "MY ANSWER: ", "\nMY ANSWER:\n", "my answer ",
    "So, MY ANSWER: ", '"MY ANSWER: None" ', "answer: ", "The answer is ", '"answer": [', "<|",
    "\\boxed{", "\\boxed{a} ", "\\text{", "<think>", "</think>", "<|im_end|>", "<answer>", "|",
    "| 1915-07-06 |\n", "None ", "no date ", "...", "…", "'", '"', "(a", "(1", "User:\n", "\u0301",
)  # fmt: skip


@pytest.mark.parametrize(("before", "unit"), list(zip(cycle(BEFORE), DEGENERATE)))
def test_200_kb_of_one_thing_are_read_within_a_cpu_second(before, unit):
    text = before + (unit * 200_000)[:200_000]
    began = time.process_time()
    parse_date_answer(text)
    parse_date_answer(text + "\nMY ANSWER: 1915-07-06")
    assert time.process_time() - began < 1.0
