"""Serper's Google search: serper.dev. Only organic results count; answer boxes are left out."""

from __future__ import annotations

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, found_in, listed


def request(query: str, limit: int, key: str) -> Request:
    return Request("/search", body={"q": query, "num": limit}, headers={"x-api-key": key})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    if "organic" not in body and "searchParameters" in body:
        return []
    return found_in(listed(body, "organic"), "link", "title", "snippet", "date")


API = SearchApi(
    name="serper",
    key_variable="SERPER_API_KEY",
    base_url="https://google.serper.dev",
    most=100,
    longest_query=2000,
    pace=Pace(per_second=5.0),
    request=request,
    found=found,
)
