"""Tools: what models get back, and what they are told when a call is wrong."""

import asyncio
import json
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.errors import ToolError
from agent_env.records.pages import Hit
from agent_env.records.schema import ExecResult
from agent_env.testing import FakeSandbox, FakeSearch, MemoryPages, page
from agent_env.tools.builtin.calendars import Calendars
from agent_env.tools.builtin.open_page import OpenPage, find
from agent_env.tools.builtin.python import Interpreter
from agent_env.tools.builtin.web_search import WebSearch
from tests.tables import tables

A = "https://a.example/"
SEARCH = WebSearch(FakeSearch({"moon": [Hit(url=A, title="A", snippet="x")]}))


def use(tool, **arguments):
    return asyncio.run(tool.run(arguments))


def test_a_search_gives_title_address_and_snippet_or_what_to_try():
    result = use(SEARCH, query="moon")
    assert result.output == f"[1] A\n{A}\nx"
    assert [(ref.url, ref.how) for ref in result.pages] == [(A, "returned")]
    assert use(SEARCH, query="sun").output.startswith("No results for: sun")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "wrong arguments: query: Field required"),
        ({"query": 7}, "query: Input should be a valid string"),
        ({"query": ""}, "query: String should have at least 1 character"),
        ({"query": "a", "limit": 99}, "limit: Input should be less than or equal to 10"),
        ({"query": "a", "page": 2}, "page: Extra inputs are not permitted"),
    ],
)
def test_wrong_arguments_are_named(arguments, reason):
    with pytest.raises(ToolError) as caught:
        use(SEARCH, **arguments)
    assert reason in str(caught.value)


def test_a_page_is_shown_with_its_digest_and_a_long_one_in_windows():
    result = use(OpenPage(MemoryPages([page(A, "Text.")])), url=A)
    assert result.output == f"A page\n{A}\n\nText."
    (ref,) = result.pages
    assert (ref.how, len(ref.digest or "")) == ("opened", 64)
    browse = OpenPage(MemoryPages([page(A, "abcdefgh")]), window=3)
    for window in (3, 9):
        assert use(browse, url=A, window=window).output.endswith("gh\n\n[Window 3 of 3.]")


def test_the_interpreter_gives_prints_values_and_lost_sessions_and_says_what_it_has():
    sandbox = FakeSandbox([ExecResult(stdout="hello\n", value="42")])
    assert use(Interpreter(sandbox, (), 30), code="x").output == "hello\n42"
    sandbox = FakeSandbox([ExecResult(status="timeout", error="stopped after 30 s")])
    result = use(Interpreter(sandbox, (), 30), code="while True: pass")
    assert "All variables are lost" in result.output
    assert result.error == "timeout: stopped after 30 s"
    assert "library and sxtwl. " in Interpreter(FakeSandbox(), ("sxtwl",), 30).spec.description


CALENDARS, CASES = Calendars(), tables(__file__)


def arguments_of(words):
    """An operation, and its arguments as NAME=VALUE; numbers are numbers."""
    operation, *others = words.split()
    arguments = {"operation": operation}
    for name, value in (other.split("=") for other in others):
        is_json = value == "true" or value.lstrip("-").isdigit()
        arguments[name] = json.loads(value) if is_json else value.replace("_", " ")
    return arguments


@pytest.mark.parametrize(("words", "output"), CASES["answers"])
def test_calendar_answers(words, output):
    assert use(CALENDARS, **arguments_of(words)).output == output


@pytest.mark.parametrize(("words", "reason"), CASES["reasons"])
def test_calendar_questions_without_an_answer_say_why(words, reason):
    with pytest.raises(ToolError) as caught:
        use(CALENDARS, **arguments_of(words))
    assert reason in str(caught.value)


@pytest.mark.parametrize(("operation", "output"), CASES["examples"])
def test_the_example_of_each_operation_can_be_called(operation, output):
    lines = CALENDARS.spec.description.splitlines()
    (line,) = [line for line in lines if line.startswith(f'{{"operation": "{operation}"')]
    example = json.loads(line[: line.index("}") + 1])
    fields = CALENDARS.spec.parameters["properties"]
    assert list(example) == [name for name in fields if name in example]
    assert use(CALENDARS, **example).output.splitlines()[0] == output


def test_an_optional_argument_has_one_type_and_its_values_are_listed():
    fields = CALENDARS.spec.parameters["properties"]
    assert not any("anyOf" in field or field.get("default", 0) is None for field in fields.values())
    assert fields["date"] == {"type": "string"}
    assert fields["weekday"]["enum"][0] == "Monday"
    assert fields["calendar"]["enum"][-1] == "solar-terms"
    assert use(CALENDARS, operation="describe", date="1950-06-15", n=None).output


def test_calendars_know_today_where_the_condition_has_a_day():
    on_day, today = Calendars(date(1995, 6, 1)), {"operation": "describe", "date": "today"}
    assert use(on_day, **today).output.startswith("1995-06-01 is a Thursday")
    ago = use(on_day, operation="difference", date="1990-01-01", other_date="today").output
    assert ago == "1977 days from 1990-01-01 to 1995-06-01"
    assert on_day.spec.description.startswith(
        "Exact calendar arithmetic. Dates are Gregorian, YYYY-MM-DD, or `today`. An example"
    )
    with pytest.raises(ToolError, match="date 'today' is not a date"):
        use(CALENDARS, **today)


LONG = "one " * 200 + "The   treaty\nwas signed. " + "two " * 2000 + "the TREATY was broken."


def found(text, words):
    return use(OpenPage(MemoryPages([page(A, text)]), window=1000), url=A, find=words)


def test_places_come_with_what_stands_around_them_or_what_to_try():
    told = found(LONG, "treaty was").output.split("\n\n")
    assert told[0] == f"A page\n{A}"
    assert told[1].startswith("[Window 1] … one one ")
    assert "The treaty was signed. two" in told[1]
    assert told[2].startswith("[Window 9] … two ")
    assert told[2].endswith("the TREATY was broken.")
    assert told[3] == "[Places with these words: 2.]"
    assert "does not have these words" in found(LONG, "armistice").output
    assert len(find("a b " * 50, "a b").excerpts) == 1
    many = find(("x " * 400 + "here ") * 30, "here")
    assert (many.count, len(many.excerpts)) == (30, 8)


@settings(max_examples=40)
@given(st.text(max_size=300), st.text(max_size=20))
def test_what_is_shown_holds_the_words(text, words):
    places = find(text, words)
    assert (places.count > 0) == bool(places.excerpts)
    if places.excerpts and len(text) < 200:
        shown = " ".join(part for _, part in places.excerpts)
        assert " ".join(words.split()).casefold()[:1] in shown.casefold()
