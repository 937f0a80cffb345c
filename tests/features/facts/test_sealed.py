"""The sealed web: every fact is proved by a page, and the first look often misleads."""

from contextlib import closing
from pathlib import Path

import pytest

from agent_env.errors import ToolError
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.families.time_puzzles.generator import evidence_of
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.tables.articles import article_url, event_title
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.wiring.registry import load_family

TABLES = shipped_tables()


async def test_articles_are_there_and_the_first_hit_often_misleads(web):
    misled = 0
    for row in TABLES.events:
        hits = await web.search.search(row.hint or row.event, 5)
        misled += not hits or hits[0].url != article_url(event_title(row.event))
    assert misled / len(TABLES.events) >= 1 / 3
    for puzzle in make_set(TABLES, SetOptions(12, 5)).puzzles:
        assert puzzle.evidence == evidence_of(puzzle.facts)
        for url in puzzle.evidence:
            assert (await web.fetch(url)).text
    with pytest.raises(ToolError, match=r"there is no page at https://elsewhere\.example/"):
        await web.fetch("https://elsewhere.example/")


async def test_a_web_of_the_same_tables_is_the_same_web(tmp_path):
    tables = load_family("tdbench").make_samples(2, 7, TdbenchOptions(rows=80)).tables
    built = SealedWeb.build(Path(":memory:"), TABLES, temporal=tables)
    copy = SealedWeb.shipped(Path(":memory:"), tables)
    assert copy.store.digest() == built.store.digest()
    assert copy.search.size() == built.search.size() > 1300
    with closing(SealedWeb.shipped(tmp_path / "pages.db")) as first:
        urls = list(first.store.urls())
    with closing(SealedWeb.shipped(tmp_path / "pages.db")) as second:
        assert list(second.store.urls()) == urls
        assert len(await second.search.search("Apollo 11 mission", 3)) == 3


@pytest.mark.parametrize("query", ["", '"', "AND OR NOT", "a* (b", "x" * 400, "的", "NEAR(a b)"])
async def test_no_query_breaks_the_search(web, query):
    assert isinstance(await web.search.search(query, 5), list)
