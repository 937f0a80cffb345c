"""The sealed web: pages rendered from fact tables, searched without a network.

Retrieval takes work: for many events an outdated copy, a thing of the same name or a later
commemoration ranks above the article. What those pages say beside the article is invented and
marked so on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from agent_env.extensions.facts.site.render import render_all
from agent_env.extensions.facts.site.sheet import DEFAULT, LEVELS, Difficulty, Sheet
from agent_env.extensions.facts.tables.tables import FactTables, shipped_tables
from agent_env.sdk.records import MaterialTable
from agent_env.sdk.web import BuiltWeb, Page

BUILT_AT = "2026-01-01T00:00:00Z"
"""The time all sealed pages bear, so that the same tables give the same store."""
RENDERED = "rendered"
"""The extractor of pages whose text was written along with their HTML."""
NO_TABLES = FactTables((), (), ())


class SealedWeb(BuiltWeb):
    """Pages rendered from fact tables."""

    @classmethod
    def build(
        cls,
        file: Path,
        tables: FactTables,
        level: Difficulty = LEVELS[DEFAULT],
        temporal: Sequence[MaterialTable] = (),
    ) -> SealedWeb:
        """Open the sealed web in `file`, rendering it first where the file is new."""
        web = cls.begun(file)
        if web.is_new:
            web.add(map(as_page, render_all(tables, level, temporal)))
        return web

    @classmethod
    def shipped(cls, file: Path, temporal: Sequence[MaterialTable] = ()) -> SealedWeb:
        """The web of the shipped tables and of temporal ones in `file`, copied there first where
        the file is new."""
        web = cls.begun(file, shipped_image)
        if web.is_new and temporal:
            web.add(map(as_page, render_all(NO_TABLES, temporal=temporal)))
        return web


def open_sealed(
    built: Path | None,
    file: Path,
    tables: Sequence[MaterialTable] = (),
    note: Callable[[str], None] = lambda text: None,
) -> BuiltWeb:
    """The sealed web in `built`; without one the shipped web, in `file`, with pages of those
    `tables` that are temporal. ConfigError where `built` is none. Its store is to be closed."""
    if built is not None:
        web = SealedWeb.opened(built, note)
    else:
        web = SealedWeb.shipped(file, [table for table in tables if table.is_temporal])
    return web


@cache
def shipped_image() -> bytes:
    """A store of the shipped tables' pages, built once per process."""
    web = SealedWeb.build(Path(":memory:"), shipped_tables())
    try:
        return web.store.connection.serialize()
    finally:
        web.close()


def as_page(sheet: Sheet) -> Page:
    """The page as it is stored; its text is the sheet's own and is not extracted again."""
    return Page(
        url=sheet.url,
        status=200,
        content_type="text/html; charset=utf-8",
        body=sheet.html.encode(),
        title=sheet.title,
        text=sheet.text,
        fetched_at=BUILT_AT,
        extractor=RENDERED,
    )
