"""Tools: what models get back, and what they are told when a call is wrong."""

import asyncio
import json
from datetime import date

import pytest

from agent_env.errors import ToolError
from agent_env.records.pages import Hit
from agent_env.records.schema import ExecResult
from agent_env.testing import FakeSandbox, FakeSearch, MemoryPages, page
from agent_env.tools.builtin.calendars import Calendars
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.python import Interpreter
from agent_env.tools.builtin.web_search import WebSearch

SEARCH = WebSearch(FakeSearch({"moon": [Hit(url="https://a.example/", title="A", snippet="x")]}))


def use(tool, **arguments):
    return asyncio.run(tool.run(arguments))


def test_a_search_gives_title_address_and_snippet_or_what_to_try():
    result = use(SEARCH, query="moon")
    assert result.output == "[1] A\nhttps://a.example/\nx"
    assert [(ref.url, ref.how) for ref in result.pages] == [("https://a.example/", "returned")]
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
    result = use(
        OpenPage(MemoryPages([page("https://a.example/", "Text.")])), url="https://a.example/"
    )
    assert result.output == "A page\nhttps://a.example/\n\nText."
    (ref,) = result.pages
    assert (ref.how, len(ref.digest or "")) == ("opened", 64)
    browse = OpenPage(MemoryPages([page("https://a.example/", "abcdefgh")]), window=3)
    assert use(browse, url="https://a.example/", window=3).output.endswith("gh\n\n[Window 3 of 3.]")
    assert use(browse, url="https://a.example/", window=9).output.endswith("gh\n\n[Window 3 of 3.]")


def test_the_interpreter_gives_prints_values_and_lost_sessions_and_says_what_it_has():
    sandbox = FakeSandbox([ExecResult(stdout="hello\n", value="42")])
    assert use(Interpreter(sandbox, (), 30), code="x").output == "hello\n42"
    sandbox = FakeSandbox([ExecResult(status="timeout", error="stopped after 30 s")])
    result = use(Interpreter(sandbox, (), 30), code="while True: pass")
    assert "All variables are lost" in result.output
    assert result.error == "timeout: stopped after 30 s"
    assert "library and sxtwl. " in Interpreter(FakeSandbox(), ("sxtwl",), 30).spec.description


CALENDARS = Calendars()
ANSWERS = [
    ("describe date=2024-02-10",
     "2024-02-10 is a Saturday, day 41 of the year.\n"
     "Chinese lunar date: day 1 of month 1 of lunar year 2024, year of the Dragon."),
    ("describe date=2024-10-03 calendar=hebrew",
     "2024-10-03 is a Thursday, day 277 of the year.\n"
     "2024-10-03 is day 1 of month 7 (Tishrei) of year 5785 (hebrew).\n"
     "Chinese lunar date: day 1 of month 9 of lunar year 2024, year of the Dragon."),
    ("to_gregorian calendar=chinese year=2023 month=2 day=1 leap_month=true",
     "2023-03-22 (Wednesday)"),
    ("nth_weekday year=2026 month=11 weekday=thursday n=4", "2026-11-26"),
    ("nth_weekday year=2026 weekday=Friday n=-1", "2026-12-25"),
    ("add date=2024-01-31 n=1 unit=months", "2024-02-29 (Thursday)"),
    ("add date=2024-02-29 n=1 unit=years", "2025-02-28 (Friday)"),
    ("add date=2024-02-29 n=-60 unit=days", "2023-12-31 (Sunday)"),
    ("difference date=2000-01-01 other_date=2001-01-01", "366 days from 2000-01-01 to 2001-01-01"),
    ("named_day calendar=easter name=Good_Friday year=2026", "2026-04-03 (Friday)"),
]  # fmt: skip
REASONS = [
    ("describe", 'describe needs `date`, as in {"operation": "describe", "date": "1950-06-15", '),
    ("describe date=2023-02-30", "'2023-02-30' is not a date"),
    ("fly", "operation: Input should be 'describe'"),
    ("describe date=2024-01-01 calendar=mayan", "unknown calendar 'mayan'; known: chinese"),
    ("describe date=1400-01-01 calendar=chinese",
     "1400-01-01 is out of range; the calendar is validated for 1610-01-25"),
    ("describe date=1400-01-01 calendar=persian",
     "; `date` is Gregorian; of a date in that calendar, to_gregorian gives it"),
    ("to_gregorian calendar=hebrew year=1948 month=5 day=14",
     "; of a Gregorian date, describe with calendar hebrew gives it there"),
    ("nth_weekday year=2026 month=2 weekday=Monday n=5",
     "there is no Monday number 5 between 2026-02-01 and 2026-02-28"),
    ("add date=2024-01-01 n=1000000000 unit=days", "the result is outside the years 1 to 9999"),
    ("add date=2024-01-01 n=2 unit=weeks", "'weeks' is no unit; write one of days, months, years"),
    ("add date=2024-01-01 n=2", 'add needs `unit`, as in {"operation": "add", '),
]  # fmt: skip


def arguments_of(words):
    """An operation, and its arguments as NAME=VALUE; numbers are numbers."""
    operation, *others = words.split()
    pairs = (other.split("=") for other in others)
    return {"operation": operation} | {
        name: json.loads(value) if value == "true" or value.lstrip("-").isdigit()
        else value.replace("_", " ")
        for name, value in pairs
    }  # fmt: skip


@pytest.mark.parametrize(("words", "output"), ANSWERS)
def test_calendar_answers(words, output):
    assert use(CALENDARS, **arguments_of(words)).output == output


@pytest.mark.parametrize(("words", "reason"), REASONS)
def test_calendar_questions_without_an_answer_say_why(words, reason):
    with pytest.raises(ToolError) as caught:
        use(CALENDARS, **arguments_of(words))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("operation", "output"),
    [
        ("describe", "1950-06-15 is a Thursday, day 166 of the year."),
        ("to_gregorian", "1950-06-15 (Thursday)"),
        ("nth_weekday", "1950-06-11"),
        ("add", "1950-05-16 (Tuesday)"),
        ("difference", "192 days from 1950-06-15 to 1950-12-24"),
        ("named_day", "1950-04-02 (Sunday)"),
    ],
)
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
    on_day = Calendars(date(1995, 6, 1))
    assert use(on_day, operation="describe", date="today").output.startswith(
        "1995-06-01 is a Thursday"
    )
    ago = use(on_day, operation="difference", date="1990-01-01", other_date="today").output
    assert ago == "1977 days from 1990-01-01 to 1995-06-01"
    assert on_day.spec.description.startswith(
        "Exact calendar arithmetic. Dates are Gregorian, YYYY-MM-DD, or `today`. An example"
    )
    with pytest.raises(ToolError, match="date 'today' is not a date"):
        use(CALENDARS, operation="describe", date="today")
