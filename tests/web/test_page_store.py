"""The page store: each body once, crash-safe, exact."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agent_env.testing import page
from agent_env.web.page_store import SqlitePages


def test_a_page_comes_back_as_it_was_put(tmp_path: Path) -> None:
    store = SqlitePages(tmp_path / "pages.db")
    put = page("https://a.example/", "Text.")
    digest = asyncio.run(store.put(put))
    assert asyncio.run(store.get("https://a.example/")) == put
    assert digest == hashlib.sha256(put.body).hexdigest()
    assert asyncio.run(store.get("https://b.example/")) is None
    store.close()


def test_the_same_body_at_two_addresses_is_kept_once(tmp_path: Path) -> None:
    store = SqlitePages(tmp_path / "pages.db")
    store.put_all([page("https://a.example/", "Text."), page("https://b.example/", "Text.")])
    (count,) = store.connection.execute("SELECT count(*) FROM bodies").fetchone()
    assert count == 1
    store.close()


def test_what_was_put_is_there_after_opening_again(tmp_path: Path) -> None:
    store = SqlitePages(tmp_path / "pages.db")
    asyncio.run(store.put(page("https://a.example/", "Text.")))
    store.close()
    again = SqlitePages(tmp_path / "pages.db")
    assert asyncio.run(again.get("https://a.example/")) is not None
    again.close()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives(text: str) -> None:
    store = SqlitePages(Path(":memory:"))
    put = page("https://a.example/", text)
    asyncio.run(store.put(put))
    assert asyncio.run(store.get("https://a.example/")) == put
    store.close()
