"""OpenAI's hosted search through the Responses API: a model is asked to search, and what it cites
are the hits, in the order of the citations; pages that it consulted and did not cite follow.

The choice of hits is that model's, a search takes seconds and costs tokens. Text beside a citation
is the model's own and serves as the snippet. platform.openai.com/docs/guides/tools-web-search.
"""

from __future__ import annotations

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, listed

MODEL = "gpt-5-mini"
_ASK = (
    "Search the web for the following query and list the {limit} most relevant pages. Give each a "
    "line of its own that says what the page tells about it, and cite the page.\n\nQuery: {query}"
)
_BESIDE = 300
"""Characters of the model's text before a citation that are shown as its snippet."""


def request(query: str, limit: int, key: str) -> Request:
    body: Json = {
        "model": MODEL,
        "input": _ASK.format(limit=limit, query=query),
        "tools": [{"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
        "include": ["web_search_call.action.sources"],
        "store": False,
    }
    return Request("/responses", body=body, headers={"authorization": f"Bearer {key}"})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    """Cited pages first; None where the reply is not a response."""
    output = listed(body, "output")
    if output is None:
        return None
    messages = [item for item in output if item.get("type") == "message"]
    parts = [part for message in messages for part in listed(message, "content") or []]
    if parts and not any(part.get("type") in ("output_text", "refusal") for part in parts):
        return None
    return [*_cited_hits(parts), *_consulted(output)]


def _cited_hits(parts: list[Json]) -> list[RawHit]:
    return [
        RawHit(note.get("url"), note.get("title"), _text_at(part.get("text"), note["start_index"]))
        for part in parts
        for note in listed(part, "annotations") or []
        if note.get("type") == "url_citation" and "start_index" in note
    ]


def _consulted(output: list[Json]) -> list[RawHit]:
    actions = (i.get("action") for i in output if i.get("type") == "web_search_call")
    return [
        RawHit(source.get("url"), source.get("title"), None)
        for action in actions
        if isinstance(action, dict)
        for source in listed(action, "sources") or []
    ]


def _text_at(text: object, start: object) -> str | None:
    """The line's text before the citation."""
    if not isinstance(text, str) or not isinstance(start, int):
        return None
    return text[max(0, start - _BESIDE) : start].rpartition("\n")[2].strip(" -*([")


API = SearchApi(
    name="openai",
    key_variable="OPENAI_API_KEY",
    base_url="https://api.openai.com/v1",
    most=20,
    longest_query=400,
    pace=Pace(per_second=1.0),
    request=request,
    found=found,
    timeout_s=90.0,
)
