"""Dates in prose, each with the role that its words give it."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers.time_references import time_references


def read(text):
    return [(ref.role, str(ref.date or "present")) for ref in time_references(text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from 1989-01-07 to 2019-05-01", [("start", "1989-01-07"), ("end", "2019-05-01")]),
        ("since April 2013", [("start", "2013-04")]),
        ("since 2013", [("start", "2013")]),
        ("ended on the 1st of January, 2019", [("end", "2019-01-01")]),
        ("started on July 1st, 1999 and ended on 30 June 2004",
         [("start", "1999-07-01"), ("end", "2004-06-30")]),
        ("2009–2017", [("start", "2009"), ("end", "2017")]),
        ("(2009-17)", [("start", "2009"), ("end", "2017")]),
        ("2009 - present", [("start", "2009"), ("end", "present")]),
        ("2009-12", [(None, "2009-12")]),
        ("5 May to 7 June 1962", [("start", "1962-05-05"), ("end", "1962-06-07")]),
        ("May to June 1962", [("start", "1962-05"), ("end", "1962-06")]),
        ("Start: 2001-01-20; End: 2009-01-20", [("start", "2001-01-20"), ("end", "2009-01-20")]),
        ("2019-01-01 (end)", [("end", "2019-01-01")]),
        ("| Bush | 2001-01-20 | 2009-01-20 |", [("start", "2001-01-20"), ("end", "2009-01-20")]),
        ("(January 20, 2009, January 20, 2017)", [("start", "2009-01-20"), ("end", "2017-01-20")]),
        ("from 2017/07/25 till 2022.07.25", [("start", "2017-07-25"), ("end", "2022-07-25")]),
        ("from 2017-07-25T00:00:00 to 2022-07-25 00:00:00",
         [("start", "2017-07-25"), ("end", "2022-07-25")]),
        ("served between 2001 and 2009", [("start", "2001"), ("end", "2009")]),
        ("started and ended in 2009", [("start", "2009"), ("end", "2009")]),
        ("In May 2010 she took office, and in 2012 she left",
         [("start", "2010-05"), ("end", "2012")]),
        ("was succeeded by Ada on 3 May 2010", [("end", "2010-05-03")]),
        ("succeeded Ada on 3 May 2010", [("start", "2010-05-03")]),
    ],
)  # fmt: skip
def test_any_notation_in_any_role(text, wanted):
    assert read(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "as of 2025 it is so",
        "exactly half a year before March 20, 2001",
        "started before September 20, 2000",
        "ended between September 20, 2000 and March 20, 2001",
        "began after her predecessor ended the term on January 20, 2001",
        "it was 2019",
    ],
)
def test_a_date_to_compare_with_has_no_role(text):
    assert {role for role, _ in read(text)} == {None}


@pytest.mark.parametrize(
    "text",
    ["since 01/02/2003", "since 2001-13-45", "in the 1990s", "since 31 June 2001", "12,2003"],
)
def test_what_is_no_date_or_may_mean_two_is_not_read(text):
    assert read(text) == []


def test_numbers_that_can_mean_one_day_only_are_read():
    assert read("since 13/02/2003") == read("since 02/13/2003") == [("start", "2003-02-13")]


FORMS = ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b. %d, %Y", "%Y/%m/%d", "%d.%m.%Y")


@given(
    st.dates(date(1500, 1, 1), date(2100, 12, 31)),
    st.dates(date(1500, 1, 1), date(2100, 12, 31)),
    st.sampled_from(FORMS[:-1]),
    st.sampled_from(FORMS[:-1]),
)
def test_a_span_in_any_two_notations_reads_as_its_two_days(first, last, one, other):
    text = f"Held from {first.strftime(one)} until {last.strftime(other)}."
    assert read(text) == [("start", str(first)), ("end", str(last))]


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text):
    for ref in time_references(text + " since 2003-04-05"):
        assert ref.role in ("start", "end", None)
