"""The input of a scripted policy, and the episode as the messages record it, with the pages that a
prompt contains."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_env.sdk.records import Message, ToolCall, ToolSpec

_FIRST = re.compile(r"=== ([0-9a-f]{12}) pages found on the web\n")


def split_pages(content: str) -> tuple[dict[str, str], str]:
    """The pages by address, each in the form of open_page, and the question."""
    first = _FIRST.match(content)
    if first is None:
        return {}, content
    mark = f"=== {first[1]}"
    pages, _, question = content.partition(f"{mark} end of the pages; the question follows\n")
    blocks = re.findall(
        rf"^{mark} page \d+\n((?:(?!^{mark} page).)*?)\n{mark} end of page \d+$", pages, re.M | re.S
    )
    return {block.split("\n", 2)[1]: block for block in blocks}, question.removeprefix("\n")


Call = tuple[str, Mapping[str, object]]
"""A tool and its arguments."""
Step = tuple[str, Sequence[Call]]
"""The text of the reply, and its calls."""


Source = Literal["pages", "memory", "chance"]
Habit = Literal["believer", "checker", "giver-up"]


@dataclass(frozen=True, slots=True)
class Turn:
    """The input of a policy."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    thorough: bool
    """Whether it looks until it is sure, or takes the first that fits."""
    source: Source = "pages"
    """What it answers from: the pages, what it remembers of the shipped tables, or a guess."""
    habit: Habit | None = None
    """Whether it takes the first page for true, wants two, or gives up where a call fails."""

    @property
    def offered(self) -> set[str]:
        """Names of the tools."""
        return {tool.name for tool in self.tools}


@dataclass(slots=True)
class History:
    """The episode so far, from the messages."""

    prompt: str = ""
    context_pages: dict[str, str] = field(default_factory=dict)
    """By address: pages in the prompt."""
    searches: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By query: addresses and snippets, best first."""
    pages: dict[str, str] = field(default_factory=dict)
    """By address: the page's text; empty where it could not be opened."""
    printed: str | None = None
    """Output of the last program."""
    checked: bool = False
    """Whether the calendar tool was called."""


def read_history(messages: Sequence[Message]) -> History:
    """The prompt and the results of the tools."""
    history = History()
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "user" and (not history.prompt or "\nConstraints:\n" in message.content):
            pages, history.prompt = split_pages(message.content)  # after any worked examples
            history.context_pages = pages
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "tool" and message.tool_call_id in calls:
            _record(history, calls[message.tool_call_id], message.content)
    return history


def _record(history: History, call: ToolCall, output: str) -> None:
    arguments = _arguments(call)
    if call.name == "web_search" and "query" in arguments:
        history.searches[arguments["query"]] = _hits(output)
    elif call.name == "open_page" and "url" in arguments:
        history.pages[arguments["url"]] = "" if output.startswith("Error:") else output
    elif call.name == "python":
        history.printed = output
    elif call.name == "calendars":
        history.checked = True


def _arguments(call: ToolCall) -> dict[str, str]:
    """The call's arguments; empty where the reply broke off within them."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _hits(output: str) -> list[tuple[str, str]]:
    blocks = re.split(r"(?:(?<!\n)\n++)?^\[\d+\] ", output, flags=re.M)[1:]
    hits = []
    for block in blocks:
        _, url, snippet = [*block.split("\n", 2), "", ""][:3]
        hits.append((url, snippet))
    return hits
