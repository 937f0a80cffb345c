"""The sealed web: every fact is proved by a page, and the first look often misleads."""

import asyncio
from pathlib import Path

import pytest

from agent_env.errors import ToolError
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.families.time_puzzles.generator import evidence_of
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.tables.articles import article_url, event_title
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.web.extract import extract
from agent_env.wiring.registry import load_family

TABLES = shipped_tables()


def test_articles_are_there_and_extraction_keeps_their_text(web):
    misled = 0
    for row in TABLES.events:
        hits = asyncio.run(web.search.search(row.hint or row.event, 5))
        misled += not hits or hits[0].url != article_url(event_title(row.event))
    assert misled / len(TABLES.events) >= 1 / 3
    for puzzle in make_set(TABLES, SetOptions(12, 5)).puzzles:
        assert puzzle.evidence == evidence_of(puzzle.facts)
        for url in puzzle.evidence:
            assert asyncio.run(web.fetch(url)).text
    with pytest.raises(ToolError, match=r"there is no page at https://elsewhere\.example/"):
        asyncio.run(web.fetch("https://elsewhere.example/"))
    html = b"""<html><head><title>T &amp; U</title></head><body><nav>Menu</nav><main>
    <h1>Head</h1><p>One <b>two</b> <a href="https://a.example/">three</a>.</p>
    <table><tr><th>First day</th><td>2 April 1982</td></tr></table>
    <ul><li>point</li></ul><script>x()</script></main><footer>end</footer></body></html>"""
    found = extract(html)
    assert found.title == "T & U"
    assert found.text.splitlines() == [
        "Head",
        "One two three <https://a.example/>.",
        "First day: 2 April 1982",
        "- point",
    ]


def test_a_web_of_the_same_tables_is_the_same_web(tmp_path):
    tables = load_family("tdbench").make_samples(2, 7, TdbenchOptions(rows=80)).tables
    built = SealedWeb.build(Path(":memory:"), TABLES, temporal=tables)
    copy = SealedWeb.shipped(Path(":memory:"), tables)
    assert copy.store.digest() == built.store.digest()
    assert copy.search.size() == built.search.size() > 1300
    first = SealedWeb.shipped(tmp_path / "pages.db")
    urls = list(first.store.urls())
    first.close()
    second = SealedWeb.shipped(tmp_path / "pages.db")
    assert list(second.store.urls()) == urls
    assert len(asyncio.run(second.search.search("Apollo 11 mission", 3))) == 3
    second.close()


@pytest.mark.parametrize("query", ["", '"', "AND OR NOT", "a* (b", "x" * 400, "的", "NEAR(a b)"])
def test_no_query_breaks_the_search(web, query):
    assert isinstance(asyncio.run(web.search.search(query, 5)), list)
