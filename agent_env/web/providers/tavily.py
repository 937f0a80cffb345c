"""Tavily's search: docs.tavily.com."""

from __future__ import annotations

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, found_in, listed


def request(query: str, limit: int, key: str) -> Request:
    body: Json = {"query": query, "max_results": limit, "search_depth": "basic"}
    return Request("/search", body=body, headers={"authorization": f"Bearer {key}"})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    return found_in(listed(body, "results"), "url", "title", "content", "published_date")


API = SearchApi(
    name="tavily",
    key_variable="TAVILY_API_KEY",
    base_url="https://api.tavily.com",
    most=20,
    longest_query=400,
    pace=Pace(per_second=1.5),
    request=request,
    found=found,
)
