"""Blocked and shifted webs: no page is left that says the date, and each says the other one. The
web of one episode with pages gone, changed or put in."""

import asyncio
import re
from random import Random

import pytest

from agent_env.errors import ToolError
from agent_env.families.time_puzzles.shift import shifted_world
from agent_env.features.evidence.ablation import proving_pages
from agent_env.features.evidence.overlay import (
    Overlay,
    OverlayFetcher,
    OverlaySearch,
    overlay_of,
    text_digest,
)
from agent_env.features.facts.tables.articles import article_url, event_title
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.records.disturbance import ChangedPage, Disturbance, SampleAblation, SampleAttack
from agent_env.records.pages import Hit, Page
from agent_env.records.schema import Sample, World
from agent_env.scoring.evidence import stands_in
from agent_env.testing import page
from agent_env.web.full_text import FullText
from agent_env.web.opened import Web
from tests.families.time_puzzles.sets import generate

TABLES = shipped_tables()
BLOCKED = Disturbance(suffix="blocked", ablation="blocked")
SHIFTED = Disturbance(suffix="shifted", ablation="shifted")


@pytest.fixture(scope="module")
def texts(web):
    outcomes = ((url, web.store.outcome(url)) for url in web.store.urls())
    return {url: page for url, page in outcomes if isinstance(page, Page)}


PUZZLES = generate(TABLES, 8, seed=3)


@pytest.fixture(scope="module")
def ablated(web, texts):
    index, known = FullText(web.store.connection), {url: page.text for url, page in texts.items()}

    def in_other_webs(puzzle):
        blocked = proving_pages(puzzle, web.store, index)
        shifted = shifted_world(puzzle, TABLES, Random(1), known.get)
        ablation = SampleAblation(blocked=blocked, shifted=shifted)
        return puzzle.model_copy(update={"ablation": ablation})

    return tuple(map(in_other_webs, PUZZLES))


def pages_under(overlay, texts):
    """All pages that the web has with the overlay."""
    kept = {url: page for url, page in texts.items() if url not in overlay.gone}
    return list((kept | dict(overlay.pages)).values())


def saying(pages, title, dates):
    """Those that name the thing and write one of its dates, by no means of the code's own."""
    return [
        page.url
        for page in pages
        if title.casefold() in f"{page.title}\n{page.text}".casefold()
        and any(stands_in(date, page.text) for date in dates if len(date) == 10)
    ]


def overlay(sample, disturbance, web):
    found = overlay_of(sample, disturbance, web.store)
    assert found is not None
    return found


def test_no_page_of_another_web_says_the_plain_date(ablated, web, texts):
    for puzzle in ablated:
        left = pages_under(overlay(puzzle, BLOCKED, web), texts)
        assert len(left) > 1300
        for proof in puzzle.proofs:
            title = texts[proof.urls[0]].title
            assert saying(list(texts.values()), title, proof.dates) or proof.shares == "years"
            assert saying(left, title, proof.dates) == []
    for puzzle in ablated:
        shifted = overlay(puzzle, SHIFTED, web)
        left, twin = pages_under(shifted, texts), puzzle.in_world(World(is_shifted=True))
        url = article_url(event_title(puzzle.event))
        (plain,) = (proof for proof in puzzle.proofs if url in proof.urls)
        (other,) = (proof for proof in twin.proofs if url in proof.urls)
        assert plain.dates != other.dates
        assert saying(left, event_title(puzzle.event), plain.dates) == []
        fetcher = OverlayFetcher(Web(web.search, web, foreign=False), shifted)
        for proving in other.urls:
            page = asyncio.run(fetcher.fetch(proving))
            assert all(stands_in(date, page.text) for date in other.dates), (puzzle.id, proving)
        for gone in set(plain.urls) - set(other.urls) - set(shifted.pages):
            with pytest.raises(ToolError):
                asyncio.run(fetcher.fetch(gone))


