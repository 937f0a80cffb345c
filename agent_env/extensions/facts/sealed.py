"""The sealed web: pages rendered from fact tables, searched without a network.

Retrieval takes work: for many events an outdated copy, a thing of the same name or a later
commemoration ranks above the article. What those pages say beside the article is invented and
marked so on the page.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from agent_env.extensions.facts.site.render import render_all
from agent_env.extensions.facts.site.sheet import DEFAULT, LEVELS, Difficulty, Sheet
from agent_env.extensions.facts.tables.tables import FactTables, shipped_tables
from agent_env.sdk.errors import ConfigError, StorageError, ToolError
from agent_env.sdk.records import MaterialTable
from agent_env.sdk.web import FullText, Page, SqlitePages, TantivyText, Web

MANY = 50_000
"""Pages above which tantivy is used."""


def choose_index(
    file: Path, connection: sqlite3.Connection, content: str, note: Callable[[str], None]
) -> FullText | TantivyText:
    """The search over a store; `note` gets why a large one is served by the slower kind."""
    built_in = FullText(connection)
    count = built_in.size()
    if count <= MANY:
        return built_in
    if find_spec("tantivy") is None:
        note(f"{count} pages are searched by FTS5; faster: pip install 'agent-env[search]'")
        return built_in
    try:
        folder = file.with_name(f"{file.name}.tantivy")
        return TantivyText.build(folder, content, built_in.texts())
    except StorageError as exc:
        note(f"{count} pages are searched by FTS5: {exc}")
        return built_in


BUILT_AT = "2026-01-01T00:00:00Z"
"""The time all sealed pages bear, so that the same tables give the same store."""
RENDERED = "rendered"
"""The extractor of pages whose text was written along with their HTML."""
NO_TABLES = FactTables((), (), ())
BATCH = 500
"""Pages that are written in one transaction."""


class SealedWeb:
    """Fetcher over a store that is never added to, with the search over it."""

    def __init__(self, store: SqlitePages, search: FullText | TantivyText) -> None:
        self._store = self.store = store
        self.search = search

    @classmethod
    def build(
        cls,
        file: Path,
        tables: FactTables,
        level: Difficulty = LEVELS[DEFAULT],
        temporal: Sequence[MaterialTable] = (),
    ) -> SealedWeb:
        """Open the sealed web in `file`, rendering it first where the file is new."""
        store = SqlitePages(file)
        index = FullText(store.connection)
        if next(store.urls(), None) is None:
            fill(store, index, render_all(tables, level, temporal))
        return cls(store, index)

    @classmethod
    def shipped(cls, file: Path, temporal: Sequence[MaterialTable] = ()) -> SealedWeb:
        """The web of the shipped tables and of temporal ones in `file`, copied there first where
        the file is new."""
        store = SqlitePages(file)
        is_new = next(store.urls(), None) is None
        if is_new:
            store.copy_from(shipped_image())
        index = FullText(store.connection)
        if is_new and temporal:
            fill(store, index, render_all(NO_TABLES, temporal=temporal))
        return cls(store, index)

    @classmethod
    def opened(cls, file: Path, note: Callable[[str], None] = lambda text: None) -> SealedWeb:
        """The sealed web that was built in `file`, for reading; ConfigError where it is none.
        `note` gets a line where a large one is searched by the slower of two indexes."""
        store = SqlitePages(file, read_only=True)
        cursor = store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'")
        if cursor.fetchone() is None:
            store.close()
            raise ConfigError(
                f"{file} is no built web: it has no search index; "
                "for pages that a run recorded use --web frozen"
            )
        return cls(store, choose_index(file, store.connection, store.digest(), note))

    async def fetch(self, url: str) -> Page:
        page = await self._store.get(url.split("#", 1)[0].strip())
        if page is None:
            raise ToolError(f"there is no page at {url}; open addresses that web_search gave")
        return page

    def urls(self) -> Iterator[str]:
        """All addresses."""
        return self._store.urls()

    def close(self) -> None:
        """Give the file back."""
        self._store.close()


def open_sealed(
    built: Path | None,
    file: Path,
    tables: Sequence[MaterialTable] = (),
    note: Callable[[str], None] = lambda text: None,
) -> Web:
    """The sealed web in `built`; without one the shipped web, in `file`, with pages of those
    `tables` that are temporal. ConfigError where `built` is none. Its store is to be closed."""
    if built is not None:
        web = SealedWeb.opened(built, note)
    else:
        web = SealedWeb.shipped(file, [table for table in tables if table.is_temporal])
    return Web(web.search, web, foreign=False, store=web.store, index=web.search.index)


@cache
def shipped_image() -> bytes:
    """A store of the shipped tables' pages, built once per process."""
    web = SealedWeb.build(Path(":memory:"), shipped_tables())
    try:
        return web.store.connection.serialize()
    finally:
        web.close()


def fill(store: SqlitePages, index: FullText, sheets: Iterable[Sheet]) -> int:
    """Store and index pages, a batch at a time; how many."""
    rest, count = iter(sheets), 0
    while batch := [as_page(sheet) for sheet in islice(rest, BATCH)]:
        store.put_all(batch)
        index.add(batch)
        count += len(batch)
    index.finish()
    return count


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
