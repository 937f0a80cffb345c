"""The contract of a search provider."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from agent_env.errors import ConfigError, SearchError, ToolError
from agent_env.protocols import SearchProvider
from agent_env.records.pages import Hit
from agent_env.runs.waiting import wait_for
from agent_env.testing.fakes import raise_findings, raised
from agent_env.web.plugin import PluginSearch
from agent_env.web.providers.catalogue import make_provider
from agent_env.wiring.trust import own_plugins

LIMIT = 3
STRANGE = ("", " ", '"', "\0", "a" * 2000, "site:", "２月 שבת \u202e")
"""Queries that models write, too."""


def check_search(
    provider: SearchProvider | type[SearchProvider] | str, *, query: str = "moon"
) -> None:
    """Checks a search provider: an object or class with `search`, or a NAME as for `--search`.

    `query` gives at least one Hit and never more than asked for; a hit has an http address and a
    title; whatever the query, hits come back, or a ToolError or SearchError.
    """
    instance = _opened(provider)
    raise_findings(f"search provider {instance.name}", wait_for(_findings(instance, query)))


def _opened(provider: Any) -> SearchProvider:
    if isinstance(provider, str):
        return make_provider(provider, plugins=own_plugins())
    if isinstance(getattr(provider, "name", None), str) and not isinstance(provider, type):
        return provider  # type: ignore[no-any-return]
    adapter = PluginSearch.of(provider, getattr(provider, "__name__", type(provider).__name__))
    if adapter is None:
        raise ConfigError(f"{provider!r} is not a search provider; give it `search`")
    return adapter


async def _findings(provider: SearchProvider, query: str) -> list[str]:
    findings: list[str] = []
    try:
        for limit in (LIMIT, 1):
            hits = await provider.search(query, limit)
            findings += _of_hits(hits, limit, query)
        if not hits:
            findings.append(f"query '{query}' gave nothing; pass query= with one that has results")
    except Exception as exc:  # the code of others
        findings.append(f"query '{query}' raised {raised(exc)}")
    for strange in STRANGE:
        try:
            findings += _of_hits(await provider.search(strange, LIMIT), LIMIT, strange[:20])
        except (ToolError, SearchError):
            continue
        except Exception as exc:  # the code of others
            findings.append(
                f"query {strange[:20]!r} raised {raised(exc)}; raise a ToolError where the model "
                "can mend it, else a SearchError"
            )
    return findings


def _of_hits(hits: object, limit: int, query: str) -> Iterator[str]:
    if not isinstance(hits, list) or not all(isinstance(hit, Hit) for hit in hits):
        yield f"query '{query}' gave something other than a list of Hit"
        return
    if len(hits) > limit:
        yield f"query '{query}' gave {len(hits)} hits where {limit} were asked for"
    for hit in hits:
        if not hit.url.startswith(("http://", "https://")):
            yield f"query '{query}': '{hit.url}' is not an http address and cannot be opened"
        if not hit.title.strip():
            yield f"query '{query}': {hit.url} has no title; give its address where there is none"
        if hit.published is not None and not _is_date(hit.published):
            yield f"query '{query}': {hit.url} is of '{hit.published}'; write YYYY-MM-DD, or None"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