def of_things(hits):
    """Titles, without the pages of years, months and days, which are others there."""
    titles = (re.sub(r"\d{4}s$", "", hit.title) for hit in hits)  # lists go by decades
    return [t for t in titles if not re.search(r"^(?:[A-Z][a-z]+ )?\d{4}$|^On this day", t)]


def test_other_webs_rank_and_place_their_pages(ablated, web):
    row = {row.event: row for row in TABLES.events}
    for puzzle in ablated:
        query = row[puzzle.event].hint or puzzle.event
        search = OverlaySearch(Web(web.search, web, foreign=False), overlay(puzzle, SHIFTED, web))
        plain = asyncio.run(web.search.search(query, 5))
        shifted = asyncio.run(search.search(query, 5))
        ranked = [of_things(hits)[:3] for hits in (plain, shifted)]
        if of_things(plain[:1]):
            assert ranked[0] == ranked[1]
        else:  # the next page of the site takes the place of the first, a month's, which is gone
            assert query == "the blaze that wrecked a wooden city in Illinois"
            assert sorted(ranked[0]) == sorted(ranked[1])
    sample = Sample(id="a", task="t", gold=(), evidence=("https://elsewhere.example/",))
    assert proving_pages(sample, web.store, None) == ()
    assert proving_pages(sample, None, None) == ("https://elsewhere.example/",)
    assert found(GONE) == [f"https://w.example/{n}" for n in (2, 3, 4)]
    second, url = "https://w.example/2", "https://w.example/new"
    laid = Overlay(frozenset({second}), {url: page(url, "text of another day")}, {second: url})
    assert found(laid) == [f"https://w.example/{n}" for n in ("1", "new", "3")]
    assert opened(laid, url).text == "text of another day"
    url = "https://planted.example/a"
    false = ChangedPage(was=None, url=url, title="A page", text="a false word")
    for name, rank in (("false-page", 1), ("contradiction", 2)):
        own = {"name": name, "planted": ("x",), "pages": (false,), "ranks": {url: rank}}
        attacked = sample.model_copy(update={"attacks": (SampleAttack(variant="1", **own),)})
        its = Disturbance(suffix=f"attacked-{name}", attack=name)
        assert overlay_of(attacked, its.model_copy(update={"attack": "instruction"}), None) is None
        laid = overlay(attacked, its, web)
        assert found(laid, query="false date of it").index(url) == rank - 1
        assert url not in found(laid, limit=9, query="unrelated")
        assert opened(laid, url).text == "a false word"


class FourPages:
    """Four pages, ranked by their numbers; /old leads to /1."""

    name = "four"

    def __init__(self):
        made = (page(f"https://w.example/{n}", f"text {n}") for n in range(1, 5))
        self.pages = {page.url: page for page in made}
        self.pages["https://w.example/old"] = self.pages["https://w.example/1"]
        self.pages["https://copy.example/1"] = page("https://copy.example/1", "text\n  1")

    async def search(self, query, limit):
        hits = [Hit(url=f"https://w.example/{n}", title="A page", snippet="") for n in range(1, 5)]
        return hits[:limit]

    async def fetch(self, url):
        return self.pages[url.partition("#")[0]]


PAGES = FourPages()
FOUR = Web(PAGES, PAGES, foreign=False)


def found(overlay, limit=3, query="text"):
    return [hit.url for hit in asyncio.run(OverlaySearch(FOUR, overlay).search(query, limit))]


def opened(overlay, url):
    return asyncio.run(OverlayFetcher(FOUR, overlay).fetch(url))


GONE = Overlay(frozenset({"https://w.example/1"}), texts=frozenset({text_digest("text 1")}))


@pytest.mark.parametrize(
    "url",
    [
        "https://w.example/1", "https://w.example/1#part", "HTTPS://W.EXAMPLE/1",
        "https://w.example/old", "https://copy.example/1",
    ],
)  # fmt: skip
def test_it_is_opened_by_no_writing_of_its_address_no_redirect_and_no_copy(url):
    with pytest.raises(ToolError, match="there is no page at"):
        opened(GONE, url)
