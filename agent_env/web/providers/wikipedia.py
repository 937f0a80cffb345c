"""Wikipedia's full-text search, or any wiki's with the same paths: mediawiki.org/wiki/API:Search.

Another language is another base URL, like https://de.wikipedia.org.
"""

from __future__ import annotations

from urllib.parse import quote

from pydantic import JsonValue

from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi, listed

PLAIN = ";@$!*(),/~:"  # what a wiki leaves as it is in its own addresses


def request(query: str, limit: int, key: str) -> Request:
    parameters = {
        "action": "query",
        "list": "search",
        "srsearch": query,
        "srlimit": str(limit),
        "srprop": "snippet",
        "format": "json",
        "formatversion": "2",
    }
    return Request("/w/api.php", parameters)


def found(body: Json, base_url: str) -> list[RawHit] | None:
    query = body.get("query")
    rows = listed(query, "search") if isinstance(query, dict) else None
    if rows is None:
        return None
    return [
        RawHit(_address(row.get("title"), base_url), row.get("title"), row.get("snippet"))
        for row in rows
    ]


def _address(title: JsonValue, base_url: str) -> str | None:
    if not isinstance(title, str) or not title:
        return None
    return f"{base_url}/wiki/{quote(title.replace(' ', '_'), safe=PLAIN, errors='replace')}"


API = SearchApi(
    name="wikipedia",
    base_url="https://en.wikipedia.org",
    most=50,
    longest_query=300,
    pace=Pace(per_second=2.0, at_once=1),
    request=request,
    found=found,
    denied="give a contact (an e-mail address or URL), as its user agent policy asks",
)
