"""Tools: what models get back, and what they are told when a call is wrong."""

from __future__ import annotations

import asyncio

import pytest

from agent_env.errors import ToolError
from agent_env.protocols import Tool
from agent_env.records.execution import ExecResult
from agent_env.records.pages import Hit
from agent_env.records.schema import ToolResult
from agent_env.testing import FakeSandbox, FakeSearch, MemoryPages, page
from agent_env.tools.builtin.calendars import Calendars
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.python import Interpreter
from agent_env.tools.builtin.web_search import WebSearch

SEARCH = WebSearch(FakeSearch({"moon": [Hit(url="https://a.example/", title="A", snippet="x")]}))


def use(tool: Tool, **arguments: object) -> ToolResult:
    return asyncio.run(tool.run(arguments))


def test_a_search_gives_title_address_and_snippet() -> None:
    result = use(SEARCH, query="moon")
    assert result.output == "[1] A\nhttps://a.example/\nx"
    assert [(ref.url, ref.how) for ref in result.pages] == [("https://a.example/", "returned")]


def test_a_search_without_results_says_what_to_try() -> None:
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
def test_wrong_arguments_are_named(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        use(SEARCH, **arguments)
    assert reason in str(caught.value)


def test_a_page_is_shown_with_its_digest_in_the_result() -> None:
    result = use(
        OpenPage(MemoryPages([page("https://a.example/", "Text.")])), url="https://a.example/"
    )
    assert result.output == "A page\nhttps://a.example/\n\nText."
    (ref,) = result.pages
    assert (ref.how, len(ref.digest or "")) == ("opened", 64)


def test_a_long_page_comes_in_windows() -> None:
    browse = OpenPage(MemoryPages([page("https://a.example/", "abcdefgh")]), window=3)
    assert use(browse, url="https://a.example/", window=3).output.endswith("gh\n\n[Window 3 of 3.]")
    assert use(browse, url="https://a.example/", window=9).output.endswith("gh\n\n[Window 3 of 3.]")


def test_printed_text_and_the_last_value_come_back() -> None:
    sandbox = FakeSandbox([ExecResult(stdout="hello\n", value="42")])
    assert use(Interpreter(sandbox, (), 30), code="x").output == "hello\n42"


def test_a_lost_session_is_said_with_what_it_means() -> None:
    sandbox = FakeSandbox([ExecResult(status="timeout", error="stopped after 30 s")])
    result = use(Interpreter(sandbox, (), 30), code="while True: pass")
    assert "The session was lost with its variables" in result.output
    assert result.error == "timeout: stopped after 30 s"


def test_the_description_says_what_can_be_imported() -> None:
    assert "library and sxtwl. " in Interpreter(FakeSandbox(), ("sxtwl",), 30).spec.description


CALENDARS = Calendars()


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (
            {"operation": "describe", "date": "2024-02-10"},
            "2024-02-10 is a Saturday, day 41 of its year.\n"
            "Chinese lunar date: day 1 of month 1 of lunar year 2024, year of the Dragon.",
        ),
        (
            {"operation": "from_gregorian", "date": "2024-10-03", "calendar": "hebrew"},
            "2024-10-03 is day 1 of month 7 (Tishrei) of year 5785 (hebrew).",
        ),
        (
            {"operation": "to_gregorian", "calendar": "chinese", "year": 2023, "month": 2,
             "day": 1, "leap_month": True},
            "2023-03-22 (Wednesday)",
        ),
        (
            {"operation": "nth_weekday", "year": 2026, "month": 11, "weekday": "thursday", "n": 4},
            "2026-11-26",
        ),
        ({"operation": "nth_weekday", "year": 2026, "weekday": "Friday", "n": -1}, "2026-12-25"),
        ({"operation": "add", "date": "2024-01-31", "months": 1}, "2024-02-29 (Thursday)"),
        (
            {"operation": "add", "date": "2024-02-29", "years": 1, "days": 1},
            "2025-03-01 (Saturday)",
        ),
        (
            {"operation": "difference", "date": "2000-01-01", "other_date": "2001-01-01"},
            "366 days from 2000-01-01 to 2001-01-01",
        ),
        (
            {"operation": "named_day", "calendar": "easter", "name": "Good Friday", "year": 2026},
            "2026-04-03 (Friday)",
        ),
    ],
)  # fmt: skip
def test_calendar_answers(arguments: dict[str, object], output: str) -> None:
    assert use(CALENDARS, **arguments).output == output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"operation": "describe"}, "this operation needs `date`"),
        ({"operation": "describe", "date": "2023-02-30"}, "'2023-02-30' is not a date"),
        ({"operation": "fly"}, "operation: Input should be 'describe'"),
        (
            {"operation": "from_gregorian", "date": "2024-01-01", "calendar": "mayan"},
            "unknown calendar 'mayan'; known: chinese",
        ),
        (
            {"operation": "from_gregorian", "date": "1400-01-01", "calendar": "chinese"},
            "1400-01-01 is out of range; the calendar is validated for 1610-01-25",
        ),
        (
            {"operation": "nth_weekday", "year": 2026, "month": 2, "weekday": "Monday", "n": 5},
            "there is no Monday number 5 between 2026-02-01 and 2026-02-28",
        ),
        (
            {"operation": "add", "date": "2024-01-01", "days": 10**9},
            "that leads out of the years 1 to 9999",
        ),
    ],
)
def test_calendar_questions_without_an_answer_say_why(
    arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(ToolError) as caught:
        use(CALENDARS, **arguments)
    assert reason in str(caught.value)
