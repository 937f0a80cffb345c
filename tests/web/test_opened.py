"""What a web knows of its results beside their own words."""

import asyncio

from agent_env.testing import page
from agent_env.web.full_text import FullText
from agent_env.web.opened import Web
from agent_env.web.page_store import SqlitePages
from agent_env.web.stored import StoredFetcher, StoredSearch

A = "https://a.example/"


def test_a_recorded_result_is_judged_without_its_page_in_the_recording_and_in_the_frozen_run(
    tmp_path,
):
    store = SqlitePages(tmp_path / "pages.db")
    web = Web(StoredSearch(store, "brave"), StoredFetcher(store), True, store)
    before = web.stored_page(A)
    asyncio.run(store.put(page(A, "Text.")))
    assert (before, web.stored_page(A)) == (None, None)


def test_a_result_of_the_search_over_stored_pages_has_its_page(tmp_path):
    store = SqlitePages(tmp_path / "pages.db")
    asyncio.run(store.put(page(A, "Text.")))
    index = FullText.in_memory([page(A, "Text.")])
    web = Web(index, StoredFetcher(store), True, store, index.index)
    assert (web.stored_page(A).text, web.stored_page(A + "other")) == ("Text.", None)
