"""Which known names an answer gives, and which it only mentions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.families.tdbench.name_answers import normalised, parse_known_names, parse_number
from agent_env.features.answers.time_references import time_references

PEOPLE = ("Barack Obama", "George W. Bush", "Bill Clinton", "Massimo D'Alema", "Lech Wałęsa")


def names(text, known=PEOPLE):
    return parse_known_names(normalised(text), known).names


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Massimo D’Alema", "Massimo D'Alema"),
        ("LECH WALESA", "Lech Wałęsa"),
        ("**Barack Obama**, who succeeded George W. Bush", "Barack Obama"),
        ("Not George W. Bush but Barack Obama", "Barack Obama"),
        ("George W. Bush's successor was Barack Obama", "Barack Obama"),
        ("Barack Obama, rather than Bill Clinton", "Barack Obama"),
        ("First Bill Clinton, then others.\nANSWER: George W. Bush", "George W. Bush"),
        ("Bill Clinton left too early. So the answer is George W. Bush.", "George W. Bush"),
    ],
)
def test_what_is_denied_or_only_referred_to_is_not_given(text, wanted):
    assert names(text) == (wanted,)


@pytest.mark.parametrize(
    "text",
    [
        "No answer",
        "**No answer.** Bill Clinton left on January 20, 2001.",
        "None",
        "There is no valid answer.",
        "No president of the country ended his term exactly then.",
        "Let me see. Bill Clinton left too late.\nANSWER: No answer",
    ],
)
def test_no_answer_is_heard(text):
    reading = parse_known_names(normalised(text), PEOPLE)
    assert reading.none
    assert reading.names == ()


@pytest.mark.parametrize(
    "text",
    ["unsure", "I don't know, maybe Barack Obama", "I am not sure.", "I cannot determine it"],
)
def test_unsure_is_heard(text):
    reading = parse_known_names(normalised(text), PEOPLE)
    assert reading.unsure
    assert reading.names == ()


def test_names_that_are_not_known_are_wrong_answers():
    reading = parse_known_names(
        "- Barack Obama (2009)\n  - Start: 2009\n- John Smith (2001 to 2003)\n- Since 2001", PEOPLE
    )
    assert reading.names == ("Barack Obama",)
    assert reading.others == ("John Smith",)
    reading = parse_known_names("John Smith, since May 2020", PEOPLE)
    assert (reading.names, reading.others) == ((), ("John Smith",))
    assert parse_known_names(" \n", PEOPLE).rule == "no text"


@given(st.lists(st.sampled_from(PEOPLE), unique=True, min_size=1))
def test_a_list_of_names_reads_as_itself(given_names):
    assert names("\n".join(f"- {name}, from 2001 to 2003" for name in given_names)) == tuple(
        given_names
    )


@settings(max_examples=30)
@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text):
    parse_known_names(normalised(text), PEOPLE)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("3", 3),
        ("Three times: 2001, 2003 and 2005", 3),
        ("1,234 days", 1234),
        ("12 days (from 3 May 2001 to 15 May 2001)", 12),
        ("twice", 2),
        ("3 or 4", None),
        ("in May 2001", None),
    ],
)
def test_a_number_is_read_beside_dates(text, wanted):
    assert parse_number(normalised(text), [ref.at for ref in time_references(text)]) == wanted
