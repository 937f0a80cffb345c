"""Web ablations: which pages prove a sample, and the overlay of its blocked or shifted world.

A page is blocked if it is a proving page, or if it states the same date of the same thing: all
words of a proving page's title stand in its own title, and the date anywhere on it; or both stand
in one line, as in a list. A date counts as stated in any usual notation, and a year also as "25
years after" on a page that tells of it that much later. What states other dates, such as an
outdated copy, stays. Of a sample that names pages and no dates, every page that names the thing is
blocked.

The web of one episode with some pages gone and others put in or in place of its own.

Guaranteed: what is gone is neither found nor opened, by any writing of its address, by an address
that leads to it, or as the same text elsewhere; where search ranked a page that another stands for,
it shows the other one. Not covered: what snippets of further pages say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from agent_env.errors import ToolError
from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.ablation import ChangedPage
from agent_env.records.disturbance import Disturbance
from agent_env.records.pages import Hit, Page
from agent_env.records.schema import Proof, Sample
from agent_env.scoring.evidence import stands_in
from agent_env.web.addresses import shortened_url
from agent_env.web.full_text import FullText, covers, lead, words_of
from agent_env.web.page_store import SqlitePages
from agent_env.web.stored import page_key


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


RENDERED = "rendered"
_LATER = re.compile(r"\b(\d{1,3}) years (?:after|later|on|since)\b")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def overlay_of(
    sample: Sample, disturbance: Disturbance | None, store: SqlitePages | None
) -> Overlay | None:
    """What the condition's ablation or attack makes of the web for the sample; None where
    nothing."""
    its = sample.ablation
    for attack in sample.attacks:
        if disturbance is not None and disturbance.attack == attack.name:
            ranks = {page_key(url): rank for url, rank in attack.ranks.items()}
            return replace(shifted_overlay(attack.pages), ranks=ranks)
    if disturbance is None or disturbance.ablation is None or its is None:
        return None
    if disturbance.ablation == "blocked":
        return _blocked(its.blocked, store)
    return None if its.shifted is None else shifted_overlay(its.shifted.pages)


def _blocked(urls: Sequence[str], store: SqlitePages | None) -> Overlay:
    """The overlay without these pages and without copies of what the store has of them."""
    gone = frozenset(map(page_key, urls))
    pages = [page for url in gone if (page := stored_page(store, url)) is not None]
    leading = frozenset(page_key(page.url) for page in pages)
    return Overlay(gone | leading, texts=frozenset(text_digest(page.text) for page in pages))


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


# Which pages prove a sample ---------------------------------------------------------------------


def proving_pages(
    sample: Sample, store: SqlitePages | None, index: FullText | None
) -> tuple[str, ...]:
    """Addresses of the store's pages that state what proves the sample; without an index, only
    those that the sample names, and without a store all of these. Empty where the store has none
    of them."""
    proofs = sample.proofs or tuple(
        Proof(constraint=0, urls=(url,), dates=(), shares="span") for url in sample.evidence
    )
    urls = dict.fromkeys((*sample.evidence, *(url for proof in proofs for url in proof.urls)))
    if store is None:
        return tuple(urls)
    own = {url: page for url in urls if (page := stored_page(store, page_key(url))) is not None}
    found = dict.fromkeys(own)
    if index is not None:
        for proof in proofs:
            for title in dict.fromkeys(own[url].title for url in proof.urls if url in own):
                found |= dict.fromkeys(_stating(index, title, proof))
    return tuple(found)


def stored_page(store: SqlitePages | None, url: str) -> Page | None:
    """What the store has at the address; None for nothing."""
    outcome = None if store is None else store.outcome(url)
    return outcome if isinstance(outcome, Page) else None


def _stating(index: FullText, title: str, proof: Proof) -> Iterator[str]:
    """The pages that state one of the proof's dates of what has this title."""
    words = set(words_of(title))
    for url, page_title, text in index.with_words(sorted(words)):
        is_about = words <= set(words_of(page_title))
        for line in text.splitlines():
            if (is_about or words <= set(words_of(line))) and _states(proof, line):
                yield url
                break


def _states(proof: Proof, line: str) -> bool:
    """Any mention counts where the sample names no dates."""
    if not proof.dates or any(stands_in(date, line) for date in proof.dates):
        return True
    told = {int(n) for n in _LATER.findall(line)}
    years = {int(year) - n for year in _YEAR.findall(line) for n in told}
    return any(int(date[:4]) in years for date in proof.dates)


def shifted_from(
    plain: Sequence[tuple[str, str, str]], shifted: Sequence[tuple[str, str, str]]
) -> tuple[ChangedPage, ...]:
    """The pages that differ between two renderings, each (address, title, text). A page at another
    address stands for the one of the same title that is gone."""
    before, after = ({url: (title, text) for url, title, text in each} for each in (plain, shifted))
    gone = {title: url for url, (title, _) in before.items() if url not in after}
    changed = []
    for url, (title, text) in after.items():
        if before.get(url) != (title, text):
            was = url if url in before else gone.pop(title, None)
            changed.append(ChangedPage(was=was, url=url, title=title, text=text))
    rest = [ChangedPage(was=url, url=None) for url in gone.values()]
    return (*changed, *rest)
