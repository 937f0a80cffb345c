"""The web of a run, by mode: sealed, live, record, frozen.

sealed   a built web and the full-text search over it; nothing leaves the machine
live     a search provider and the network; nothing is kept
record   the same, but what was asked is kept in a store and asked for once
frozen   the store alone: what it lacks is an error that the model reads, and is never fetched; as
         of a day, the versions of that day
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.manifest import WebSettings
from agent_env.records.pages import Page
from agent_env.records.reach import Reach
from agent_env.registry import Plugins
from agent_env.web.addresses import parse_target
from agent_env.web.full_text import FullText
from agent_env.web.page_store import SqlitePages
from agent_env.web.plugin import FETCHERS, HTTP, OF_A_DAY, WIKI_REVISIONS, PluginFetcher
from agent_env.web.stored import StoredFetcher, StoredSearch, ToldSearch, page_key

MODES = ("sealed", "live", "record", "frozen")
STORED = "stored"
"""The search of frozen runs that looks through the stored pages by full text."""


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """What the environment says of the search provider."""

    key: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Web:
    """What the tools of a run search and open."""

    search: SearchProvider
    fetcher: Fetcher
    foreign: bool
    """Whether the pages are other people's, and not built by us."""
    store: SqlitePages | None = None
    index: str | None = None
    """What searches stored pages, as run.json names it."""
    days: Callable[[str], Web] | None = None
    """Gives the web as it was on a day; None where pages know no day."""

    def on(self, day: str | None) -> Web:
        """The web of a world in which it is this day."""
        return self if day is None or self.days is None else self.days(day)

    def stored_page(self, url: str) -> Page | None:
        """The page of a result of a search over stored pages. None for another search's: what a
        store comes to hold while it records must not change how a result is judged."""
        store = None if self.index is None else self.store
        outcome = None if store is None else store.outcome(page_key(url))
        return outcome if isinstance(outcome, Page) else None


async def open_live(
    settings: WebSettings,
    access: ProviderAccess,
    file: Path | None,
    note: Callable[[str], None],
    stack: AsyncExitStack,
    plugins: Plugins,
) -> Web:
    """The live web; with a file, what it gives is kept there."""
    assert settings.search is not None  # asked for before the run began
    from agent_env.web.providers.catalogue import make_provider

    provider = make_provider(
        settings.search,
        access.key,
        settings.search_url,
        plugins=plugins,
        environment_url=access.base_url,
    )
    stack.push_async_callback(provider.close)
    search = ToldSearch(provider, note)
    fetcher = _fetcher(settings, stack, plugins)
    if file is None:
        return Web(search, fetcher, foreign=True)
    store = SqlitePages(file, as_of=settings.as_of)
    stack.callback(store.close)
    kept = StoredFetcher(store, fetcher)
    return Web(StoredSearch(store, search.name, search), kept, True, store)


def _fetcher(settings: WebSettings, stack: AsyncExitStack, plugins: Plugins) -> Fetcher:
    fetcher = plugins.find(FETCHERS, settings.fetcher or HTTP)
    if isinstance(fetcher, PluginFetcher):
        stack.push_async_callback(fetcher.close)
        return fetcher
    permit, hosts = plugins.permit, frozenset(settings.allow_hosts)
    if settings.fetcher not in OF_A_DAY:
        return fetcher(permit=permit, obey_robots=settings.obey_robots, open_hosts=hosts)
    from agent_env.web.fetch import HttpFetcher

    if (url := settings.fetcher_url) is not None:
        import httpx

        site = parse_target(url, frozenset({httpx.URL(url).netloc.decode()})).site
        permit, hosts = permit.implying((Reach.ADDRESS, url), Reach.HOST, site), hosts | {site}
    assert settings.as_of is not None  # refused before the run began
    obeys = settings.obey_robots and settings.fetcher != WIKI_REVISIONS  # its API is for programs
    return fetcher(
        HttpFetcher(permit=permit, obey_robots=obeys, open_hosts=hosts), settings.as_of, url
    )


def open_frozen(settings: WebSettings, file: Path, stack: AsyncExitStack) -> Web:
    """The stored web; ConfigError where it cannot be read. Of no day, it gives the web of each."""
    store = SqlitePages(file, read_only=True, as_of=settings.as_of)
    stack.callback(store.close)
    assert settings.search is not None  # chosen before the run began

    @cache
    def on(day: str) -> Web:
        search = settings.search if day in store.recorded_days() else STORED
        of_day = settings.model_copy(update={"as_of": day, "search": search})
        return open_frozen(of_day, file, stack)

    days = on if settings.as_of is None else None
    fetcher = StoredFetcher(store)
    if settings.search == STORED:
        search = _full_text(store, stack)
        return Web(search, fetcher, True, store, search.index, days)
    return Web(StoredSearch(store, settings.search), fetcher, True, store, days=days)


def stored_search(store: SqlitePages, provider: str | None) -> str:
    """The search of a frozen run: the one wanted, or the one provider whose results are stored. As
    of a day for which no run recorded it is by full text: results have no versions."""
    if provider is None and store.as_of is not None and store.as_of not in store.recorded_days():
        return STORED
    names = sorted({search.provider for search in store.searches()})
    if provider == STORED or provider in names:
        return str(provider)
    if provider is None and len(names) == 1:
        return names[0]
    content = f"results of {', '.join(names)}" if names else "no search results"
    raise ConfigError(
        f"{store.file} holds {content}; say which to use: "
        f"--search {' or --search '.join([*names, STORED])}"
    )


def _full_text(store: SqlitePages, stack: AsyncExitStack) -> FullText:
    """An index in memory over the text of every stored page."""
    dated = sorted(
        store.fetches(), key=lambda row: (store.as_of is not None and row.valid_from) or ""
    )
    rows = {row.url: row for row in dated if row.error is None}
    index = FullText.in_memory(store.page(row) for row in rows.values())
    stack.callback(index.close)
    index.name = STORED
    return index
