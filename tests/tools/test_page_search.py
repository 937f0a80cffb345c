"""Finding words in a page."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.testing import MemoryPages, page
from agent_env.tools.builtin.open_page import OpenPage, find

A = "https://a.example/"
LONG = "one " * 200 + "The   treaty\nwas signed. " + "two " * 2000 + "the TREATY was broken."


def use(text, words):
    tool = OpenPage(MemoryPages([page(A, text)]), window=1000)
    return asyncio.run(tool.run({"url": A, "find": words}))


def test_places_come_with_what_stands_around_them_or_what_to_try():
    told = use(LONG, "treaty was").output.split("\n\n")
    assert told[0] == f"A page\n{A}"
    assert told[1].startswith("[Window 1] … one one ")
    assert "The treaty was signed. two" in told[1]
    assert told[2].startswith("[Window 9] … two ")
    assert told[2].endswith("the TREATY was broken.")
    assert told[3] == "[Places with these words: 2.]"
    assert "does not have these words" in use(LONG, "armistice").output
    assert len(find("a b " * 50, "a b").excerpts) == 1
    many = find(("x " * 400 + "here ") * 30, "here")
    assert (many.count, len(many.excerpts)) == (30, 8)


@settings(max_examples=40)
@given(st.text(max_size=300), st.text(max_size=20))
def test_what_is_shown_holds_the_words(text, words):
    places = find(text, words)
    assert (places.count > 0) == bool(places.excerpts)
    if places.excerpts and len(text) < 200:
        shown = " ".join(part for _, part in places.excerpts)
        assert " ".join(words.split()).casefold()[:1] in shown.casefold()
