"""Tantivy finds what FTS5 finds, and is made once for each content."""

import asyncio

import pytest

from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.sealed import as_page
from agent_env.features.facts.site.render import render_all
from agent_env.testing import page
from agent_env.web import built as sealed_index
from agent_env.web.built import MARK, TantivyText, index_of, make_index
from agent_env.web.full_text import FullText, words_of
from agent_env.web.page_store import SqlitePages

WORLD = make_world(150, seed=2)
PAGES = [as_page(sheet) for sheet in render_all(WORLD)]


def stored(file, pages):
    store = SqlitePages(file)
    store.put_all(pages)
    return store


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return TantivyText.build(stored(tmp_path_factory.mktemp("index") / "i.db", PAGES), print)


@pytest.fixture(scope="module")
def fts5():
    return FullText.in_memory(PAGES)


def find(index, query, limit=5):
    return asyncio.run(index.search(query, limit))


def test_it_finds_the_pages_of_a_person_and_of_an_event_as_fts5_does(index, fts5):
    common = all_ = 0
    for query in [row.person for row in WORLD.people] + [row.event for row in WORLD.events]:
        ours, theirs = ({hit.url for hit in find(i, query, 10)} for i in (index, fts5))
        common, all_ = common + len(ours & theirs), all_ + len(theirs)
        assert find(index, query)[0].snippet
    assert common / all_ > 0.6


def test_the_page_titled_as_the_query_comes_before_shorter_pages_that_say_it_more_often(tmp_path):
    rows = (
        ("Ola Berg", "Ola was born. " + "She painted. " * 400),
        ("Ola Berg as mayor begins", "Ola Berg, mayor Ola Berg."),
        ("Ola Berg as mayor ends", "Ola Berg, mayor Ola Berg."),
    )
    pages = [page(f"https://a.example/{n}", text, title) for n, (title, text) in enumerate(rows, 1)]
    other = FullText.in_memory(pages)
    for index in (other, TantivyText.build(stored(tmp_path / "i.db", pages), print)):
        assert [hit.url[-1] for hit in find(index, "Ola Berg", 2)] == ["1", "2"]
        assert [hit.url[-1] for hit in find(index, "Ola Berg mayor ends", 1)] == ["3"]


@pytest.mark.parametrize("query", ["", '"', "AND OR NOT", "a* (b", "x" * 400, "的", "the of and"])
def test_no_query_breaks_it(index, query):
    assert isinstance(find(index, query), list)


def test_it_gives_the_pages_with_all_words_as_fts5_does(index, fts5):
    for row in WORLD.events[:20]:
        words = words_of(row.event)
        assert sorted(index.with_words(words)) == sorted(fts5.with_words(words)) != []
    assert list(index.with_words([])) == list(index.with_words(["nowhereatall"])) == []


def test_it_is_made_again_only_for_another_content(tmp_path):
    file = tmp_path / "pages.db"
    store, notes = stored(file, PAGES[:5]), []
    TantivyText.build(store, notes.append)
    assert find(TantivyText.build(store, notes.append), PAGES[0].title)
    assert notes == [f"indexing the pages of {file}"]
    store.put_all(PAGES[5:6])
    assert find(TantivyText.build(store, notes.append), PAGES[5].title)
    assert (len(notes), (tmp_path / "pages.db.tantivy" / MARK).read_text()) == (2, store.digest())


def test_a_large_store_takes_it_and_one_that_cannot_be_written_beside_says_why(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sealed_index, "MANY", 3)
    store, notes = stored(tmp_path / "pages.db", PAGES[:9]), []
    make_index(store, notes.append)
    assert (type(index_of(store, notes.append)), len(notes)) == (TantivyText, 1)
    other = stored(tmp_path / "other.db", PAGES[:9])
    (tmp_path / "other.db.tantivy").write_text("in the way")
    assert isinstance(index_of(other, notes.append), FullText)
    assert notes[-1].startswith("9 pages are searched by FTS5: cannot keep the search index")


def test_without_the_extra_fts5_serves_and_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed_index, "MANY", 3)
    monkeypatch.setattr(sealed_index, "find_spec", lambda name: None)
    store, notes = stored(tmp_path / "pages.db", PAGES[:9]), []
    said = "9 pages are searched by FTS5; faster: pip install 'agent-env[search]'"
    make_index(store, notes.append)  # as an import does, and then as a run
    assert notes == [said]
    assert find(index_of(store, notes.append), PAGES[0].title)
    assert notes == [said, said]


def test_an_index_that_lacks_pages_is_not_used(tmp_path):
    store = stored(tmp_path / "pages.db", PAGES[:3])
    make_index(store, print)
    store.put_all(PAGES[3:4])
    assert find(index_of(store, print), PAGES[3].title)[0].url == PAGES[3].url
    make_index(store, print)
    assert FullText(store.connection).size() == 4
