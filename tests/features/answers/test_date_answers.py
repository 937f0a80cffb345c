"""Reading answers: fair to how models write, strict where it would be guessing."""

import time
from datetime import date
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers.date_answers import parse_date_answer, parse_date_text
from tests import TESTS
from tests.tables import each


@given(st.sets(st.dates(date(1800, 1, 1), date(2050, 12, 31)), max_size=8))
def test_whatever_is_written_as_asked_is_read_back(days):
    iso = sorted(day.isoformat() for day in days)
    assert parse_date_answer(f"MY ANSWER: {', '.join(iso) or 'None'}").dates == tuple(iso)


@given(st.text())
def test_no_text_makes_the_reader_fail(text):
    parse_date_answer("MY ANSWER: " + text)


A = "1915-07-06"
DATES = (TESTS / "data/forms/dates.txt").read_text("utf-8").splitlines()
ROWS = [line.replace("\\n", "\n").rpartition(" => ") for line in DATES if line[:3] != "== "]
READ = [
    (text, () if outcome == "none" else tuple(outcome.split()))
    for text, _, outcome in ROWS
    if not outcome.startswith("! ")
]
UNREADABLE = [(text, rule[2:]) for text, _, rule in ROWS if rule.startswith("! ")]


@pytest.mark.parametrize(("text", "dates"), READ)
def test_dates_are_read_in_every_form_that_models_give_them(text, dates):
    assert parse_date_answer(text).dates == dates


@pytest.mark.parametrize(("text", "rule"), [*UNREADABLE, (None, "no text"), ("  ", "no text")])
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


AS_ASKED = {
    True: [
        "MY ANSWER: 1915-07-06", "It is a Tuesday.\n\nMY ANSWER: 1915-07-06, 1915-07-13\n",
        "MY ANSWER: None",
    ],
    False: [
        "**MY ANSWER: 1915-07-06**", "MY ANSWER: 1915-07-06.", "MY ANSWER: July 6, 1915",
        "MY ANSWER: 1915-07-06\n\nI hope this helps.", "\\boxed{1915-07-06}",
        "<think>\nMY ANSWER: 1915-07-06", "MY ANSWER: 1915-07-32",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "is_as_asked"), each(AS_ASKED))
def test_an_answer_is_as_asked_or_merely_readable(text, is_as_asked):
    assert parse_date_answer(text).is_as_asked is is_as_asked


def test_labels_are_read_and_more_than_20000_characters_are_not():
    assert parse_date_text("July 6, 1915 at 2:27 pm").dates == (A,)
    assert parse_date_text("1915-07-06 or 1915-07-13").rule == "hedges between dates ('or')"
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
