"""Dates in prose, each with the role that its words give it."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers.time_references import time_references
from tests import TESTS
from tests.tables import rows_of

TIMES = rows_of(TESTS / "data/forms/answers.txt", "times")
DAYS = st.dates(date(1500, 1, 1), date(2100, 12, 31))
NOTATIONS = st.sampled_from(
    ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b. %d, %Y", "%Y/%m/%d")
)


def read(text):
    found = (f"{ref.role} {ref.date or 'present'}" for ref in time_references(text))
    return ", ".join(found) or "nothing"


@pytest.mark.parametrize(("text", "times"), TIMES)
def test_any_notation_in_any_role_none_of_a_date_to_compare_with_and_no_two_days(text, times):
    assert read(text) == times


@given(DAYS, DAYS, NOTATIONS, NOTATIONS)
def test_a_span_in_any_two_notations_reads_as_its_two_days(first, last, one, other):
    text = f"Held from {first.strftime(one)} until {last.strftime(other)}."
    assert read(text) == f"start {first}, end {last}"


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text):
    for ref in time_references(text + " since 2003-04-05"):
        assert ref.role in ("start", "end", None)
