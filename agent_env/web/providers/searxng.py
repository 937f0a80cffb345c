"""A SearXNG of one's own: docs.searxng.org/dev/search_api. It gives as many results as it has."""

from __future__ import annotations

from agent_env.errors import ToolError
from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, found_in, listed
from agent_env.web.providers.client import plain


def request(query: str, limit: int, key: str) -> Request:
    return Request("/search", {"q": query, "format": "json"})


def found(body: Json, base_url: str) -> list[RawHit] | None:
    """Nothing found while engines are down is not an answer: ToolError names the engines."""
    hits = found_in(listed(body, "results"), "url", "title", "content", "publishedDate")
    silent = body.get("unresponsive_engines")
    if hits == [] and isinstance(silent, list) and silent:
        names = ", ".join(
            plain(each[:1] if isinstance(each, list) else each, "") for each in silent
        )
        raise ToolError(
            f"the search found nothing, but these engines did not answer: {names[:200]}; "
            "try again later or with other words"
        )
    return hits


API = SearchApi(
    name="searxng",
    url_variable="SEARXNG_BASE_URL",
    base_url=None,
    most=100,
    longest_query=2000,
    pace=Pace(per_second=2.0),
    request=request,
    found=found,
    denied="add json to search.formats in its settings.yml, and let this client past its limiter",
)
