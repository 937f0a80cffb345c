"""The web of one episode with some pages gone and others put in or in place of its own.

Guaranteed: what is gone is neither found nor opened, by any writing of its address, by an address
that leads to it, or as the same text elsewhere; where search ranked a page that another stands for,
it shows the other one. Not covered: what snippets of further pages say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agent_env.errors import ToolError
from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.pages import Hit, Page
from agent_env.web.addresses import shortened_url
from agent_env.web.full_text import covers, lead, words_of
from agent_env.web.kept import page_key


@dataclass(frozen=True, slots=True)
class Overlay:
    """What of the web is other in one episode; addresses as `page_key` writes them."""

    gone: frozenset[str] = frozenset()
    pages: Mapping[str, Page] = field(default_factory=dict)
    """By address: in place of the web's own, or further ones, which are searched too."""
    shown_for: Mapping[str, str] = field(default_factory=dict)
    """By address of a page that is gone: that of the one which search shows in its place."""
    ranks: Mapping[str, int] = field(default_factory=dict)
    """By address, the place from 1 that search gives one of `pages` where a word of the query
    of more than three letters fits."""
    texts: frozenset[str] = frozenset()
    """Digests of texts that are gone wherever they stand."""

    def lacks(self, page: Page) -> bool:
        """Whether the page that the web gave is gone, as where an address led to it."""
        return page_key(page.url) in self.gone or text_digest(page.text) in self.texts


def text_digest(text: str) -> str:
    """SHA-256 of a text's words; the same for copies that differ in white space."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


class OverlayFetcher:
    """A Fetcher over the web with the overlay."""

    def __init__(self, inner: Fetcher, overlay: Overlay) -> None:
        self._inner = inner
        self._overlay = overlay

    async def fetch(self, url: str) -> Page:
        key, overlay = page_key(url), self._overlay
        if (page := overlay.pages.get(key)) is not None:
            return page
        if key not in overlay.gone:
            page = await self._inner.fetch(url)
            if not overlay.lacks(page):
                return page
        raise ToolError(
            f"there is no page at {shortened_url(url)}; open addresses that web_search gave"
        )


class OverlaySearch:
    """A SearchProvider over the web with the overlay. With `spare`, results that are gone make room
    for the next ones; stored results are as many as were asked for and have no next ones."""

    def __init__(self, inner: SearchProvider, overlay: Overlay, spare: bool = True) -> None:
        self.name = inner.name
        self._inner = inner
        self._overlay = overlay
        self._spare = len(overlay.gone) if spare else 0

    async def search(self, query: str, limit: int) -> list[Hit]:
        words = list(dict.fromkeys(words_of(query)))
        ranks = self._overlay.ranks
        own = {page_key(hit.url): hit for hit in self._own_hits(words)}
        others = [hit for url, hit in own.items() if url not in ranks]
        found = []
        for hit in await self._inner.search(query, limit + self._spare):
            shown = self._shown(hit, words) or _successor(hit, others)
            found += [] if shown is None else [shown]
        by_url = {hit.url: hit for hit in reversed([*found, *others])}
        results = [by_url[url] for url in dict.fromkeys(hit.url for hit in [*found, *others])]
        for url in sorted(own.keys() & ranks, key=ranks.__getitem__):
            results.insert(ranks[url] - 1, own[url])
        return results[:limit]

    def _shown(self, hit: Hit, words: list[str]) -> Hit | None:
        """What search shows in the place of this result; None where it is gone, or is changed so
        that the query no longer finds it."""
        key, overlay = page_key(hit.url), self._overlay
        page = overlay.pages.get(overlay.shown_for.get(key, key))
        if page is not None:
            return hit_of(page) if covers(page.title, page.text, words) else None
        return None if key in overlay.gone else hit

    def _own_hits(self, words: list[str]) -> list[Hit]:
        """The further pages that the query finds, which stand for none of the web's."""
        overlay = self._overlay
        further = set(overlay.pages) - set(overlay.shown_for.values()) - overlay.gone
        pages = [page for url, page in overlay.pages.items() if url in further]
        return [
            hit_of(page)
            for page in pages
            if words
            and (
                covers(page.title, page.text, words)
                or (page_key(page.url) in overlay.ranks and _shares_word(page, words))
            )
        ]


def _successor(hit: Hit, others: list[Hit]) -> Hit | None:
    """What took over what a page no longer says, as where a list goes by decades: a page that the
    query finds on the same site."""
    site = urlsplit(hit.url).netloc
    return next((other for other in others if urlsplit(other.url).netloc == site), None)


def _shares_word(page: Page, words: list[str]) -> bool:
    own = set(words_of(f"{page.title} {page.text}"))
    return any(word in own for word in words if len(word) > 3)


def hit_of(page: Page) -> Hit:
    """The page as the full-text search shows it."""
    return Hit(url=page.url, title=page.title, snippet=lead(page.text))
