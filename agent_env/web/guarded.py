"""The web of one episode, seen through its guard."""

from __future__ import annotations

from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.pages import Hit, Page
from agent_env.web.guards import Guard


class GuardedFetcher:
    """A Fetcher whose pages bear what the guard saw."""

    def __init__(self, inner: Fetcher, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    async def fetch(self, url: str) -> Page:
        return self._guard.page(await self._inner.fetch(url))


class GuardedSearch:
    """A SearchProvider whose results bear what the guard saw."""

    def __init__(self, inner: SearchProvider, guard: Guard) -> None:
        self.name = inner.name
        self._inner = inner
        self._guard = guard

    async def search(self, query: str, limit: int) -> list[Hit]:
        return [self._guard.hit(hit) for hit in await self._inner.search(query, limit)]
