"""Opens a run's web."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError, DatasetError
from agent_env.models.addresses import OPENAI_URL
from agent_env.permits import OWN_DEFAULT
from agent_env.records.manifest import Manifest, WebSettings
from agent_env.records.reach import Reach
from agent_env.records.safe_files import check_database
from agent_env.records.schema import MaterialTable
from agent_env.registry import Plugins, hook
from agent_env.wiring.trust import WITHOUT_MODEL, check_trust

if TYPE_CHECKING:
    from agent_env.web.opened import ProviderAccess, Web


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
    opener: Callable[..., Web] = hook("sealed-web")
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
    """DatasetError where a store in the run's folder leads out of it, or is no plain file."""
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
    stored = manifest.model_copy(update={**WITHOUT_MODEL, "sandbox": None, "web": "frozen"})
    option = "--trust-run" if note else f"name the file itself, {manifest.web_settings.pages}"
    check_trust(folder, stored, note or (lambda text: None), confirmed=confirmed, option=option)
    return Path(manifest.web_settings.pages)
