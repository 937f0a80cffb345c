"""The live search providers by name: each file here with its `API`, and plug-ins.

A plug-in is an SearchApi, or an object or a class with an async `search(query, limit)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError
from agent_env.permits import NOTHING, OWN_DEFAULT
from agent_env.records.reach import Reach
from agent_env.registry import Plugins, Registry
from agent_env.web.plugin import PluginSearch
from agent_env.web.providers.api import SearchApi

if TYPE_CHECKING:
    import httpx

    from agent_env.web.providers.api import Pace
    from agent_env.web.providers.client import LiveSearch, Patience

NAMES = ("brave", "tavily", "exa", "serper", "openai", "searxng", "wikipedia")


def _paths() -> Mapping[str, str]:
    return {name: f"agent_env.web.providers.{name}:API" for name in NAMES}


def _provider(thing: Any, name: str) -> SearchApi | PluginSearch | None:
    if isinstance(thing, SearchApi):
        return thing
    return PluginSearch.of(thing, name)


PROVIDERS: Registry[SearchApi | PluginSearch] = Registry(
    "search provider",
    "search_providers",
    "a SearchApi, or an object with `search`",
    _provider,
    _paths,
)


def key_variables() -> dict[str, str]:
    """By built-in provider, the environment variable of its key; none for those without."""
    keys = {name: getattr(PROVIDERS.find(name, NOTHING), "key_variable", "") for name in NAMES}
    return {name: key for name, key in keys.items() if key}


def make_provider(
    name: str,
    key: str | None = None,
    base_url: str | None = None,
    *,
    plugins: Plugins,
    environment_url: str | None = None,
    contact: str = "",
    http: httpx.AsyncClient | None = None,
    pace: Pace | None = None,
    patience: Patience | None = None,
) -> LiveSearch | PluginSearch:
    """The provider of this name; ConfigError where it, its key or its address is missing.
    `environment_url` is where the environment says that it is."""
    api = plugins.find(PROVIDERS, name)
    if isinstance(api, PluginSearch):
        if base_url:
            raise ConfigError(f"search provider {name} takes no address")
        return api
    if api.key_variable and not key:
        raise ConfigError(f"search provider {name} needs a key: set {api.key_variable}")
    from agent_env.web.providers.client import Access, LiveSearch

    address = base_url or environment_url or api.base_url
    if not address:
        variable = api.url_variable
        raise ConfigError(f"search provider {name} needs the address of your own: set {variable}")
    access_key = (key or "") if api.key_variable else ""
    access = Access(address, access_key, api.key_variable, contact)
    permit = plugins.permit
    if not base_url:
        by_default = Reach.ADDRESS, f"{name} {OWN_DEFAULT}"
        permit = permit.implying(by_default, Reach.ADDRESS, address)
    return LiveSearch(api, access, http, pace, patience, permit=permit)
