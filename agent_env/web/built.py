"""A web that was built into a store, and its full-text search; nothing leaves the machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from agent_env.errors import ConfigError, StorageError, ToolError
from agent_env.records.pages import Page
from agent_env.web.full_text import FullText
from agent_env.web.opened import Web
from agent_env.web.page_store import SqlitePages
from agent_env.web.tantivy_text import TantivyText

MANY = 50_000
"""Pages above which tantivy is used."""
BATCH = 500
"""Pages that are written in one transaction."""


def choose_index(
    file: Path, connection: sqlite3.Connection, content: str, note: Callable[[str], None]
) -> FullText | TantivyText:
    """The search over a store; `note` hears why a large one is served by the slower kind."""
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


class PagesOfDay(Protocol):
    """What a built web serves on a day."""

    def urls(self) -> Iterator[str]: ...
    def as_web(self) -> Web: ...


class BuiltWeb:
    """Fetcher over a store that is never added to, with the search over it."""

    def __init__(
        self, store: SqlitePages, search: FullText | TantivyText, is_new: bool = False
    ) -> None:
        self.store = store
        self.search = search
        self.is_new = is_new
        """Whether its file had no page."""

    @classmethod
    def begun(cls, file: Path, image: Callable[[], bytes] | None = None) -> Self:
        """The web in `file`, to be built where that is new; a new one begins as the image."""
        store = SqlitePages(file)
        is_new = next(store.urls(), None) is None
        if is_new and image is not None:
            store.copy_from(image())
        return cls(store, FullText(store.connection), is_new)

    @classmethod
    def opened(cls, file: Path, note: Callable[[str], None] = lambda text: None) -> Self:
        """The web that was built in `file`, for reading; ConfigError where it is none. `note` hears
        where a large one is searched by the slower of two indexes."""
        store = SqlitePages(file, read_only=True)
        cursor = store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'search'")
        if cursor.fetchone() is None:
            store.close()
            raise ConfigError(
                f"{file} is no built web: it has no search index; "
                "for pages that a run recorded use --web frozen"
            )
        return cls(store, choose_index(file, store.connection, store.digest(), note))

    def add(self, pages: Iterable[Page]) -> int:
        """Stores and indexes all pages, a batch at a time; how many."""
        assert isinstance(self.search, FullText)  # as of one that was begun
        rest, count = iter(pages), 0
        while batch := list(islice(rest, BATCH)):
            self.store.put_all(batch)
            self.search.add(batch)
            count += len(batch)
        self.search.finish()
        return count

    async def fetch(self, url: str) -> Page:
        page = await self.store.get(url.split("#", 1)[0].strip())
        if page is None:
            raise self.no_page(url)
        return page

    @staticmethod
    def no_page(url: str) -> ToolError:
        """That there is none."""
        return ToolError(f"there is no page at {url}; open addresses that web_search gave")

    def urls(self) -> Iterator[str]:
        """All addresses."""
        return self.store.urls()

    def on(self, day: str) -> PagesOfDay:
        """The web as it was on that day, YYYY-MM-DD; ConfigError where it has no such day."""
        raise ConfigError("this sealed web has no days; leave --today out")

    def close(self) -> None:
        """Gives the file back."""
        self.store.close()

    def as_web(self) -> Web:
        """What tools search and open; its store is to be closed."""
        return Web(
            self.search,
            self,
            foreign=False,
            store=self.store,
            index=self.search.index,
            days=lambda day: self.on(day).as_web(),
        )
