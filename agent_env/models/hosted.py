"""Tools that the provider runs itself, inside one reply: OpenAI's web search and code interpreter.

What they did stands in the reply's items: searches with the sources they consulted, pages that
were opened or looked through, code with its output. None of it passes through our toolbox.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import JsonValue

from agent_env.models.cleaning import Json
from agent_env.models.json_fields import record, records, text
from agent_env.records.schema import PageRef, ToolSpec

INCLUDED: dict[str, str] = {
    "web_search": "web_search_call.action.sources",
    "code_interpreter": "code_interpreter_call.outputs",
}
"""What must be asked for by name, or the reply leaves it out."""


def tool_field(tool: str) -> Json:
    """The tool as a request names it."""
    if tool == "code_interpreter":
        return {"type": tool, "container": {"type": "auto"}}
    return {"type": tool}


def include_field(tools: Sequence[ToolSpec]) -> list[JsonValue]:
    """What to ask for beside the reply, for the hosted ones among the tools."""
    return [INCLUDED[tool.hosted] for tool in tools if tool.hosted in INCLUDED]


def call_counts(items: Sequence[Json]) -> dict[str, int] | None:
    """Calls by kind (search, open_page, find_in_page, code_interpreter) and the containers that
    ran code; None where there were none."""
    kinds = [_kind(item) for item in items]
    counts = Counter(kind for kind in kinds if kind is not None)
    containers = {text(item, "container_id") for item in items} - {""}
    if containers:
        counts["container"] = len(containers)
    return dict(counts) or None


def pages(items: Sequence[Json]) -> tuple[PageRef, ...]:
    """The pages that were opened or looked through, and the sources that searches consulted."""
    refs: dict[PageRef, None] = {}
    for item in items:
        action = record(item, "action")
        if item.get("type") != "web_search_call":
            continue
        if (url := text(action, "url")) and action.get("type") != "search":
            refs[PageRef(url=url, how="opened")] = None
        for source in records(action, "sources"):
            if url := text(source, "url"):
                refs[PageRef(url=url, how="returned")] = None
    return tuple(refs)


def _kind(item: Json) -> str | None:
    match item.get("type"):
        case "web_search_call":
            return text(record(item, "action"), "type") or "search"
        case "code_interpreter_call":
            return "code_interpreter"
    return None
