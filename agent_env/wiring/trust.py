"""Whether a run's folder may have things done outside itself: it is data, and somebody may have
sent it.

Guaranteed: what reaches outside (a sandbox that does not confine, a server with the key it gets,
the live web, hosts of the local network, files outside the folder, prices that a cost limit goes
by) is done only where this call's options say it, where this user confirmed it for this run, or
where this user made the run. The record of the last two is a file of this user's, below
$XDG_STATE_HOME; without it, or where it is broken, everything is to be confirmed again.
A run is known by its id and the digest of its samples, so its folder may be moved and copied. For
code outside a sandbox that is not enough, as a trace holds code: there the folder must be the one
that was recorded, by its path or its inode.
Not guaranteed: anything against someone who can write files as this user.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.records.manifest import Manifest
from agent_env.records.mcp import McpServer
from agent_env.records.safe_files import read_own_file, replace_file
from agent_env.records.schema import Record
from agent_env.wiring.models import api_of, head_of
from agent_env.wiring.plugins import named_in
from agent_env.wiring.registry import MODELS, SCRIPTS

CONFINED = ("auto", "docker", "namespaces", "bubblewrap")
"""Sandboxes that keep code from the host."""
WITHOUT_MODEL: Mapping[str, Any] = {
    "model": "reference",
    "model_parameters": {},
    "model_facts": None,
    "reply_cache": None,
}
"""Of a manifest, where a run's tools are used and its model is not."""
WITHOUT_TOOLS: Mapping[str, Any] = {"sandbox": None, "web": None, "mcp": ()}
"""The other way round."""
OPEN_WEB = ("live", "record")


@dataclass(frozen=True, slots=True)
class OutsideSetting:
    """One thing that a manifest says and that reaches outside the run's folder."""

    name: str
    value: str
    notice: str = ""
    """The consequence, for the user."""

    def __str__(self) -> str:
        """Whole, however long: what is left out could be an address's host."""
        return f"{self.name} {self.value}{self.notice}"


class RunRecord(Record):
    """What this user let one run do."""

    run: str
    """Which run, as `_run_key` names it."""
    settings: tuple[str, ...]


def check_trust(
    folder: RunFolder,
    planned: Manifest,
    note: Callable[[str], None],
    *,
    confirmed: bool = False,
    own: Collection[str] = (),
    option: str = "--trust-run",
) -> None:
    """ConfigError where `planned`, which comes from the folder's manifest, reaches outside in a way
    that this user neither recorded nor confirms now. `own` names settings that this call's options
    give. What is confirmed is listed to `note` and recorded."""
    settings = [each for each in outside_settings(folder.path, planned) if each.name not in own]
    if not settings:
        return
    manifest = folder.manifest()
    allowed = _recorded(manifest)
    new = [each for each in settings if not allowed.intersection(_forms(folder.path, each))]
    if not new:
        return
    text = "; ".join(map(str, new))
    if not confirmed:
        raise ConfigError(
            f"{folder.path} is no run that you made here, and it asks for: {text}. "
            f"To allow it: {option}"
        )
    for each in new:
        note(f"trusted in {folder.path}: {each}")
    _record(folder.path, manifest, settings, note)


def how_to_trust(folder: RunFolder) -> str:
    """For commands that have no option of their own for it."""
    return f"once: agent-env resume {folder.path} --trust-run"


def record_run(folder: RunFolder, note: Callable[[str], None]) -> None:
    """Record that this user wants what the run's manifest says: it was made by this call, or this
    call's options changed it. `note` gets it where that cannot be recorded."""
    manifest = folder.manifest()
    if settings := outside_settings(folder.path, manifest):
        _record(folder.path, manifest, settings, note)


def outside_settings(folder: Path, manifest: Manifest) -> list[OutsideSetting]:
    """What the manifest says that reaches outside; empty for a run of the scripted model in a
    sandbox with the sealed web."""
    settings: list[OutsideSetting] = []
    if manifest.sandbox is not None and manifest.sandbox not in CONFINED:
        settings.append(OutsideSetting("sandbox", manifest.sandbox, " (runs code on this machine)"))
    settings += [OutsideSetting(kind, path, CODE) for kind, path in sorted(_code(manifest))]
    settings += [_of_server(server) for server in manifest.mcp]
    if manifest.model not in SCRIPTS:
        settings += _of_model(manifest)
    if manifest.model not in SCRIPTS and manifest.server is not None:
        file, command = manifest.server.file, manifest.server.command
        settings.append(OutsideSetting("server", command, " (runs on this machine)"))
        settings += [] if file is None else [OutsideSetting("model file", file.path)]
    if manifest.web is not None:
        settings += _of_web(folder, manifest)
    if manifest.reply_cache is not None and not _is_inside(folder, manifest.reply_cache):
        settings.append(OutsideSetting("reply cache", manifest.reply_cache))
    return settings


CODE = " (its code runs here)"
READ_WITH = ("family", "strategy", "scorer", "metric")
"""Kinds of plug-ins whose code even reading a run takes."""


def _code(manifest: Manifest) -> set[tuple[str, str]]:
    """The code that the manifest names and that is not ours, by kind and reference: it is imported
    for nobody but those who trust it, whatever else run.json says of it."""
    return {(each.registry.kind, each.reference) for each in named_in(manifest)}


