"""A run's web: its options, and the objects that they ask for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError, DatasetError, suggestion
from agent_env.models.addresses import OPENAI_URL
from agent_env.permits import OWN_DEFAULT
from agent_env.records.manifest import Manifest, Undated, WebSettings
from agent_env.records.options import WEB, Opt
from agent_env.records.reach import Reach
from agent_env.records.safe_files import check_database
from agent_env.records.schema import MaterialTable
from agent_env.registry import Plugins, hook
from agent_env.temporal.days import iso_day
from agent_env.wiring.trust import check_trust, own_plugins, without_model

if TYPE_CHECKING:
    from agent_env.web.built import BuiltWeb
    from agent_env.web.opened import ProviderAccess, Web
    from agent_env.web.page_store import SqlitePages

_GREGORIAN = date(1582, 10, 15)
_SITE = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How a run reaches the web."""

    mode: Annotated[
        str,
        Opt(
            "sealed (built in), live, record (live and kept), frozen (kept).",
            WEB,
            "--web",
            manifest="web",
        ),
    ] = "sealed"
    search: Annotated[
        str | None,
        Opt(
            "brave, tavily, exa, serper, openai, searxng, wikipedia; or NAME=URL; or an installed "
            "provider, MODULE:NAME or file.py:NAME.",
            WEB,
            manifest="web_settings.search",
        ),
    ] = None
    fetcher: Annotated[
        str | None,
        Opt(
            "What opens pages of --web live and record. As of a day: memento=TIMEGATE (default "
            "the Wayback Machine), wiki-revisions=API (default /w/api.php of the page's host). Or "
            "an installed fetcher, MODULE:NAME or file.py:NAME; default: our own.",
            WEB,
            manifest="web_settings.fetcher",
        ),
    ] = None
    pages: Annotated[
        Path | None,
        Opt("The page store; default: the run's own pages.db.", WEB, manifest="web_settings.pages"),
    ] = None
    as_of: Annotated[
        str | None,
        Opt(
            "YYYY-MM-DD: hide pages of which any date is later; with --web frozen, each page as it "
            "was that day. Not for the sealed web.",
            WEB,
            manifest="web_settings.as_of",
        ),
    ] = None
    undated: Annotated[
        Undated | None,
        Opt(
            "What --as-of does with pages without a date: withhold, count (serve and flag them) or "
            "serve; default: withhold.",
            WEB,
            manifest="web_settings.undated",
        ),
    ] = None
    block_leaks: Annotated[
        bool,
        Opt(
            "Withhold pages with the puzzle or its answer.",
            WEB,
            manifest="web_settings.block_leaks",
        ),
    ] = False
    ignore_robots: Annotated[
        bool,
        Opt("Open pages that robots.txt closes.", WEB, manifest="web_settings.obey_robots"),
    ] = False
    allow_hosts: Annotated[
        tuple[str, ...],
        Opt(
            "HOST:PORT of your own network that pages may be on. Repeatable.",
            WEB,
            "--allow-host",
            manifest="web_settings.allow_hosts",
        ),
    ] = ()


def settings_of(options: WebOptions, days: Collection[str] = ()) -> WebSettings:
    """What run.json says of the web; ConfigError says what does not fit together."""
    from agent_env.web.opened import MODES

    if options.mode not in MODES:
        raise ConfigError(f"unknown web '{options.mode}'; {suggestion(options.mode, MODES)}")
    if options.undated is not None and options.as_of is None:
        raise ConfigError("--undated goes with --as-of, which asks for pages of a day")
    search, _, url = (options.search or "").partition("=")
    fetcher, _, fetcher_url = (options.fetcher or "").partition("=")
    settings = WebSettings(
        search=search or None,
        fetcher=fetcher or None,
        fetcher_url=fetcher_url or None,
        search_url=url or None,
        pages=None if options.pages is None else str(store_path(options.pages).absolute()),
        as_of=None if options.as_of is None else as_of_day(options.as_of),
        undated=None if options.as_of is None else options.undated or "withhold",
        block_leaks=options.block_leaks,
        obey_robots=not options.ignore_robots,
        allow_hosts=tuple(site_of(text) for text in options.allow_hosts),
    )
    if options.mode in ("sealed", "frozen"):
        for name, value in (
            ("--ignore-robots", options.ignore_robots),
            ("--allow-host", options.allow_hosts),
            ("a search URL", settings.search_url),
            ("--fetcher", settings.fetcher),
        ):
            if value:
                raise ConfigError(
                    f"{name} goes with --web live or record: {options.mode} fetches none"
                )
    if options.mode == "frozen":
        return _frozen(settings, days)
    day = next(iter(days), options.as_of)
    if settings.search in NO_DATES and day is not None and options.undated is None:
        raise ConfigError(
            f"results of {settings.search} state no dates, so that as of {day} none would be "
            "shown; take another --search, or say --as-of with --undated count or serve"
        )
    return {"sealed": _sealed, "live": _live, "record": _record}[options.mode](settings)


