"""What a search and a fetch give."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.records.schema import Record

DateKind = Literal["published", "modified", "captured", "copyright", "unspecified"]
DateSource = Literal[
    "header", "archive", "json-ld", "meta", "time", "url", "text", "pdf", "fetcher", "search"
]


class StatedDay(Record):
    """A date that a page, its server or an archive states of the page."""

    day: str
    """YYYY-MM-DD, or YYYY-MM or YYYY where no more is stated."""
    kind: DateKind
    """`captured`: when an archive took it; `copyright`: a year of a copyright notice."""
    source: DateSource


class Page(Record):
    """One fetched document; its digest is that of its bytes."""

    url: str
    status: int
    """HTTP status."""
    content_type: str
    body: bytes
    title: str
    text: str
    """Main text as a model reads it."""
    fetched_at: str
    """ISO 8601, UTC."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Of the response, names in lower case; cookies left out."""
    language: str | None = None
    """As the page names it, such as `en` or `pt-br`."""
    published: str | None = None
    """YYYY-MM-DD, as the page states it."""
    modified: str | None = None
    """YYYY-MM-DD, as the page or its server states it."""
    dates: tuple[StatedDay, ...] | None = None
    """Every date that is stated of it; None where nobody looked."""
    valid_from: str | None = None
    """From when this version is known to hold, YYYY-MM-DDTHH:MM:SSZ; None: from `fetched_at`."""
    held_until: str | None = None
    """The latest time at which it is known to have held; None: that of `valid_from`."""
    extractor: str = ""
    """Name and version of the program that extracted the text."""
    flags: tuple[str, ...] = ()
    """Findings of the guards; they belong to one episode and are not stored with the page."""
    withheld: str | None = None
    """Why a guard withholds the page from the model; not stored either."""


class Hit(Record):
    """One search result."""

    url: str
    title: str
    snippet: str
    published: str | None = None
    """YYYY-MM-DD, as the provider states it."""
    flags: tuple[str, ...] = ()
    """Findings of the guards; they belong to one episode and are not stored."""
    withheld: str | None = None
    """Why a guard withholds the result from the model; not stored either."""
