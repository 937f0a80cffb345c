"""Exa's search, with highlights as snippets: exa.ai/docs."""

from __future__ import annotations

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, listed


def request(query: str, limit: int, key: str) -> Request:
    contents: Json = {"highlights": {"maxCharacters": 500}}
    body: Json = {"query": query, "numResults": limit, "type": "auto", "contents": contents}
    return Request("/search", body=body, headers={"x-api-key": key})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    """A result without highlights may have its text or a summary."""
    rows = listed(body, "results")
    return None if rows is None else [_raw_hit(row) for row in rows]


def _raw_hit(row: Json) -> RawHit:
    snippet = row.get("highlights") or row.get("summary") or row.get("text")
    return RawHit(row.get("url"), row.get("title"), snippet, row.get("publishedDate"))


API = SearchApi(
    name="exa",
    key_variable="EXA_API_KEY",
    base_url="https://api.exa.ai",
    most=100,
    longest_query=2000,
    pace=Pace(per_second=5.0),
    request=request,
    found=found,
)
