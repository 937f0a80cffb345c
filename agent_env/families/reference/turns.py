"""What a scripted policy is sent, and what the messages tell of the episode so far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent_env.families.reference.given import split_given
from agent_env.records.schema import Message, ToolCall, ToolSpec

Call = tuple[str, Mapping[str, object]]
"""A tool and its arguments."""


Step = tuple[str, Sequence[Call]]
"""What is said, and the calls that are asked for."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What a policy is sent."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    thorough: bool
    """Whether every event of a list is looked at, or the first that fits."""

    @property
    def offered(self) -> set[str]:
        """Names of the tools."""
        return {tool.name for tool in self.tools}


@dataclass(slots=True)
class Seen:
    """What the messages tell of the episode so far."""

    prompt: str = ""
    given: dict[str, str] = field(default_factory=dict)
    """By address: pages that came with the question."""
    searches: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By query: addresses and snippets, best first."""
    pages: dict[str, str] = field(default_factory=dict)
    """By address: what the page says; empty where it could not be opened."""
    printed: str | None = None
    """Output of the last program."""
    checked: bool = False
    """Whether the calendar was asked."""


def look_back(messages: Sequence[Message]) -> Seen:
    """What was asked and what the tools have said."""
    seen = Seen()
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "user" and (not seen.prompt or "\nConstraints:\n" in message.content):
            seen.given, seen.prompt = split_given(message.content)  # after any worked examples
        calls |= {call.id: call for call in message.tool_calls}
        if message.role == "tool" and message.tool_call_id in calls:
            _take_in(seen, calls[message.tool_call_id], message.content)
    return seen


def _take_in(seen: Seen, call: ToolCall, output: str) -> None:
    arguments = _arguments(call)
    if call.name == "web_search" and "query" in arguments:
        seen.searches[arguments["query"]] = _hits(output)
    elif call.name == "open_page" and "url" in arguments:
        seen.pages[arguments["url"]] = "" if output.startswith("Error:") else output
    elif call.name == "python":
        seen.printed = output
    elif call.name == "calendars":
        seen.checked = True


def _arguments(call: ToolCall) -> dict[str, str]:
    """What the call gives; nothing where its reply broke off within it."""
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
