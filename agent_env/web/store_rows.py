"""The rows of a page store, as values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_env.records.pages import Hit

COLUMNS = (
    "asked, url, fetched_at, status, content_type, headers, fetches.body, fetches.text, "
    "extractor, title, language, published, modified, error, stands"
)
"""Of `fetches`, in the order of Fetch's fields."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was said where a page or a search could not be had."""

    error: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """One row of the store: what an address gave, without the bytes."""

    asked: str
    url: str
    """Where redirects led."""
    fetched_at: str
    status: int | None = None
    content_type: str | None = None
    headers: str | None = None
    """JSON object."""
    digest: str | None = None
    """Of the bytes."""
    text_digest: str | None = None
    extractor: str | None = None
    title: str | None = None
    language: str | None = None
    published: str | None = None
    modified: str | None = None
    error: str | None = None
    """Why there is no page."""
    stands: bool = True
    """Whether this is what the address gives; else it is an earlier or another store's answer."""


@dataclass(frozen=True, slots=True)
class Search:
    """One stored search."""

    provider: str
    query: str
    limit: int
    searched_at: str
    hits: tuple[Hit, ...] | None
    error: str | None


def as_fetch(row: tuple[Any, ...]) -> Fetch:
    """From the columns; sqlite3.DatabaseError where a stranger's file holds something else."""
    fetch = replace(Fetch(*row), stands=bool(row[-1]))
    needed, others = row[:3], (*row[4:5], *row[6:-1])
    is_sound = all(isinstance(value, str) for value in needed)
    is_sound &= all(isinstance(value, str | None) for value in others)
    if not is_sound or not isinstance(fetch.status, int | None):
        raise sqlite3.DatabaseError("a row of its fetches holds values of another type")
    if fetch.headers is not None and not _is_headers(fetch.headers):
        raise sqlite3.DatabaseError("a row of its fetches holds headers that are none")
    return fetch


def _is_headers(text: object) -> bool:
    """Whether it is a JSON object of texts."""
    try:
        headers = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return False
    return isinstance(headers, dict) and all(isinstance(v, str) for v in headers.values())


def failed_fetch(asked: str, failure: Failure, at: str) -> Fetch:
    """The row of a page that could not be had."""
    return Fetch(asked, asked, at, error=failure.error)


def as_search(row: tuple[Any, ...]) -> Search:
    """From the columns of `searches`; sqlite3.DatabaseError as above."""
    provider, query, limit, at, hits, error = row
    texts = all(isinstance(value, str) for value in (provider, query, at))
    if not texts or not isinstance(limit, int) or not isinstance(error, str | None):
        raise sqlite3.DatabaseError("a row of its searches holds values of another type")
    return Search(provider, query, limit, at, None if hits is None else hits_of(hits), error)


def same_fetch(one: Fetch, other: Fetch) -> bool:
    """Whether two rows tell of the same fetch."""
    return (one.url, one.digest, one.text_digest, one.error, one.fetched_at) == (
        other.url, other.digest, other.text_digest, other.error, other.fetched_at
    )  # fmt: skip


def packed_hits(hits: Sequence[Hit]) -> str:
    rows = [hit.model_dump(include={"url", "title", "snippet", "published"}) for hit in hits]
    return json.dumps(rows, ensure_ascii=False)


def hits_of(text: object) -> tuple[Hit, ...]:
    """sqlite3.DatabaseError for what `packed_hits` did not write."""
    try:
        if isinstance(text, str):
            return tuple(Hit(**row) for row in json.loads(text))
    except (ValueError, TypeError, RecursionError):
        pass
    raise sqlite3.DatabaseError("a row of its searches holds results that are none")
