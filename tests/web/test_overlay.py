"""The web of one episode with pages gone, changed or put in."""

from __future__ import annotations

import asyncio

import pytest

from agent_env.errors import ToolError
from agent_env.records.pages import Hit, Page
from agent_env.web.overlay import Overlay, OverlayFetcher, OverlaySearch, text_digest


def page(url: str, text: str, title: str = "A page") -> Page:
    return Page(
        url=url, status=200, content_type="text/html", body=text.encode(), title=title, text=text,
        fetched_at="2026-01-01T00:00:00Z",
    )  # fmt: skip


class Web:
    """Four pages, ranked by their numbers; /old leads to /1."""

    name = "four"

    def __init__(self) -> None:
        self.pages = {f"https://w.example/{n}": page(f"https://w.example/{n}", f"text {n}")
                      for n in range(1, 5)}  # fmt: skip
        self.pages["https://w.example/old"] = self.pages["https://w.example/1"]
        self.pages["https://copy.example/1"] = page("https://copy.example/1", "text\n  1")

    async def search(self, query: str, limit: int) -> list[Hit]:
        hits = [Hit(url=f"https://w.example/{n}", title="A page", snippet="") for n in range(1, 5)]
        return hits[:limit]

    async def fetch(self, url: str) -> Page:
        return self.pages[url.partition("#")[0]]


def found(overlay: Overlay, limit: int = 3, query: str = "text") -> list[str]:
    return [hit.url for hit in asyncio.run(OverlaySearch(Web(), overlay).search(query, limit))]


def opened(overlay: Overlay, url: str) -> Page:
    return asyncio.run(OverlayFetcher(Web(), overlay).fetch(url))


GONE = Overlay(frozenset({"https://w.example/1"}), texts=frozenset({text_digest("text 1")}))


def test_a_page_that_is_gone_is_not_found_and_the_next_one_takes_its_place() -> None:
    assert found(GONE) == [f"https://w.example/{n}" for n in (2, 3, 4)]


@pytest.mark.parametrize(
    "url",
    [
        "https://w.example/1", "https://w.example/1#part", "HTTPS://W.EXAMPLE/1",
        "https://w.example/old", "https://copy.example/1",
    ],
)  # fmt: skip
def test_it_is_opened_by_no_writing_of_its_address_no_redirect_and_no_copy(url: str) -> None:
    with pytest.raises(ToolError, match="there is no page at"):
        opened(GONE, url)


def test_every_other_page_stays() -> None:
    assert opened(GONE, "https://w.example/2").text == "text 2"


def test_a_page_stands_where_search_ranked_the_one_that_it_replaces() -> None:
    new = page("https://w.example/new", "text of another day")
    overlay = Overlay(
        frozenset({"https://w.example/2"}),
        {"https://w.example/new": new},
        {"https://w.example/2": "https://w.example/new"},
    )
    assert found(overlay) == [f"https://w.example/{n}" for n in ("1", "new", "3")]
    assert opened(overlay, "https://w.example/new").text == "text of another day"


def test_a_page_in_place_of_the_webs_own_is_shown_with_its_own_words() -> None:
    overlay = Overlay(pages={"https://w.example/1": page("https://w.example/1", "changed text")})
    (hit,) = asyncio.run(OverlaySearch(Web(), overlay).search("text", 1))
    assert (hit.url, hit.snippet) == ("https://w.example/1", "changed text")


def test_a_further_page_comes_first_where_it_is_to_and_a_word_fits() -> None:
    url = "https://planted.example/a"
    overlay = Overlay(pages={url: page(url, "a false word")}, ranks={url: 1})
    assert found(overlay, query="false date of it")[0] == url
    assert url not in found(overlay, limit=9, query="unrelated")
