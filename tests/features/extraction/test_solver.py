"""The solver: the paper's cases, bounds, ties, and an oracle that goes through every month."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.features.extraction.solver import RELATIONS, Fact, Query, solve
from agent_env.features.extraction.wording import read_facts, read_query
from agent_env.temporal.months import Span, month
from tests.families.timed_facts.oracle import brute_force

TOL = """\
Richard Tol works for Vrije Universiteit Amsterdam from Jan, 1992 to Jan, 1992.
Richard Tol works for Economic and Social Research Institute from Jan, 2006 to Jan, 2012.
Richard Tol works for University of Hamburg from Jan, 2000 to Jan, 2006.
Richard Tol works for University of Sussex from Jan, 2012 to Dec, 2022."""
ABRAHAMS = """\
Paul Abrahams plays for Wivenhoe Town F.C. from Jan, 2004 to Jan, 2005.
Paul Abrahams plays for Heybridge Swifts F.C. from Jan, 2001 to Jan, 2004.
Paul Abrahams plays for Canvey Island F.C. from Jan, 2000 to Jan, 2001.
Paul Abrahams plays for Colchester United F.C. from Jan, 1996 to Jan, 1999.
Paul Abrahams plays for Chesham United F.C. from Jan, 2001 to Jan, 2001."""


def asked(question, lines):
    facts = read_facts(lines).facts
    return set(solve(facts, read_query(question, tuple(fact.value for fact in facts))).answers)


def test_the_papers_cases_ties_and_what_was_just_outside():
    before = "Richard Tol work for before Economic and Social Research Institute?"
    assert asked(f"Which employer did {before}", TOL) == {"University of Hamburg"}
    teams = {"Canvey Island F.C.", "Chesham United F.C.", "Heybridge Swifts F.C."}
    assert asked("Which team did Paul Abrahams play for in Jan, 2001?", ABRAHAMS) == teams
    facts = [fact("A", "1990-01", "1991-01"), fact("B", "1991-03", "1994"), fact("C", "1999", None)]
    at = month(1991, 2)
    assert solve(facts, Query("in", Span(at, at))).explanation() == (
        "Matched: nothing\n"
        "Just outside: A (January 1990 to January 1991); B (March 1991 to December 1994)"
    )
    facts = [
        fact("A", "1990-01", "1991-01"), fact("B", "1990-01", "1994-01"),
        fact("C", "1992-05", "1993-01"), fact("D", "1992-05", None),
    ]  # fmt: skip
    solved = solve(facts, Query("before", "C"))
    assert (solved.answers, [near.value for near in solved.near]) == (("A", "B"), ["D"])


def fact(value, start, end):
    return Fact(topic="T", kind="team", value=value, start=start, end=end)


@pytest.mark.parametrize(
    ("when", "answers"),
    [
        ("in Dec, 1994", "A"),
        ("in Jan, 1995", ""),
        ("in the late 1990s", "B"),
        ("in the early 1990s", "A"),
        ("at any time between Nov, 1994 and Jun, 1996", "AB"),
        ("from 1991 to Dec, 1994", "A"),
        ("right before Jan, 1996", "A"),
        ("right after Jan, 1995", "B"),
    ],
)
def test_a_year_alone_means_from_its_january_or_to_its_december(when, answers):
    lines = "T plays for A from 1991 to 1994.\nT plays for B from Mar, 1996 to 1998."
    assert asked(f"Which team did T play for {when}?", lines) == set(answers)


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Fact], Query]:
    low = month(1990, 1)
    facts = []
    for number in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, 40))
        end = draw(st.none() | st.integers(start, 45))
        written = [None if m is None else f"{(low + m) // 12}-{(low + m) % 12 + 1:02d}"
                   for m in (start, end)]  # fmt: skip
        facts.append(fact(f"V{number % 4}", *written))
    relation = draw(st.sampled_from(RELATIONS))
    first = low + draw(st.integers(-2, 48))
    span = Span(first, first + draw(st.integers(0, 6)))
    value = draw(st.sampled_from(facts)).value
    by_value = relation in ("before", "after") and draw(st.booleans())
    return facts, Query(relation, value if by_value else span)


@settings(max_examples=150)
@given(stories(), st.booleans())
def test_the_solver_agrees_with_going_through_every_month(story, half_open):
    facts, query = story
    solved = solve(facts, query, "half-open" if half_open else "closed")
    assert set(solved.answers) == brute_force(facts, query, half_open)
