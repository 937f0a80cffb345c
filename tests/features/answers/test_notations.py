"""Dates of answers are the same for every scorer, however they are written."""

import pytest

from agent_env.families.qa.sample import QaOptions, QaSample
from agent_env.families.qa.scorers import MEASURES, plain_text
from agent_env.families.temp_answers.scoring.answer_spec import AnswerSpec
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.traveler.answers import read_answer
from agent_env.features.answers.date_answers import parse_date_answer


def right(scorer, gold, text):
    sample = QaSample(id="q", task="qa", gold=gold, question="When?")
    return MEASURES[scorer](sample, plain_text(text), QaOptions()).metrics["exact_match"] == 1


@pytest.mark.parametrize("scorer", ["date", "dates"])
@pytest.mark.parametrize(
    "text",
    [
        "2019-05-17", "May 17,2019", "17May2019", "2019年5月17日", "2019년 5월 17일",
        "2019, May 17", "17 May 2019", "May 17th, 2019", "17th of May 2019", "17.05.2019",
        "2019/05/17", "2019.05.17", "2019-05-17T00:00:00Z", "Fri, 17 May 2019",
        "17-May-2019", "2019 May 17", "2019-May-17",
        "the 17th day of May, 2019", "May 17, 2019 AD", "2019-5-17", "**17 MAY 2019**.",
        "May-17-2019", "17 / 05 / 2019", "2019 . 05 . 17", "２０１９年５月１７日", "May 17 , 2019",
        "2019, 17 May", "<answer>2019-05-17</answer>", "2019-05-17 (Friday)",
        "May the 17th, 2019", "<2019-05-17>", "2019-05-17 CE", "date(2019, 5, 17)",
        '{"year": 2019, "month": 5, "day": 17}', r"\boxed{2019\text{-}05\text{-}17}",
        r"\boxed{17 \text{ May } 2019}",
    ],
)  # fmt: skip
def test_a_day_is_read_in_every_notation_by_every_scorer(scorer, text):
    assert right(scorer, ("2019-05-17",), text)
    assert not right(scorer, ("2019-05-16",), text)


@pytest.mark.parametrize(
    "text",
    ["2019, 5, 17", '{"month": 5, "day": 17, "year": 2019}', "May 17 of the year 2019",
     "5. 3. 2019", "year 2019, month 5", "<2019", r"\boxed{\neq 2019}", "date(2019, 13, 5)",
     "date(2019, 5, 17) - 1"],
)  # fmt: skip
def test_a_year_beside_what_may_be_its_day_is_no_date(text):
    assert not right("date", ("2019",), text)


def test_numbers_of_other_things_leave_a_year():
    for text in ("Signed by 12 nations in 2019.", "2019 [1]", "1. 2019", "In 2019, 5 years later"):
        assert right("date", ("2019",), text)


@pytest.mark.parametrize(
    ("gold", "text", "is_right"),
    [
        *[("0476", text, True) for text in ("476", "0476", "AD 476", "476 AD", "476 CE",
                                            "in 476 A.D.", "The year 476.", "a.d. 476", "476CE")],
        *[("0476", text, False) for text in ("476 BC", "-0476", "476 B.C.E.")],
        *[("1066", text, False) for text in ("1066 BC", "1066 BCE", "1066 B.C.", "1066 AH")],
        ("1066", "AD 1066", True),
        ("0043-03-15", "15 March 43 AD", True), ("0043-03-15", "March 15, AD 43", True),
        ("0043-03-15", "0043-03-15", True), ("0043-03-15", "-0043-03-15", False),
        ("0043-03-15", "0043-03-15 BC", False),
        ("1582-10-05", "5 October 1582", True),
        *[("1582-10-05", f"5 October 1582 {end}", False)
          for end in ("(Julian)", "O.S.", "(Old Style)", "in the Julian calendar")],
        ("1582-10-05", "Julian: 5 October 1582", False), ("2019", "2019 BE", False),
    ],
)  # fmt: skip
def test_an_era_and_a_calendar_are_read_or_the_answer_is_none(gold, text, is_right):
    assert right("date", (gold,), text) is is_right


QUALIFIED = (
    "before {}", "after {}", "not {}", "earlier than {}", "no later than {}", "by {}", "since {}",
    "until {}", "prior to {}", "{} or later", "at the latest in {}", "{} at the latest",
    "from {} onwards", "{} onwards", "up to {}", "circa {}", "c. {}", "ca. {}", "~{}", "≈ {}",
    "about {}", "around {}", "approximately {}", "approx. {}", "roughly {}", "{} or so", "{} ± 1",
    "prior to or in {}", "{} (approx.)", "{} approximately", "just before {}", "pre-{}", "<{}",
)  # fmt: skip


@pytest.mark.parametrize("form", QUALIFIED)
def test_a_time_before_after_or_about_a_date_is_not_the_date(form):
    assert not right("date", ("2019",), form.format("2019"))
    assert not right("date", ("2019-05-17",), form.format("17 May 2019"))
    assert not right("dates", ("2019-05-17",), form.format("17 May 2019"))


DISPLACED = (
    "any date but {}", "all dates but {}, 2020-05-17", "every day save for {}", "instead of {}",
    "neither {} nor 2020-05-17", "the week of {}", "the eve of {}", "10 days from {}",
    "a day off {}", "{} - 1 day", "{} + 3 days", "{} plus one day", "{} (minus a week)",
    "halfway through {}", "it was false that it happened on {}", "It is not true that it was {}",
    "It never happened on {}", "It wasn't signed on {}", "nobody signed it on {}",
    "wrongly given as {}", "They deny that it was {}",
)  # fmt: skip


@pytest.mark.parametrize("form", DISPLACED)
def test_a_day_beside_a_date_and_a_denied_date_are_not_the_date_for_any_reader(form):
    for text in map(form.format, ("2019-05-17", "May 17, 2019")):
        assert not right("date", ("2019-05-17",), text)
        assert not right("dates", ("2019-05-17", "2020-05-17"), text)
        assert parse_date_answer(f"MY ANSWER: {text}").dates is None
        assert read_answer("when", f"MY ANSWER: {text}", ()).answer is None
        assert not read_response(f"Final Answer: {text}", AnswerSpec("date", "days")).is_parsed


@pytest.mark.parametrize(
    "text",
    ["No doubt, in 2019.", "It was in 2019.", "May 2019", "signed by Carter in 2019",
     "moved from Paris to London in 2019", "2019 - the year it began", "in Bar, 2019 – Thursday",
     "After the war, in 2019",],
)  # fmt: skip
def test_words_that_qualify_something_else_leave_the_date(text):
    assert right("date", ("2019",), text)


@pytest.mark.parametrize("between", ["/", " to ", " – ", " through "])
def test_an_interval_is_all_its_days(between):
    days = ("2019-05-17", "2019-05-18", "2019-05-19")
    assert right("dates", days, f"2019-05-17{between}2019-05-19")
