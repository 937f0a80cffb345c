"""Tantivy finds what FTS5 finds, and is made once for each content."""

import asyncio
import sqlite3

import pytest

from agent_env.extensions.facts.fiction.world import make_world
from agent_env.extensions.facts.sealed import as_page
from agent_env.extensions.facts.site.render import render_all
from agent_env.web import built as sealed_index
from agent_env.web.built import MARK, TantivyText, choose_index
from agent_env.web.full_text import FullText

WORLD = make_world(150, seed=2)
PAGES = [as_page(sheet) for sheet in render_all(WORLD)]
TEXTS = [(page.url, page.title, page.text) for page in PAGES]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return TantivyText.build(tmp_path_factory.mktemp("index") / "i", "one", TEXTS)


def find(index, query, limit=5):
    return asyncio.run(index.search(query, limit))


def test_it_finds_the_pages_of_a_person_and_of_an_event_as_fts5_does(index):
    fts5 = FullText(sqlite3.connect(":memory:"))
    fts5.add(PAGES)
    common = all_ = 0
    for query in [row.person for row in WORLD.people] + [row.event for row in WORLD.events]:
        ours, theirs = ({hit.url for hit in find(i, query, 10)} for i in (index, fts5))
        common, all_ = common + len(ours & theirs), all_ + len(theirs)
        assert find(index, query)[0].snippet
    assert common / all_ > 0.6


def page_with(url, title, text):
    return PAGES[0].model_copy(update={"url": url, "title": title, "text": text})


def test_the_page_titled_as_the_query_comes_before_shorter_pages_that_say_it_more_often(tmp_path):
    texts = [
        ("https://a.example/1", "Ola Berg", "Ola Berg was born in Ny. " + "She painted. " * 400),
        ("https://a.example/2", "Ola Berg as mayor begins", "Ola Berg, mayor Ola Berg."),
        ("https://a.example/3", "Ola Berg as mayor ends", "Ola Berg, mayor Ola Berg."),
    ]
    fts5 = FullText(sqlite3.connect(":memory:"))
    fts5.add(page_with(*each) for each in texts)
    for index in (fts5, TantivyText.build(tmp_path / "i", "two", texts)):
        assert [hit.url[-1] for hit in find(index, "Ola Berg", 2)] == ["1", "2"]
        assert [hit.url[-1] for hit in find(index, "Ola Berg mayor ends", 1)] == ["3"]


@pytest.mark.parametrize("query", ["", '"', "AND OR NOT", "a* (b", "x" * 400, "的", "the of and"])
def test_no_query_breaks_it(index, query):
    assert isinstance(find(index, query), list)


def test_it_is_made_again_only_for_another_content(tmp_path):
    folder = tmp_path / "i"
    TantivyText.build(folder, "one", TEXTS[:5])
    opened = TantivyText.build(folder, "one", iter(()))
    assert find(opened, TEXTS[0][1])
    changed = TantivyText.build(folder, "two", iter(()))
    assert (find(changed, TEXTS[0][1]), (folder / MARK).read_text()) == ([], "two")
    assert [path.name for path in tmp_path.iterdir()] == ["i"]


def test_a_large_store_takes_it_and_one_that_cannot_be_written_beside_says_why(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sealed_index, "MANY", 3)
    connection = sqlite3.connect(tmp_path / "pages.db")
    FullText(connection).add(PAGES[:9])
    notes = []
    found = choose_index(tmp_path / "pages.db", connection, "one", notes.append)
    assert (type(found), notes) == (TantivyText, [])
    (tmp_path / "other.db.tantivy").write_text("in the way")
    assert isinstance(choose_index(tmp_path / "other.db", connection, "o", notes.append), FullText)
    assert notes[0].startswith("9 pages are searched by FTS5: cannot keep the search index")


def test_without_the_extra_fts5_serves_and_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed_index, "MANY", 3)
    monkeypatch.setattr(sealed_index, "find_spec", lambda name: None)
    connection = sqlite3.connect(tmp_path / "pages.db")
    FullText(connection).add(PAGES[:9])
    notes = []
    assert isinstance(choose_index(tmp_path / "p", connection, "one", notes.append), FullText)
    assert notes == ["9 pages are searched by FTS5; faster: pip install 'agent-env[search]'"]
