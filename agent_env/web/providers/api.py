"""What one search service's API looks like, as data: all that differs between the providers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

Json = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Request:
    """One search as it is sent: by POST where there is a body, else by GET."""

    path: str
    """Joined to the base URL."""
    parameters: dict[str, str] = field(default_factory=dict)
    body: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RawHit:
    """One result as the service wrote it; anything may be missing or of a wrong type."""

    url: JsonValue
    title: JsonValue
    snippet: JsonValue
    """Text, or a list of texts."""
    day: JsonValue = None
    """When the page was published, in any notation."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a service is asked."""

    per_second: float
    """Requests started in a second, of all searches together."""
    at_once: int = 4
    """Requests in flight."""


@dataclass(frozen=True, slots=True)
class SearchApi:
    """One search service."""

    name: str
    """As on the command line."""
    base_url: str | None
    """Where it is; None where every user has one of their own."""
    most: int
    """Results that one request may ask for."""
    longest_query: int
    """Characters."""
    pace: Pace
    """What the smallest plan allows."""
    request: Callable[[str, int, str], Request]
    """Of query, number of results and key (empty where the service has none)."""
    found: Callable[[Json, str], list[RawHit] | None]
    """The results in a reply; None where the reply is of another service. Gets the base URL too."""
    key_variable: str = ""
    """The environment variable of the key; empty where there is none."""
    url_variable: str = ""
    """The environment variable of the base URL, where there is no common one."""
    timeout_s: float | None = None
    """For one request, where it needs longer than others'."""
    denied: str = ""
    """What the user can do about a 401 or 403, where it is not about a key."""


def listed(body: Json, name: str) -> list[Json] | None:
    """The objects of the list in a field: none for null, None where there is no such list."""
    if name not in body:
        return None
    value = body[name]
    if value is None:
        return []
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else None


def found_in(
    rows: list[Json] | None, url: str, title: str, snippet: str, day: str = ""
) -> list[RawHit] | None:
    """The results in rows that have these fields."""
    if rows is None:
        return None
    return [RawHit(row.get(url), row.get(title), row.get(snippet), row.get(day)) for row in rows]
