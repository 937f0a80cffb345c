"""Plugged-in search providers and page fetchers; what they raise is named by its line.

They reach the network by themselves: the limits, the rules for addresses and robots.txt, and the
keys that `web.fetch` and `web.providers` keep to are theirs to keep.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Self

from agent_env.errors import AgentEnvError, EpisodeError, SearchError, ToolError, place_of
from agent_env.foreign_calls import Overdue, call
from agent_env.protocols import Fetcher
from agent_env.records.pages import Hit, Page
from agent_env.registry import Registry

TIMEOUT_S = 60.0


class _Plugin:
    """An object of somebody else's, or what its class or function makes."""

    method = ""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        self.name = name

    @classmethod
    def of(cls, thing: Any, name: str) -> Self | None:
        """None for an object without the method."""
        inner = thing() if inspect.isclass(thing) and hasattr(thing, cls.method) else thing
        return cls(inner, name) if hasattr(inner, cls.method) else None

    async def ask(self, *arguments: Any) -> Any:
        """What the method gives; ToolError and the like pass, anything else is named."""
        function: Callable[..., Any] = getattr(self._inner, self.method)
        try:
            return await call(self.name, TIMEOUT_S, function, *arguments)
        except AgentEnvError:
            raise
        except Overdue as exc:
            raise ToolError(f"{self.name} gave nothing within {TIMEOUT_S:g} s") from exc
        except Exception as exc:  # the code of others
            where = f" at {place}" if (place := place_of(exc)) else ""
            raise self.error(f"{self.name} raised {type(exc).__name__}: {exc}{where}") from exc

    def error(self, text: str) -> EpisodeError:
        return EpisodeError(text)

    async def close(self) -> None:
        """Closes what was plugged in, where it wants that."""
        if (close := getattr(self._inner, "close", None)) is not None:
            await close()


class PluginSearch(_Plugin):
    """A SearchProvider of somebody else's."""

    method = "search"

    async def search(self, query: str, limit: int) -> list[Hit]:
        hits: Sequence[Any] = await self.ask(query, limit)
        if not isinstance(hits, Sequence) or not all(isinstance(hit, Hit) for hit in hits):
            raise SearchError(f"{self.name} gave something other than a list of Hit")
        return list(hits)[:limit]

    def error(self, text: str) -> EpisodeError:
        return SearchError(text)


class PluginFetcher(_Plugin):
    """A Fetcher of somebody else's."""

    method = "fetch"

    async def fetch(self, url: str) -> Page:
        page = await self.ask(url)
        if not isinstance(page, Page):
            raise EpisodeError(f"{self.name} gave a {type(page).__name__}, not a Page")
        return page


HTTP = "http"
"""Our own page fetcher."""
MEMENTO = "memento"
WIKI_REVISIONS = "wiki-revisions"
OF_A_DAY = (MEMENTO, WIKI_REVISIONS)
"""Those that give pages as they were on a day, from an address that the user may name."""
_BUILT_IN = {
    HTTP: "agent_env.web.fetch:HttpFetcher",
    MEMENTO: "agent_env.web.memento:MementoFetcher",
    WIKI_REVISIONS: "agent_env.web.wiki_revisions:WikiRevisions",
}


def _fetcher(thing: Any, name: str) -> Callable[..., Fetcher] | PluginFetcher | None:
    return thing if name in _BUILT_IN else PluginFetcher.of(thing, name)


FETCHERS: Registry[Callable[..., Fetcher] | PluginFetcher] = Registry(
    "page fetcher",
    "page_fetchers",
    "an object with `fetch`",
    _fetcher,
    lambda: _BUILT_IN,
)
"""The page fetchers by name: ours, which ask by HTTP, and plug-ins."""