def _sealed(settings: WebSettings) -> WebSettings:
    if settings.search is not None:
        raise ConfigError("the sealed web has its own search; --search goes with another --web")
    if settings.as_of is not None:
        raise ConfigError(
            "pages of the sealed web bear no dates: its day is --today; --as-of goes with --web "
            "live, record or frozen"
        )
    if settings.pages is not None:
        web = open_sealed(settings, Path(settings.pages), ())
        assert web.store is not None
        web.store.close()
    return settings


def _live(settings: WebSettings) -> WebSettings:
    if settings.pages is not None:
        raise ConfigError("--web live keeps no pages; use --web record --pages FILE")
    _check_provider(settings)
    return settings


def _record(settings: WebSettings) -> WebSettings:
    _check_provider(settings)
    if settings.pages is not None:
        from agent_env.web.page_store import SqlitePages

        file = Path(settings.pages)
        if not file.parent.is_dir():
            raise ConfigError(f"there is no folder {file.parent} for the page store")
        if file.exists():
            SqlitePages(file, read_only=True).close()
    return settings


def _frozen(settings: WebSettings, days: Collection[str]) -> WebSettings:
    from agent_env.web.opened import STORED, stored_search
    from agent_env.web.page_store import SqlitePages

    if settings.pages is None:
        raise ConfigError("--web frozen needs --pages: a page store, or the folder of a run")
    searches = []
    for day in days or (settings.as_of,):
        store = SqlitePages(Path(settings.pages), read_only=True, as_of=day)
        try:
            _check_day(store)
            searches.append(stored_search(store, settings.search))
        finally:
            store.close()
    recorded = next((name for name in searches if name != STORED), STORED)
    return settings.model_copy(update={"search": recorded})


def _check_day(store: SqlitePages) -> None:
    """ConfigError where a store with pages has none of its day."""
    if next(store.fetches(), None) is not None or (first := store.first_day()) is None:
        return
    if store.as_of is None:
        days = ", ".join(store.recorded_days())
        raise ConfigError(f"{store.file} holds pages as of {days} alone; say which with --as-of")
    raise ConfigError(
        f"as of {store.as_of}: {store.file} holds no version of that day or before; its first is "
        f"of {first}"
    )


def _check_provider(settings: WebSettings) -> None:
    from agent_env.web.plugin import FETCHERS
    from agent_env.web.providers.catalogue import NAMES, PROVIDERS, make_provider

    if settings.search is None:
        raise ConfigError(f"--web live and record need --search: {', '.join(NAMES)}")
    plugins = own_plugins()
    PROVIDERS.entry(settings.search)  # refused here where two packages take the name
    if settings.fetcher is not None:
        FETCHERS.find(settings.fetcher, plugins.permit)
        from agent_env.web.plugin import OF_A_DAY

        name, url = settings.fetcher, settings.fetcher_url
        if name not in OF_A_DAY and url is not None:
            raise ConfigError(f"--fetcher {name} takes no address; {' and '.join(OF_A_DAY)} do")
        if name in OF_A_DAY and settings.as_of is None:
            raise ConfigError(f"--fetcher {name} gives pages of a day: say which with --as-of")
        if url is not None and not url.startswith(("http://", "https://")):
            raise ConfigError(
                f"--fetcher {name}={url}: the address begins with http:// or https://"
            )
    access = search_access(settings.search, settings.search_url, plugins)
    make_provider(
        settings.search,
        access.key,
        settings.search_url,
        plugins=plugins,
        environment_url=access.base_url,
    )


NO_DATES = ("openai", "wikipedia")
"""Search providers whose results never state a date."""


def as_of_day(text: str) -> str:
    """The day as YYYY-MM-DD; ConfigError where it is none, or clearly of another calendar."""
    if (day := iso_day(text)) is None:
        raise ConfigError(
            f"--as-of '{text}' is not a date; write YYYY-MM-DD, without time or time zone"
        )
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)  # it is, east of here
    if not _GREGORIAN <= day <= tomorrow:
        when = "lies in the future" if day > tomorrow else f"is before {_GREGORIAN}"
        raise ConfigError(
            f"--as-of '{text}' {when}; write a past day of the Gregorian calendar, YYYY-MM-DD"
        )
    return day.isoformat()


def site_of(text: str) -> str:
    if not _SITE.fullmatch(text):
        raise ConfigError(f"--allow-host '{text}' is not HOST:PORT, like 127.0.0.1:8888")
    return text.lower()


