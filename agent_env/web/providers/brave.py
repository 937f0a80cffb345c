"""Brave's web search: api-dashboard.search.brave.com/documentation."""

from __future__ import annotations

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, found_in, listed


def request(query: str, limit: int, key: str) -> Request:
    parameters = {
        "q": query,
        "count": str(limit),
        "result_filter": "web",
        "text_decorations": "false",
    }
    return Request("/res/v1/web/search", parameters, headers={"x-subscription-token": key})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    """A search without web results has no `web` at all."""
    if body.get("type") != "search":
        return None
    web = body.get("web")
    if web is None:
        return []
    rows = listed(web, "results") if isinstance(web, dict) else None
    return found_in(rows, "url", "title", "description", "page_age")


API = SearchApi(
    name="brave",
    key_variable="BRAVE_API_KEY",
    base_url="https://api.search.brave.com",
    most=20,
    longest_query=400,
    pace=Pace(per_second=1.0, at_once=2),
    request=request,
    found=found,
)
