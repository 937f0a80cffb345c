"""The page fetchers by name: ours, which asks by HTTP, and plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_env.registry import Registry
from agent_env.web.plugin import PluginFetcher

if TYPE_CHECKING:
    from agent_env.web.fetch import HttpFetcher

HTTP = "http"


def _fetcher(thing: Any, name: str) -> type[HttpFetcher] | PluginFetcher | None:
    return thing if name == HTTP else PluginFetcher.of(thing, name)


FETCHERS: Registry[type[HttpFetcher] | PluginFetcher] = Registry(
    "page fetcher",
    "page_fetchers",
    "an object with `fetch`",
    _fetcher,
    lambda: {HTTP: "agent_env.web.fetch:HttpFetcher"},
)
