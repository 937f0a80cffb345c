"""The web as a store keeps it: what was asked before is answered from the store, byte for byte.

With something to ask, what the store lacks is asked for and its outcome kept, a failure too. A
page or result stands once it is kept; a failure stands for as long as this object lives and is
tried again by the next one. Without anything to ask, what the store lacks is a ToolError.
Guaranteed: several who ask the same at the same time get the same outcome, from one request.
Not covered: what was cancelled before it came is not kept.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TypeVar

import httpx

from agent_env.errors import SearchError, ToolError
from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.pages import Hit, Page
from agent_env.web.addresses import shortened_url
from agent_env.web.page_store import SqlitePages
from agent_env.web.store_file import Failure

MOST_CACHED = 16
Recorded = TypeVar("Recorded", Page, list[Hit])


_WRITTEN_SO = re.compile(
    r"https?://(?!.*xn--)[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]+(?:/(?!\.)[A-Za-z0-9_~.-]*)+"
)
"""Addresses that have one writing; the others are parsed."""


def page_key(url: str) -> str:
    """One writing of an address, under which its page is kept; without its fragment."""
    text = url.strip()
    if _WRITTEN_SO.fullmatch(text):
        return text
    try:
        parsed_url = httpx.URL(text)
        if parsed_url.scheme in ("http", "https") and parsed_url.raw_host:
            return str(parsed_url.copy_with(raw_path=parsed_url.raw_path, fragment=None))
    except (httpx.InvalidURL, ValueError):
        pass
    return text.partition("#")[0]


class StoredFetcher:
    """The Fetcher over a store, and over `inner` for what the store lacks."""

    def __init__(self, store: SqlitePages, inner: Fetcher | None = None) -> None:
        self._store = store
        self._inner = inner
        self._turns = _Turns()
        self._tried: set[str] = set()

    async def fetch(self, url: str) -> Page:
        key = page_key(url)
        if self._inner is None:
            recorded = self._store.outcome(key)
            if recorded is None and self._store.version(key) is not None:
                day = self._store.as_of
                raise ToolError(f"{shortened_url(url)} did not exist on {day}; open another page")
            if recorded is None:
                raise ToolError(
                    f"{shortened_url(url)} is not stored, and this run fetches no new pages; "
                    "open another page"
                )
            return _unwrap(recorded)
        async with self._turns.of(key):
            recorded = self._store.recorded(key)
            if recorded is None or (isinstance(recorded, Failure) and key not in self._tried):
                outcome = await self._asked(self._inner, url)
                recorded = self._store.keep(key, outcome, now())
            self._tried.add(key)
        return _unwrap(recorded)

    async def _asked(self, inner: Fetcher, url: str) -> Page | Failure:
        try:
            return await inner.fetch(url)
        except ToolError as exc:
            return Failure(str(exc))


class StoredSearch:
    """The SearchProvider over a store, and over `inner` for what the store lacks."""

    def __init__(self, store: SqlitePages, name: str, inner: SearchProvider | None = None) -> None:
        self.name = name
        self._store = store
        self._inner = inner
        self._turns = _Turns()
        self._tried: set[tuple[str, int]] = set()

    async def search(self, query: str, limit: int) -> list[Hit]:
        words = " ".join(query.split())
        if self._inner is None:
            recorded = self._store.searched(self.name, words, limit)
            if recorded is None:
                raise ToolError(
                    "this search is not stored, and this run makes no new ones; "
                    "continue with the pages that you have"
                )
            return _unwrap(recorded)
        async with self._turns.of(words):
            recorded = self._store.searched(self.name, words, limit)
            tried = (words, limit) in self._tried
            if recorded is None or (isinstance(recorded, Failure) and not tried):
                outcome = await self._asked(self._inner, query, limit)
                recorded = self._store.keep_search(self.name, words, limit, outcome, now())
            self._tried.add((words, limit))
        return _unwrap(recorded)

    async def _asked(self, inner: SearchProvider, query: str, limit: int) -> list[Hit] | Failure:
        try:
            return await inner.search(query, limit)
        except ToolError as exc:
            return Failure(str(exc))


class ToldSearch:
    """A SearchProvider whose lasting failures end no episode: the model reads them as a failed
    call, and the user is told of each kind once."""

    def __init__(self, inner: SearchProvider, note: Callable[[str], None]) -> None:
        self.name = inner.name
        self._inner = inner
        self._note = note
        self._noted: set[str] = set()

    async def search(self, query: str, limit: int) -> list[Hit]:
        try:
            return await self._inner.search(query, limit)
        except SearchError as exc:
            if str(exc) not in self._noted:
                self._noted.add(str(exc))
                self._note(f"search failed: {exc}")
            raise ToolError(f"{exc}. Only the user can mend it; do without this search") from exc


class CachedFetcher:
    """A Fetcher that gives the pages opened last again, so that an episode which reads a page in
    several windows reads one page."""

    def __init__(self, inner: Fetcher, most: int = MOST_CACHED) -> None:
        self._inner = inner
        self._most = most
        self._pages: dict[str, Page] = {}

    async def fetch(self, url: str) -> Page:
        key = page_key(url)
        page = self._pages.pop(key, None) or await self._inner.fetch(url)
        self._pages[key] = page
        if len(self._pages) > self._most:
            del self._pages[next(iter(self._pages))]
        return page


class _Turns:
    """One at a time for each key; what nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        lock, waiting = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            _, waiting = self._locks[key]
            if waiting == 1:
                del self._locks[key]
            else:
                self._locks[key] = lock, waiting - 1


def _unwrap(recorded: Recorded | Failure) -> Recorded:
    if isinstance(recorded, Failure):
        raise ToolError(recorded.error)
    return recorded


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
