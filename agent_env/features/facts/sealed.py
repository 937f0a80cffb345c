"""The sealed web: pages rendered from fact tables, searched without a network.

Retrieval takes work: for many events an outdated copy, a thing of the same name or a later
commemoration ranks above the article. What such a page says beside the article is invented, and it
says so in its source alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import cache, cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path

from agent_env.features.facts.site.render import Memo, render_all
from agent_env.features.facts.site.sheet import DEFAULT, LEVELS, LIKELY_FIRST, Difficulty, Sheet
from agent_env.features.facts.tables.articles import RowPage, TablePages
from agent_env.features.facts.tables.as_of import material_as_of, tables_as_of, undated_rows
from agent_env.features.facts.tables.tables import (
    FactTables,
    read_intervals,
    read_world,
    shipped_tables,
)
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import MaterialTable
from agent_env.sdk.web import BuiltWeb, FullText, Hit, Page, SqlitePages, Web

BUILT_AT = "2026-01-01T00:00:00Z"
"""The time all sealed pages bear, so that the same tables give the same store."""
RENDERED = "rendered"
"""The extractor of pages whose text was written along with their HTML."""
NO_TABLES = FactTables((), (), ())
KEPT_DAYS = 8
"""Days of a world whose pages and search stay in memory."""
COMPARED = 400
"""Pages of a store by which it is known of which tables it was built."""


class SealedWeb(BuiltWeb):
    """Pages rendered from fact tables."""

    make_world: Callable[[], AgingWorld] | None = None
    """Finds the world of which the pages are, where it is known how."""

    @cached_property
    def world(self) -> AgingWorld:
        """The world of which the pages are, to be seen on any day."""
        assert self.make_world is not None  # as of one that `open_sealed` gave
        return self.make_world()

    def on(self, day: str) -> DayWeb:
        return self.world.on(date.fromisoformat(day))

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
        return cls.begun(file, partial(shipped_image, *temporal))


def open_sealed(
    built: Path | None,
    file: Path,
    tables: Sequence[MaterialTable] = (),
    note: Callable[[str], None] = lambda text: None,
) -> BuiltWeb:
    """The sealed web in `built`; without one the shipped web, in `file`, with pages of those
    `tables` that are temporal. ConfigError where `built` is none. Its store is to be closed."""
    temporal = [table for table in tables if table.is_temporal]
    if built is None:
        web = SealedWeb.shipped(file, temporal)
        world = partial(AgingWorld, shipped_tables(), LEVELS[DEFAULT], temporal, note)
        web.make_world = partial(world, _shipped_memo())
    else:
        web = SealedWeb.opened(built, note)
        web.make_world = partial(_built_world, built, web.store, temporal, note)
    return web


def _built_world(
    built: Path,
    store: SqlitePages,
    temporal: Sequence[MaterialTable],
    note: Callable[[str], None],
) -> AgingWorld:
    """The world of which a store was built: one of those whose tables are at hand, found by
    comparing pages. ConfigError where it is none of them."""
    temporal = [
        table for table in temporal if _has_page(store, next(iter(TablePages(table)), None))
    ]
    worlds = [(shipped_tables(), ()), (NO_TABLES, temporal)]
    facts, intervals = built.with_suffix(".facts.csv"), built.with_suffix(".intervals.csv")
    if facts.exists() and intervals.exists():
        own = read_world(facts, shipped_tables())
        own = replace(own, intervals=read_intervals(intervals), invented=True)
        worlds.insert(0, (own, ()))
    for tables, compared in worlds:
        for level in LIKELY_FIRST:
            sheets = list(islice(render_all(tables, level, compared), COMPARED))
            if sheets and all(_has_page(store, sheet) for sheet in sheets):
                return AgingWorld(tables, level, temporal, note)
    raise ConfigError(
        f"{built} has other pages than its tables give ({facts.name} beside it, the shipped ones, "
        "the samples'), so it cannot be shown on another day; leave --today out"
    )


def _has_page(store: SqlitePages, page: Sheet | RowPage | None) -> bool:
    """Whether the store has this page; of a RowPage the address is enough."""
    stored = None if page is None else store.outcome(page.url)
    return isinstance(stored, Page) and stored.text == getattr(page, "text", stored.text)


class AgingWorld:
    """A world that can be seen on any day; what two days have in common is rendered once. One
    thread, as each day's search is SQLite's."""

    def __init__(
        self,
        tables: FactTables,
        level: Difficulty,
        temporal: Sequence[MaterialTable] = (),
        note: Callable[[str], None] = lambda text: None,
        memo: Memo | None = None,
    ) -> None:
        self._tables, self._level, self._temporal = tables, level, temporal
        self._memo: Memo = {} if memo is None else memo
        self._days: OrderedDict[date, DayWeb] = OrderedDict()
        if undated := sum(map(undated_rows, temporal)):
            note(f"{undated} rows of the tables start on no date and are on no page of a day")

    def on(self, day: date) -> DayWeb:
        """The web of that day; ConfigError where the world has not begun."""
        if day not in self._days:
            tables = tables_as_of(self._tables, day)
            temporal = [material_as_of(table, day) for table in self._temporal]
            web = DayWeb(day, render_all(tables, self._level, temporal, self._memo))
            if not web.sheets:
                raise ConfigError(
                    f"--today {day} is before the world of the sealed web; name a later day"
                )
            self._days[day] = web
            if len(self._days) > KEPT_DAYS:
                self._days.popitem(last=False)
        self._days.move_to_end(day)
        return self._days[day]


class DayWeb:
    """Fetcher of one day's pages, and the search over them: it ranks what there is on that day."""

    name = FullText.name

    def __init__(self, day: date, sheets: Iterable[Sheet]) -> None:
        self.sheets = {sheet.url: sheet for sheet in sheets}
        self._at = f"{day}T00:00:00Z"

    @cached_property
    def _index(self) -> FullText:
        return FullText.in_memory(self.sheets.values())

    async def search(self, query: str, limit: int) -> list[Hit]:
        return await self._index.search(query, limit)

    async def fetch(self, url: str) -> Page:
        sheet = self.sheets.get(url.split("#", 1)[0].strip())
        if sheet is None:
            raise BuiltWeb.no_page(url)
        return as_page(sheet, self._at)

    def pages(self) -> Iterator[Page]:
        """All pages, in a fixed order."""
        return (as_page(sheet, self._at) for sheet in self.sheets.values())

    def has(self, url: str) -> bool:
        """Whether there is a page at this address."""
        return url in self.sheets

    def as_web(self) -> Web:
        """What tools search and open."""
        return Web(self, self, foreign=False)


@cache
def _shipped_memo() -> Memo:
    """Pages of the shipped tables on the days that were rendered in this process."""
    return {}


@lru_cache(maxsize=4)
def shipped_image(*temporal: MaterialTable) -> bytes:
    """A store of the pages of the shipped tables and of temporal ones, built once per process."""
    file = Path(":memory:")
    with closing(
        SealedWeb.shipped(file) if temporal else SealedWeb.build(file, shipped_tables())
    ) as web:
        if temporal:
            web.add(map(as_page, render_all(NO_TABLES, temporal=temporal)))
        return web.store.connection.serialize()


def as_page(sheet: Sheet, at: str = BUILT_AT) -> Page:
    """The page as it is stored; its text is the sheet's own and is not extracted again."""
    return Page(
        url=sheet.url,
        status=200,
        content_type="text/html; charset=utf-8",
        body=sheet.html.encode(),
        title=sheet.title,
        text=sheet.text,
        fetched_at=at,
        extractor=RENDERED,
    )