async def open_web(
    folder: RunFolder,
    manifest: Manifest,
    note: Callable[[str], None],
    stack: AsyncExitStack,
    plugins: Plugins,
) -> Web:
    """The web of the manifest's mode; its store's digest is checked against, or put into, run.json:
    before the first episode where the store does not change, after the last where it grows."""
    from agent_env.web.opened import open_frozen, open_live

    settings = manifest.web_settings
    file = Path(settings.pages) if settings.pages else folder.pages
    if settings.pages:
        plugins.permit.check(Reach.FILE, settings.pages)
    check_store(folder, file)
    if manifest.web in ("live", "record"):
        target = file if manifest.web == "record" else None
        access = search_access(settings.search or "", settings.search_url, plugins)
        web = await open_live(settings, access, target, note, stack, plugins)
        if web.store is not None:
            stack.callback(lambda: folder.note_pages(web.store.digest()))  # type: ignore[union-attr]
        return web
    if manifest.web == "frozen":
        web = open_frozen(settings, file, stack)
    else:
        web = open_sealed(settings, file, folder.materials(), note)
        assert web.store is not None
        stack.callback(web.store.close)
    assert web.store is not None  # only live goes without
    folder.check_pages(web.store.digest(), web.index)
    return web


def open_sealed(
    settings: WebSettings,
    file: Path,
    tables: Sequence[MaterialTable],
    note: Callable[[str], None] = lambda text: None,
) -> Web:
    """The sealed web of the settings: the built one that they name, else the shipped one, in
    `file`, with the samples' own tables. Its store is to be closed."""
    return _built(settings, file, tables, note).as_web()


def sealed_urls(
    settings: WebSettings,
    tables: Sequence[MaterialTable],
    days: Iterable[str | None],
    wanted: Collection[str],
) -> dict[str | None, set[str]]:
    """Which of the wanted addresses the sealed web serves on each of the days; None stands for no
    day. ConfigError for a day that it does not have."""
    with closing(_built(settings, Path(":memory:"), tables)) as web:
        return {
            day: {url for url in wanted if (web if day is None else web.on(day)).has(url)}
            for day in days
        }


def _built(
    settings: WebSettings,
    file: Path,
    tables: Sequence[MaterialTable],
    note: Callable[[str], None] = lambda text: None,
) -> BuiltWeb:
    opener: Callable[..., BuiltWeb] = hook("sealed-web")
    return opener(Path(settings.pages) if settings.pages else None, file, tables, note)


def search_access(name: str, url: str | None, plugins: Plugins) -> ProviderAccess:
    """What the environment says of a search provider that is at the user's own `url`, if any. The
    key of OpenAI goes to OpenAI, or to where OPENAI_BASE_URL pairs the two."""
    from agent_env.web.opened import ProviderAccess
    from agent_env.web.providers.api import SearchApi
    from agent_env.web.providers.catalogue import PROVIDERS

    paired = (os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
    if name == "openai" and url is not None and url.rstrip("/") != paired:
        raise ConfigError(
            f"--search openai={url} would send it the key of OpenAI; set OPENAI_BASE_URL to that "
            "address beside OPENAI_API_KEY if it is meant to have it"
        )
    api = plugins.find(PROVIDERS, name)
    if not isinstance(api, SearchApi):
        return ProviderAccess()
    plugins.permit.check(Reach.KEY, f"{name} {OWN_DEFAULT}")
    return ProviderAccess(os.environ.get(api.key_variable), os.environ.get(api.url_variable))


def check_store(folder: RunFolder, file: Path) -> None:
    """DatasetError where a store in the run's folder leads out of it, or is not a plain file."""
    if file.parent == folder.path:
        try:
            check_database(folder.path, file)
        except OSError as exc:
            raise DatasetError(file, None, f"cannot be opened: {exc.strerror}") from exc


def store_path(
    path: Path, note: Callable[[str], None] | None = None, confirmed: bool = False
) -> Path:
    """The store's file. Where a run's folder is path instead: the store that its run.json names,
    else the one in the folder. ConfigError where it names a file elsewhere and the run is neither
    this user's nor `confirmed`, for commands that offer that and give `note`."""
    folder = RunFolder(path)
    if not path.is_dir():
        return path
    try:
        manifest = folder.manifest
    except (ConfigError, DatasetError):  # no run, or none that can be read
        return folder.pages
    if manifest.web_settings.pages is None:
        check_store(folder, folder.pages)
        return folder.pages
    stored = without_model(manifest).model_copy(update={"sandbox": None, "web": "frozen"})
    option = "--trust-run" if note else f"name the file itself, {manifest.web_settings.pages}"
    check_trust(folder, stored, note or (lambda text: None), confirmed=confirmed, option=option)
    return Path(manifest.web_settings.pages)
