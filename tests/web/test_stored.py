"""The web as a store keeps it: asked once, the same for all, never asked where there is none."""

import asyncio
from pathlib import Path

import pytest

from agent_env.errors import SearchError, ToolError
from agent_env.records.pages import Hit
from agent_env.testing import page
from agent_env.web.full_text import FullText
from agent_env.web.opened import Web
from agent_env.web.page_store import SqlitePages
from agent_env.web.stored import CachedFetcher, StoredFetcher, StoredSearch, ToldSearch, page_key

A = "https://a.example/"


class Changing:
    """Another page, or another failure, at every fetch; other hits, or an error, at each search."""

    def __init__(self, error=None):
        self.error = error
        self.asked = []
        self.name = "counting"

    async def fetch(self, url):
        self.asked.append(url)
        number = len(self.asked)
        await asyncio.sleep(0.01)
        if self.error:
            raise self.error(f"failed {number}")
        return page("https://final.example/", f"Number {number}.")

    async def search(self, query, limit):
        self.asked.append((query, limit))
        if self.error:
            raise self.error
        return [Hit(url=f"{A}{n}", title=f"{len(self.asked)}", snippet="") for n in range(limit)]


@pytest.fixture
def store():
    return SqlitePages(Path(":memory:"))


async def test_many_who_ask_at_once_get_one_page_by_one_request(store):
    live = Changing()
    kept = StoredFetcher(store, live)
    asks = (kept.fetch(url) for url in [A, f"{A}#part", " HTTPS://A.EXAMPLE ", A] * 5)
    assert {got.text for got in list(await asyncio.gather(*asks))} == {"Number 1."}
    assert len(live.asked) == 1


def test_frozen_gives_what_was_kept_and_asks_nobody(store):
    recorded = asyncio.run(StoredFetcher(store, Changing()).fetch(A))
    frozen = StoredFetcher(store)
    assert asyncio.run(frozen.fetch(A)) == recorded
    assert asyncio.run(frozen.fetch("https://final.example/")) == recorded
    with pytest.raises(ToolError, match=r"https://b.example/ is not stored"):
        asyncio.run(frozen.fetch("https://b.example/"))


async def test_a_failure_stands_for_a_run_and_is_tried_again_by_the_next(store):
    run = StoredFetcher(store, Changing(ToolError))
    for fetcher in (run, run, run, StoredFetcher(store)):
        with pytest.raises(ToolError, match=r"^failed 1$"):
            await fetcher.fetch(A)
    assert (await StoredFetcher(store, Changing()).fetch(A)).text == "Number 1."


async def test_a_fetch_that_is_cancelled_is_not_kept_and_frees_the_next(store):
    kept = StoredFetcher(store, Changing())
    first = asyncio.create_task(kept.fetch(A))
    second = asyncio.create_task(kept.fetch(A))
    await asyncio.sleep(0.001)
    first.cancel()
    assert (await second).text == "Number 2."
    assert not kept._turns._locks


async def test_searches_are_asked_once_and_frozen_after(store):
    live = Changing()
    kept = StoredSearch(store, "counting", live)
    first = await kept.search("full  moon", 3)
    assert await kept.search(" full moon", 3) == first
    assert await kept.search("full moon", 2) == first[:2]
    assert live.asked == [("full  moon", 3)]
    frozen = StoredSearch(store, "counting")
    assert await frozen.search("full moon", 2) == first[:2]
    with pytest.raises(ToolError, match="this search is not stored"):
        await frozen.search("new moon", 2)


async def test_a_search_that_only_the_user_can_mend_is_a_tool_error_and_noted_once(store):
    notes, problem = [], "brave refused access; check the key in BRAVE_API_KEY"
    inner = Changing(SearchError(problem))
    kept = StoredSearch(store, "counting", ToldSearch(inner, notes.append))
    for query in ("a", "b") * 2:
        with pytest.raises(ToolError) as caught:
            await kept.search(query, 5)
        advice = "Only the user can mend it; do without this search"
        assert str(caught.value) == f"{problem}. {advice}"
    assert notes == [f"search failed: {problem}"]
    assert len(inner.asked) == 2


def test_an_episode_reads_one_page_in_all_its_windows():
    live = Changing()
    remembered = CachedFetcher(live, most=2)
    texts = [asyncio.run(remembered.fetch(url)).text for url in (A, A, f"{A}#x", f"{A}2", f"{A}3")]
    assert texts == ["Number 1."] * 3 + ["Number 2.", "Number 3."]
    assert asyncio.run(remembered.fetch(A)).text == "Number 4."


async def test_a_result_has_its_page_where_stored_pages_are_searched_and_is_judged_without(store):
    """A recording's is judged without it before and after it is fetched, and so in frozen runs."""
    web = Web(StoredSearch(store, "brave"), StoredFetcher(store), True, store)
    before = web.stored_page(A)
    await store.put(page(A, "Text."))
    assert (before, web.stored_page(A)) == (None, None)
    index = FullText.in_memory([page(A, "Text.")])
    web = Web(index, StoredFetcher(store), True, store, index.index)
    assert (web.stored_page(A).text, web.stored_page(A + "other")) == ("Text.", None)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("HTTPS://A.Example:443#x", "https://a.example/"),
        ("https://a.example/%7Ex?b=1&a=2#f", "https://a.example/%7Ex?b=1&a=2"),
        (" not a url#x ", "not a url"),
        ("http://[::1", "http://[::1"),
        ("", ""),
    ],
)
def test_an_address_has_one_key(url, key):
    assert page_key(url) == key
    assert page_key(key) == key