def check_code(folder: RunFolder, manifest: Manifest) -> None:
    """ConfigError where reading the run takes code that this user neither wrote into it nor
    confirmed."""
    found = {pair for pair in _code(manifest) if pair[0] in READ_WITH}
    wanted = [OutsideSetting(kind, path, CODE) for kind, path in sorted(found)]
    if not wanted:
        return
    allowed = _recorded(manifest)
    if new := [each for each in wanted if not allowed.intersection(_forms(folder.path, each))]:
        raise ConfigError(
            f"{folder.path} is no run that you made here, and to read it takes: "
            f"{'; '.join(map(str, new))}. To allow it, {how_to_trust(folder)}"
        )


def _of_server(server: McpServer) -> OutsideSetting:
    """Another command, or another variable that it gets, is another setting."""
    value = f"{server.name}: {server.url or shlex.join(server.command)}"
    if server.environment:
        value += f" with {', '.join(server.environment)}"
    if server.url is not None:
        notice = " (gets the calls of its tools)"
    else:
        notice = f" (runs here{', in a sandbox' if server.sandboxed else ' with your rights'})"
        value += " in a sandbox" if server.sandboxed else ""
    return OutsideSetting("mcp server", value, notice)


def _of_model(manifest: Manifest) -> list[OutsideSetting]:
    parameters, facts = manifest.model_parameters, manifest.model_facts
    address = parameters.get("base_url") or "by default"
    is_ours = MODELS.is_built_in(head_of(manifest.model)[0])
    api = api_of(manifest.model) if is_ours else None
    own_key = api.key_variable if api is not None else "your key"
    key = parameters.get("api_key_env")
    gets = own_key if key is None else key or "no key"
    value = f"{address} for {manifest.model}"
    settings = []
    if is_ours or address != "by default" or key:
        settings = [OutsideSetting("address", value, f" (gets prompts and {gets})")]
    if key:
        settings.append(OutsideSetting("key", str(key)))
    if facts is not None:
        prices = (facts.input_per_million, facts.cached_input_per_million, facts.output_per_million)
        values = ", ".join("unknown" if price is None else f"{price:g}" for price in prices)
        notice = " (USD per million tokens in, cached, out)"
        settings.append(OutsideSetting("prices", values, notice))
    return settings


def _of_web(folder: Path, manifest: Manifest) -> list[OutsideSetting]:
    settings = manifest.web_settings
    outside: list[OutsideSetting] = []
    if manifest.web in OPEN_WEB:
        address = settings.search_url or "by default"
        value = f"{manifest.web}, {settings.search} at {address}"
        outside.append(OutsideSetting("web", value, " (gets queries and the key for it)"))
        outside += [OutsideSetting("allowed host", host) for host in settings.allow_hosts]
        if not settings.obey_robots:
            outside.append(OutsideSetting("robots.txt", "ignored"))
    if settings.pages is not None and not _is_inside(folder, settings.pages):
        outside.append(OutsideSetting("page store", settings.pages))
    return outside


def _is_inside(folder: Path, file: str) -> bool:
    """Whether the file is in the folder, wherever links lead; a relative path is not."""
    with suppress(OSError, ValueError, RuntimeError):  # a loop of links, a null byte
        return Path(file).is_absolute() and Path(file).resolve().is_relative_to(folder.resolve())
    return False


# The record -------------------------------------------------------------------------------------


def _forms(folder: Path, setting: OutsideSetting) -> tuple[str, ...]:
    """How the setting stands in a record; any of them will do."""
    text = f"{setting.name} {setting.value}"
    if setting.name != "sandbox":
        return (text,)
    stat = folder.stat()
    return f"{text} in {folder.resolve()}", f"{text} in inode {stat.st_dev}:{stat.st_ino}"


def _run_key(manifest: Manifest) -> str:
    whole = f"{manifest.id}\0{manifest.created_at}\0{manifest.samples_digest}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def state_folder(name: str) -> Path | None:
    """Where this user's records of this kind are: agent-env/NAME in $XDG_STATE_HOME, or in
    ~/.local/state; None where there is no home."""
    path = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = Path(os.path.expanduser("~"))
    state = path if path.is_absolute() else home / ".local" / "state"
    return state / "agent-env" / name if state.is_absolute() else None


def _recorded(manifest: Manifest) -> frozenset[str]:
    """What the record of this run allows; nothing where there is none that this user wrote."""
    folder, key = state_folder("runs"), _run_key(manifest)
    if folder is None:
        return frozenset()
    if (data := read_own_file(folder / f"{key}.json")) is None:
        return frozenset()
    try:
        record = RunRecord.model_validate_json(data)
    except ValidationError:
        return frozenset()
    return frozenset(record.settings) if record.run == key else frozenset()


def _record(
    path: Path,
    manifest: Manifest,
    settings: Collection[OutsideSetting],
    note: Callable[[str], None],
) -> None:
    """Add the settings to the run's record, whole or not at all."""
    folder, key = state_folder("runs"), _run_key(manifest)
    forms = {form for each in settings for form in _forms(path, each)}
    record = RunRecord(run=key, settings=tuple(sorted(_recorded(manifest) | forms)))
    try:
        if folder is None:
            raise OSError(0, "there is no home folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(folder / f"{key}.json", record.model_dump_json().encode(), mode=0o600)
    except OSError as exc:
        note(
            f"cannot record in {folder} that {path} is yours: {exc.strerror}; "
            "to resume it, say --trust-run"
        )
