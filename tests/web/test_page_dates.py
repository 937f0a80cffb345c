"""A page whose dates have moved is at peace with itself; one that refutes itself is found out."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.temporal.facts.tables import shipped_tables
from agent_env.web.page_dates import contradictions, mentions, moved
from agent_env.web.site.difficulty import LEVELS
from agent_env.web.site.render import render_all

WAR = (
    "The war lasted from Friday, 2 April 1982 to June 14, 1982.\n"
    "It began in April 1982; 1982 was its only year.\nFirst day: 1982-04-02\nLast day: 14 June 1982"
)


def later(days: int) -> str:
    return moved(WAR, lambda day: day + timedelta(days=days))


def test_every_date_moves_in_the_notation_in_which_it_stands() -> None:
    assert later(275) == (
        "The war lasted from Sunday, 2 January 1983 to March 16, 1983.\n"
        "It began in January 1983; 1983 was its only year.\n"
        "First day: 1983-01-02\nLast day: 16 March 1983"
    )
    assert moved("From 1914 to 1918, 1914-1918", lambda day: day.replace(year=day.year + 7)) == (
        "From 1921 to 1925, 1921-1925"
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(-60_000, 14_000))
def test_moved_together_dates_never_refute_each_other(days: int) -> None:
    assert contradictions(later(days)) == ()
    assert [m.day for m in mentions(later(days)) if m.day] == [
        day + timedelta(days=days)
        for day in (date(1982, 4, 2), date(1982, 6, 14), date(1982, 4, 2), date(1982, 6, 14))
    ]


def test_addresses_keep_their_dates_and_links_that_bear_one_go() -> None:
    text = "It was on 2 April 1982.\n- Report <https://g.example/1982/04/03/x>\n- List <https://l.example/x>"
    assert moved(text, lambda day: day.replace(year=1990)) == (
        "It was on 2 April 1990.\n- List <https://l.example/x>"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The battle lasted from July 1, 1863 to 3 March 1863.", "before it begins"),
        ("It began on 3 May 1982 and ended on 2 April 1982.", "before it begins"),
        ("It, which opened on 3 May 1982, came to its end on 2 April 1982.", "before it begins"),
        ("She was born on 3 May 1982 and died on 2 April 1982.", "before it begins"),
        ("Office | X | from 3 May 1982 | to 2 April 1982", "before it begins"),
        ("First day: 3 May 1982\nLast day: 2 April 1982", "first day is after its last day"),
        ("It lasted from 2 April 1982 to 3 May 1982.\nFirst day: 3 April 1982", "where its rows"),
        ("It was on Monday, 2 April 1982.", "was a Friday"),
        ("It was on 29 February 1981.", "no calendar has"),
        ("First day: 1981-02-29", "no calendar has"),
        ("It lasted 5 days, from 2 April 1982 to 14 June 1982.", "it lasted 5 days"),
        ("She was born on 1 May 1900 and died on 2 May 1950, aged 70.", "aged 70"),
        ("It was on 2 April 1982.\n- Report <https://g.example/1904/04/03/x>", "leads to 1904"),
        ("It took place in 1967 and 1971.\nYears: 1967, 1970", "its years are"),
    ],
)
def test_a_page_that_refutes_itself_is_found_out(text: str, why: str) -> None:
    assert any(why in each for each in contradictions(text)), contradictions(text)


def test_no_page_of_the_sealed_web_refutes_itself_moved_or_not() -> None:
    tables = shipped_tables()
    for sheet in list(render_all(tables, LEVELS["hard"]))[::3]:
        links = [each for each in contradictions(sheet.text) if "link leads" in each]  # of lists
        assert list(contradictions(sheet.text)) == links, sheet.url
        assert contradictions(moved(sheet.text, lambda day: day - timedelta(days=397))) == ()
