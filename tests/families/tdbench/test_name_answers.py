"""Which known names an answer gives, and which it only mentions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.families.tdbench.name_answers import normalised, parse_known_names, parse_number
from agent_env.features.answers.time_references import time_references
from tests.tables import tables

PEOPLE = ("Barack Obama", "George W. Bush", "Bill Clinton", "Massimo D'Alema", "Lech Wałęsa")
CASES = tables(__file__)


def read(text):
    return parse_known_names(normalised(text), PEOPLE)


@pytest.mark.parametrize(("text", "wanted"), CASES["given"])
def test_what_is_denied_or_only_referred_to_is_not_given(text, wanted):
    assert read(text).names == (wanted,)


@pytest.mark.parametrize("heard", ["none", "unsure"])
def test_no_answer_and_unsure_are_heard(heard):
    for text in CASES[heard]:
        assert (getattr(read(text), heard), read(text).names) == (True, ()), text


def test_names_that_are_not_known_are_wrong_answers():
    reading = parse_known_names(
        "- Barack Obama (2009)\n  - Start: 2009\n- John Smith (2001 to 2003)\n- Since 2001", PEOPLE
    )
    assert (reading.names, reading.others) == (("Barack Obama",), ("John Smith",))
    reading = parse_known_names("John Smith, since May 2020", PEOPLE)
    assert (reading.names, reading.others) == ((), ("John Smith",))
    assert parse_known_names(" \n", PEOPLE).rule == "no text"


@given(st.lists(st.sampled_from(PEOPLE), unique=True, min_size=1))
def test_a_list_of_names_reads_as_itself(names):
    assert read("\n".join(f"- {name}, from 2001 to 2003" for name in names)).names == tuple(names)


@settings(max_examples=30)
@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text):
    read(text)


@pytest.mark.parametrize(
    ("text", "wanted"), [*CASES["numbers"], *((text, None) for text in CASES["no_number"])]
)
def test_a_number_is_read_beside_dates(text, wanted):
    assert parse_number(normalised(text), [ref.at for ref in time_references(text)]) == wanted
