"""The `v2` reader: by the declared format and unit, never by a guess."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.families.temp_answers.scoring.answer_spec import AnswerSpec, Outcome
from agent_env.families.temp_answers.scoring.time_answers import pick_fields, read_response
from tests.tables import tables

YEARS = AnswerSpec("number", "years")
DAYS = AnswerSpec("number", "days")
YEAR = AnswerSpec("year", "years")
DATE = AnswerSpec("date", "days")
XYZ = {"X": "hours", "Y": "minutes", "Z": "seconds"}
SPAN = AnswerSpec("duration", "seconds", "json", XYZ)
PARTS = {"hours": "hours", "minutes": "minutes"}
MINUTES = AnswerSpec("duration", "minutes", "json", PARTS)
ANSWER = {"answer": "answer"}
OUTCOMES = get_args(Outcome)
CASES = tables(__file__)


def final(text, wanted):
    return read_response(f"Step 1: 2020 - 1990 = 30.\nFinal Answer: {text}", wanted)


def continued(text, wanted):
    return read_response(text, wanted, prefilled=True)


def test_sentences_units_and_times_of_day():
    assert final("He won at the age of 22 and 4 times at the age of 26", YEARS).amount is None
    assert final("4 of 22 at the age of 30", DAYS).rule == "several numbers"
    assert read_response("So the final answer is 1006.", YEAR).amount == 1006
    assert read_response("The final answer is **1006**\n", YEARS).amount == 1006
    marked = "Final Answer: 1006\nThat the final answer is 1007 is wrong."
    assert read_response(marked, YEAR).amount == 1006
    assert read_response("The final answer is one that I must", YEAR).outcome == "truncated"
    month, day = final("March 1837", DATE), final("March 5", DATE)
    assert (month.outcome, month.amount, month.rule) == ("parsed", None, "only a month is given")
    assert (day.outcome, day.rule) == ("unparsable", "a date without a year")
    plain = final("1837-02-17", DATE).amount
    assert plain == -48530
    assert final("1837-02-17T23:30:00-08:00", DATE).amount == plain
    assert final("1837-02-17T00:30:00Z", DATE).amount == plain
    text = "Final Answer: 7\nWait.\n**Final Answer:** 8"
    assert read_response(text, YEARS).amount == 8
    asked = AnswerSpec("number", "years", "json", ANSWER)
    found = continued(' "so", "years": 52, "months": 7, "days": 8}', asked)
    assert (found.outcome, found.amount) == ("finer than asked", 52)
    found = continued(' "so", "hours": 2, "minutes": 5, "seconds": 30}', MINUTES)
    assert (found.outcome, found.amount, found.bounds) == ("finer than asked", 125, (125.5, 125.5))
    assert continued(' "so", "answer": "02:05:30"}', MINUTES).amount == 125
    found = final("May 5, 2009", YEAR)
    assert (found.outcome, found.amount) == ("finer than asked", 2009)
    for text, amount in (("20 years and 12 months", 21), ("12.5 years", 12.5), ("24 months", 2)):
        found = final(text, YEARS)
        assert (found.outcome, found.amount) == ("parsed", amount)
    assert continued(' "so", "X": 2, "Y": 5, "Z": 45.5}', SPAN).amount == 7545.5
    found = final("1 year and 365 days", YEARS)
    assert (found.outcome, found.rule) == ("unparsable", "1 or 2 completed years")
    assert found.bounds == (pytest.approx(1 + 365 / 366), 2)
    assert (final("5-6 years", YEARS).amount, final("5-6 years", YEARS).bounds) == (None, (5, 6))
    assert final("18 to 30 months", YEARS).bounds == (1.5, 2.5)
    assert final("March 1837", DATE).bounds == (-48518, -48488)
    assert final("1837", AnswerSpec("month", "months")).bounds == (22044, 22055)
    clock = AnswerSpec("time", "seconds")
    assert final("9:30 pm", clock).amount == 77_400
    assert final("21:30", clock).amount == 77_400
    assert final("25:30", clock).outcome == "unparsable"
    for text, outcome in (*CASES["replies"], (None, "unparsable")):
        for asked in (YEAR, YEARS):
            assert read_response(text, asked).outcome == outcome


@pytest.mark.parametrize(("text", "amount"), CASES["years"])
def test_a_number_of_years_after_the_marker(text, amount):
    assert final(text, YEARS).amount == amount


@pytest.mark.parametrize(
    ("text", "amount", "bounds"),
    [
        ("20 years and 3 months", 20, (20.25, 20.25)),
        ("52 years, 7 months, and 8 days", 52, (52 + 7 / 12 + 8 / 366, 52 + 7 / 12 + 8 / 365)),
        ("18 months", 1, (1.5, 1.5)),
        ("8 months and 3 days", 0, (8 / 12 + 3 / 366, 8 / 12 + 3 / 365)),
        ("-2 years and 6 months", -2, (-2.5, -2.5)),
        ("He was 20 years and 3 months old.", 20, (20.25, 20.25)),
    ],
)  # fmt: skip
def test_a_finer_answer_counts_its_completed_units(text, amount, bounds):
    found = final(text, YEARS)
    assert (found.outcome, found.amount) == ("finer than asked", amount)
    assert found.interval == pytest.approx(bounds)


@pytest.mark.parametrize(("text", "amount"), CASES["era"])
def test_an_era_after_a_number_without_quotes(text, amount):
    found = continued(text, AnswerSpec("year", "years", "json", ANSWER))
    assert (found.outcome, found.amount) == ("parsed", amount)


@pytest.mark.parametrize(("text", "rule"), CASES["unparsable"])
def test_what_could_mean_two_things_is_unparsable(text, rule):
    found = final(text, YEARS)
    assert (found.outcome, found.rule) == ("unparsable", rule)


@pytest.mark.parametrize(("text", "amount"), CASES["year"])
def test_a_year_may_have_its_era_before_it_and_an_age_beside_it(text, amount):
    assert final(text, YEAR).amount == amount


@pytest.mark.parametrize(("text", "amount"), CASES["durations"])
def test_a_duration_in_one_text(text, amount):
    assert continued(f' "so", "answer": "{text}"}}', SPAN).amount == amount


@pytest.mark.parametrize("text", CASES["objects"])
def test_objects_that_are_not_quite_json(text):
    assert continued(text, SPAN).amount == 7545


@pytest.mark.parametrize(("text", "outcome"), CASES["outcomes"])
def test_outcomes_of_objects(text, outcome):
    assert continued(text, SPAN).outcome == outcome


@pytest.mark.parametrize("digits", [41, 400, 5000])
def test_numbers_beyond_all_time_are_unparsable(digits):
    assert final("9" * digits, YEARS).outcome == "unparsable"
    assert continued(f' "so", "X": {"9" * digits}, "Y": 0, "Z": 0}}', SPAN).amount is None
    assert continued(f' "so", "answer": {"9" * digits}}}', SPAN).amount is None


@pytest.mark.parametrize(
    "part", ["1 2 ", "one hundred and ", "5 years and ", "May 5, 2001 ", "1:22:"]
)
def test_a_line_without_end_is_no_answer(part):
    assert final(part * 20_000, YEARS).rule == "longer than an answer"
    assert final(part * (990 // len(part)), YEARS).outcome == "unparsable"


@given(st.text(max_size=80))
def test_no_text_stops_the_reader(text):
    for wanted in (YEARS, YEAR, DATE, AnswerSpec("time", "seconds"), AnswerSpec("month", "months")):
        assert final(text, wanted).outcome in OUTCOMES
    for wanted in (SPAN, MINUTES):
        assert continued(text, wanted).outcome in OUTCOMES


@given(st.dictionaries(st.sampled_from(["X", "Y", "Z", "answer", "day", "time"]),
                       st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9)
                       | st.lists(st.integers(), max_size=2)))  # fmt: skip
def test_no_object_stops_the_reader(found):
    text = json.dumps({"explanation": "so"} | found)
    for names in (XYZ, ANSWER, {"day": "day", "time": "time"}):
        wanted = AnswerSpec("duration", "seconds", "json", names)
        assert read_response(text, wanted).outcome in ("parsed", "unparsable", "refused")


@given(st.integers(0, 999), st.integers(0, 59), st.integers(0, 59), st.permutations("XYZ"))
def test_the_order_of_keys_changes_nothing(h, m, s, order):
    values = {"X": h, "Y": m, "Z": s}
    text = json.dumps({"explanation": "so"} | {key: values[key] for key in order})
    assert read_response(text, SPAN).amount == 3600 * h + 60 * m + s


@pytest.mark.parametrize(("last", "value"), [("12", {"answer": 12}), ("13", None), ("123", None)])
def test_a_model_that_loops_says_one_value_however_often(last, value):
    once = '{"explanation": "a "b" c", "answer": 12} '
    assert pick_fields(once * 60 + f'{{"answer": {last}}}', ("answer",)) == value
