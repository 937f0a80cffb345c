"""The web of one episode with some pages gone and others put in or in place of its own.

Guaranteed: what is gone is neither found nor opened, by any writing of its address, by an address
that leads to it, or as the same text elsewhere; where search ranked a page that another stands for,
it shows the other one. Not covered: what snippets of further pages say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from agent_env.sdk.errors import ToolError
from agent_env.sdk.records import Disturbance, Sample
from agent_env.sdk.web import ChangedPage, Hit, Page, SqlitePages, Web, hit_of, page_key, words_of


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
    """Opens pages of the web with the overlay."""

    def __init__(self, web: Web, overlay: Overlay) -> None:
        self._inner = web.fetcher
        self._overlay = overlay

    async def fetch(self, url: str) -> Page:
        key, overlay = page_key(url), self._overlay
        if (page := overlay.pages.get(key)) is not None:
            return page
        if key not in overlay.gone:
            page = await self._inner.fetch(url)
            if not overlay.lacks(page):
                return page
        raise ToolError(f"there is no page at {url.strip()}; open addresses that web_search gave")


class OverlaySearch:
    """Searches the web with the overlay. On our own web, results that are gone make room for the
    next ones; stored results are as many as were asked for and have no next ones."""

    def __init__(self, web: Web, overlay: Overlay) -> None:
        self.name = web.search.name
        self._inner = web.search
        self._overlay = overlay
        self._spare = 0 if web.foreign else len(overlay.gone)

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
            return hit_of(page, words)
        return None if key in overlay.gone else hit

    def _own_hits(self, words: list[str]) -> list[Hit]:
        """The further pages that the query finds, which stand for none of the web's."""
        overlay = self._overlay
        further = set(overlay.pages) - set(overlay.shown_for.values()) - overlay.gone
        pages = [page for url, page in overlay.pages.items() if url in further]
        hits = [
            hit_of(page, () if page_key(page.url) in overlay.ranks and _shares_word(page, words)
                   else words)
            for page in pages
            if words
        ]  # fmt: skip
        return [hit for hit in hits if hit is not None]


def _successor(hit: Hit, others: list[Hit]) -> Hit | None:
    """What took over what a page no longer says, as where a list goes by decades: a page that the
    query finds on the same site."""
    site = urlsplit(hit.url).netloc
    return next((other for other in others if urlsplit(other.url).netloc == site), None)


def _shares_word(page: Page, words: list[str]) -> bool:
    own = set(words_of(f"{page.title} {page.text}"))
    return any(word in own for word in words if len(word) > 3)


RENDERED = "rendered"


def overlaid(web: Web, sample: Sample, disturbance: Disturbance) -> Web:
    """The web with what the ablation or attack makes of it for the sample."""
    overlay = overlay_of(sample, disturbance, web.store)
    if overlay is None:
        return web
    return replace(web, search=OverlaySearch(web, overlay), fetcher=OverlayFetcher(web, overlay))


def overlay_of(
    sample: Sample, disturbance: Disturbance, store: SqlitePages | None
) -> Overlay | None:
    """What the ablation or attack makes of the web for the sample; None where nothing."""
    its = sample.ablation
    for attack in sample.attacks:
        if disturbance.attack == attack.name:
            ranks = {page_key(url): rank for url, rank in attack.ranks.items()}
            return replace(shifted_overlay(attack.pages), ranks=ranks)
    if disturbance.ablation is None or its is None:
        return None
    if disturbance.ablation == "blocked":
        # the overlay without these pages and without copies of what the store has of them
        gone = frozenset(map(page_key, its.blocked))
        pages = [page for url in gone if (page := stored_page(store, url)) is not None]
        leading = frozenset(page_key(page.url) for page in pages)
        return Overlay(gone | leading, texts=frozenset(text_digest(page.text) for page in pages))
    return None if its.shifted is None else shifted_overlay(its.shifted.pages)


def shifted_overlay(pages: Iterable[ChangedPage]) -> Overlay:
    """The overlay with these pages in place of the web's own."""
    changed = [page for page in pages if page.url is not None]
    own = {page_key(page.url or ""): _as_page(page) for page in changed}
    gone = frozenset(page_key(page.was) for page in pages if page.was is not None) - own.keys()
    shown = {page_key(page.was): page_key(page.url or "") for page in changed if page.was}
    return Overlay(gone, own, {was: url for was, url in shown.items() if was != url})


def _as_page(changed: ChangedPage) -> Page:
    return Page(
        url=changed.url or "",
        status=200,
        content_type="text/plain; charset=utf-8",
        body=changed.text.encode(),
        title=changed.title,
        text=changed.text,
        fetched_at="2026-01-01T00:00:00Z",
        extractor=RENDERED,
    )


def stored_page(store: SqlitePages | None, url: str) -> Page | None:
    """What the store has at the address; None for nothing."""
    outcome = None if store is None else store.outcome(url)
    return outcome if isinstance(outcome, Page) else None


def stored_text(store: SqlitePages | None, url: str) -> str | None:
    """The text that the store has at the address; None without a page."""
    page = stored_page(store, url)
    return None if page is None else page.text
