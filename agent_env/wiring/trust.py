"""Whether a run's folder may have things done outside itself: it is data, and somebody may have
sent it.

Guaranteed: what reaches outside (a sandbox that does not confine, a server with the key it gets,
the live web, hosts of the local network, files outside the folder, prices that a cost limit goes
by) is done only where this call's options say it, where this user confirmed it for this run, or
where this user made the run. The record of the last two is a file of this user's, below
$XDG_STATE_HOME; without it, or where it is broken, everything is to be confirmed again.
A run is known by its id and the digest of its samples, so its folder may be moved and copied. Each
setting is recorded, and run.json as a whole: what a trusted setting costs depends on all of it. For
what gets the calls of traces (code outside a sandbox, MCP servers, tools that are not ours) that is
not enough, as a trace can hold any call: there the folder must be the one that was recorded, by its
path or its inode.
Not guaranteed: anything against someone who can write files as this user.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, ValidationError

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.models.addresses import split_address
from agent_env.permits import (
    _MINT,
    OWN_DEFAULT,
    PUBLIC_WEB,
    OutsideSetting,
    Permit,
    normal,
    text_of,
)
from agent_env.records.manifest import Manifest
from agent_env.records.reach import FieldValue, Reach, values_of
from agent_env.records.safe_files import read_own_file, replace_file
from agent_env.records.schema import Prices, Record
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.tasks.features import feature_named, features, server_of, settings_of_features
from agent_env.wiring.models import api_of, head_of
from agent_env.wiring.plugins import Named, named_in
from agent_env.wiring.registry import MODELS, policies

CONFINED = ("auto", "docker", "namespaces", "bubblewrap")
"""Sandboxes that keep code from the host."""


def without_model(manifest: Manifest) -> Manifest:
    """As far as it matters where a run's tools are used and its model is not."""
    server = server_of(manifest.features)
    rest = {name: its for name, its in manifest.features.items() if name != server}
    update = {"model": "reference", "model_parameters": {}, "features": rest}
    return manifest.model_copy(update=update | {"model_facts": None, "reply_cache": None})


def without_tools(manifest: Manifest) -> Manifest:
    """The other way round."""
    sources = {each.name for each in features() if each.tools is not None}
    rest = {name: its for name, its in manifest.features.items() if name not in sources}
    return manifest.model_copy(update={"sandbox": None, "web": None, "features": rest})


OPEN_WEB = ("live", "record")


class RunRecord(Record):
    """What this user let one run do."""

    v: Literal[2]
    run: str
    """Which run, as `_run_key` names it."""
    settings: tuple[dict[str, JsonValue], ...]


# Permits ----------------------------------------------------------------------------------------


def own_call() -> Permit:
    """For what this call's options say, or this process's own code: the user said it now."""
    return Permit(_MINT, (), is_unlimited=True)


def own_plugins(objects: Objects = NO_OBJECTS) -> Plugins:
    """What finds the plug-ins that this call names."""
    return Plugins(objects=objects, permit=own_call(), from_user=True)


def check_trust(
    folder: RunFolder,
    planned: Manifest,
    note: Callable[[str], None],
    *,
    confirmed: bool = False,
    from_call: Collection[str] = (),
    option: str = "--trust-run",
) -> None:
    """Gives the folder a permit for what `planned`, which comes from its manifest, asks for;
    ConfigError where that reaches outside in a way that this user neither recorded nor confirms
    now. `from_call` names settings that this call's options give. What is confirmed is listed to
    `note` and recorded."""
    asked = outside_settings(folder.path, planned)
    settings = with_plan(folder, [each for each in asked if each.name not in from_call])
    allowed = _recorded(folder.manifest) if settings else ()
    new = [each for each in settings if not _is_in(allowed, folder.path, each)]
    if new and not confirmed:
        raise ConfigError(
            f"{folder.path} is not a run that you made here, and it asks for: "
            f"{'; '.join(map(str, new))}. To allow it: {option}"
        )
    for each in new:
        note(f"trusted in {folder.path}: {each}")
    if new:
        _record(folder.path, folder.manifest, settings, note)
    folder.permit = _permit(folder.path, planned, asked)


def how_to_trust(folder: RunFolder) -> str:
    """For commands that have no option of their own for it."""
    return f"once: agent-env resume {folder.path} --trust-run"


def record_run(
    folder: RunFolder, note: Callable[[str], None], source: RunFolder | None = None
) -> None:
    """Record that this user wants what the run's manifest says: it was made by this call, or this
    call's options changed it. Of a run that was made from `source`, only what that may reach, as
    its manifest can ask for more than this call needed. `note` gets it where that cannot be
    recorded."""
    manifest = folder.manifest
    settings = outside_settings(folder.path, manifest)
    if source is not None:
        known = _recorded(source.manifest)
        settings = [
            each
            for each in settings
            if each.is_covered(source.permit) or _is_in(known, source.path, each)
        ]
    if settings:
        _record(folder.path, manifest, with_plan(folder, settings), note)
    folder.permit = _permit(folder.path, manifest, settings)


def keep_known(folder: RunFolder, planned: Manifest) -> None:
    """Before a change of run.json that is this program's own: what the user let the run do stays
    so, and what the change adds by the user's leave is let too, also where the process is killed
    before or after the change."""
    if is_known(folder, _plan(folder)):
        settings = outside_settings(folder.path, planned)
        allowed = [each for each in settings if each.is_covered(folder.permit)]
        change = _plan_of(planned, planned.as_bytes())
        _record(folder.path, folder.manifest, [*allowed, change], lambda text: None)


def known_permit(folder: RunFolder) -> Permit:
    """For what the folder asks for and this user's record allows; asks nobody."""
    manifest = folder.manifest
    asked = outside_settings(folder.path, manifest)
    allowed = _recorded(manifest) if asked else ()
    return _permit(
        folder.path, manifest, [each for each in asked if _is_in(allowed, folder.path, each)]
    )


def is_known(folder: RunFolder, setting: OutsideSetting) -> bool:
    """Whether this user's record of the run allows it."""
    return _is_in(_recorded(folder.manifest), folder.path, setting)


def check_reading(folder: RunFolder, manifest: Manifest, again: bool = False) -> None:
    """ConfigError where reading the run takes code or files that this user neither wrote into it
    nor confirmed; `again`: where its questions are made again, too."""
    wanted = [
        each
        for each in outside_settings(folder.path, manifest)
        if each.name in READ_WITH or (again and each.name.startswith("options."))
    ]
    if new := [each for each in wanted if not each.is_covered(folder.permit)]:
        raise ConfigError(
            f"{folder.path} is not a run that you made here, and to read it takes: "
            f"{'; '.join(map(str, new))}. To allow it, {how_to_trust(folder)}"
        )


def _permit(path: Path, manifest: Manifest, settings: Iterable[OutsideSetting]) -> Permit:
    grants = {grant for each in settings for grant in each.grants}
    files = manifest.reply_cache, manifest.web_settings.pages
    grants |= {(Reach.FILE, file) for file in files if file is not None and _is_inside(path, file)}
    return Permit(
        _MINT, [(reach, normal(reach, value)) for reach, value in grants], is_unlimited=False
    )


# What a manifest asks for -----------------------------------------------------------------------


def with_plan(folder: RunFolder, settings: Sequence[OutsideSetting]) -> list[OutsideSetting]:
    """The settings and, where there are any, all else that run.json says: how often, how long and
    with which texts they are used."""
    return [*settings, _plan(folder)] if settings else []


def _plan(folder: RunFolder) -> OutsideSetting:
    return _plan_of(folder.manifest, folder.read("run.json"))


def _plan_of(manifest: Manifest, data: bytes) -> OutsideSetting:
    """A whole run.json, so that no field of it can be forgotten."""
    limits = {name: most for name, most in manifest.run_limits.items() if most is not None}
    value = f"{manifest.planned_episodes} episodes"
    value += f", limits of the run {text_of(limits)}" if limits else ", without limits of the run"
    notice = " (these, and all else that run.json says)"
    digest = hashlib.sha256(data).hexdigest()
    return OutsideSetting("plan", value, notice, {"digest": digest}, ((Reach.MONEY, digest),))


CODE = " (its code runs here)"
READ_WITH = ("family", "strategy", "scorer", "metric", "options.facts_table")
"""Kinds of plug-ins, and a file, that even reading a run takes."""
TOLD = frozenset(
    {
        "task", "model", "scorer", "metrics", "sandbox", "web", "reply_cache",
        "plugins.reference", "conditions.tools", "conditions.strategy", "conditions.own_tools.path",
        "model_parameters.base_url", "model_parameters.api_key_env",
        "model_facts.input_per_million", "model_facts.cached_input_per_million",
        "model_facts.cache_write_per_million", "model_facts.hour_cache_write_per_million",
        "model_facts.output_per_million",
        *(f"model_facts.tiers.{name}" for name in Prices.model_fields),
        "web_settings.search", "web_settings.fetcher", "web_settings.search_url",
        "web_settings.pages", "web_settings.allow_hosts", "web_settings.obey_robots",
    }
)  # fmt: skip
"""Fields that a line below tells of in words of its own. Every other field that reaches outside has
a line by its name: none can be forgotten."""
NOTICES = {Reach.CODE: CODE, Reach.COMMAND: " (runs on this machine)", Reach.MONEY: " (can cost)"}


def outside_settings(folder: Path, manifest: Manifest) -> list[OutsideSetting]:
    """What the manifest says that reaches outside; empty for a run of the scripted model in a
    sandbox with the sealed web."""
    settings: list[OutsideSetting] = []
    if manifest.sandbox is not None and manifest.sandbox not in CONFINED:
        notice, grants = " (runs code on this machine)", ((Reach.CODE, manifest.sandbox),)
        settings.append(
            OutsideSetting("sandbox", manifest.sandbox, notice, grants=grants, gets_calls=True)
        )
    # The code that the manifest names and that is not ours: it is imported for nobody but those
    # who trust it, whatever else run.json says of it
    named = {(each.registry.kind, each.reference): each for each in named_in(manifest)}
    settings += [
        OutsideSetting(kind, path, CODE, grants=_references(each), gets_calls=kind == "tool")
        for (kind, path), each in sorted(named.items(), key=lambda pair: pair[0])
    ]
    if manifest.model not in policies():
        settings += _of_model(manifest)
    told, fields = _of_features(manifest)
    settings += told
    if (facts := manifest.model_facts) is not None:
        prices = [facts.input_per_million, facts.cached_input_per_million, facts.output_per_million]
        notice = " (USD per million tokens in, cached, out)"
        if facts.cache_write_per_million is not None:
            prices.append(facts.cache_write_per_million)
            notice = " (USD per million tokens in, cached, out, written to the cache)"
        if facts.hour_cache_write_per_million is not None:
            prices.append(facts.hour_cache_write_per_million)
            notice = f"{notice[:-1]}, the same for an hour)"
        values = ", ".join("unknown" if price is None else f"{price:g}" for price in prices)
        if facts.tiers:
            values += (
                f"; {text_of({name: each.model_dump() for name, each in facts.tiers.items()})}"
            )
        settings.append(
            OutsideSetting("prices", values, notice, grants=((Reach.MONEY, text_of(facts)),))
        )
    if manifest.web is not None:
        settings += _of_web(folder, manifest)
    if manifest.reply_cache is not None and not _is_inside(folder, manifest.reply_cache):
        settings.append(_of_file("reply cache", manifest.reply_cache))
    return settings + _others(manifest, fields)


def _others(manifest: Manifest, fields: Iterable[FieldValue]) -> list[OutsideSetting]:
    """Those of the manifest's fields, and of these of features, that nothing above tells of."""
    return [
        OutsideSetting(
            each.path,
            text_of(each.value),
            NOTICES.get(reach, ""),
            grants=((reach, text_of(each.value)),),
        )
        for each in (*values_of(manifest), *fields)
        if each.path not in TOLD
        and each.value not in (None, False, "", (), [])
        and (reach := each.reach or Reach.CODE) is not Reach.NOTHING
        and not (each.path == "options.tables" and each.value in ("fictional", "shipped"))
    ]


def _of_features(manifest: Manifest) -> tuple[list[OutsideSetting], list[FieldValue]]:
    """What features tell of their settings, whose own records say what each reaches; and the
    fields that they do not tell of."""
    told: list[OutsideSetting] = []
    fields: list[FieldValue] = []
    for name, settings in settings_of_features(manifest.features, "the run").items():
        outside = feature_named(name, "the run").outside
        its = [] if outside is None else list(outside(settings))
        told += its
        names = {f"features.{name}.{field}" for each in its for field in each.fields}
        if settings is not None:
            values = values_of(settings, f"features.{name}.")
            fields += [each for each in values if each.path not in names]
    return told, fields


def _references(named: Named) -> tuple[tuple[Reach, str], ...]:
    """The code as run.json names it, and as it is found by that name."""
    texts = {named.reference}
    with suppress(ConfigError):  # told when it is looked for
        entry = named.registry.entry(named.reference)
        texts |= {entry.reference, entry.path}
    return tuple((Reach.CODE, text) for text in sorted(texts))


def _of_model(manifest: Manifest) -> list[OutsideSetting]:
    parameters, (head, _) = manifest.model_parameters, head_of(manifest.model)
    address = parameters.get("base_url") or split_address(manifest.model)[1] or OWN_DEFAULT
    is_ours = MODELS.is_built_in(head)
    api = api_of(manifest.model) if is_ours else None
    key_name = api.key_variable if api is not None else "your key"
    key = parameters.get("api_key_env")
    gets = key_name if key is None else key or "no key"
    settings = []
    if is_ours or address != OWN_DEFAULT or key:
        grants = [(Reach.ADDRESS, f"{head} {OWN_DEFAULT}" if address == OWN_DEFAULT else address)]
        if key is None and api is not None:
            grants.append((Reach.KEY, key_name))
        parts: dict[str, JsonValue] = {"url": address, "model": manifest.model, "key": key}
        settings.append(
            OutsideSetting(
                "address",
                f"{address} for {manifest.model}",
                f" (gets prompts and {gets})",
                parts,
                tuple((reach, str(value)) for reach, value in grants),
            )
        )
    if key:
        settings.append(OutsideSetting("key", str(key), grants=((Reach.KEY, str(key)),)))
    return settings


def _of_web(folder: Path, manifest: Manifest) -> list[OutsideSetting]:
    settings = manifest.web_settings
    outside: list[OutsideSetting] = []
    if manifest.web in OPEN_WEB:
        search = str(settings.search)
        address = settings.search_url or f"{search} {OWN_DEFAULT}"
        outside.append(
            OutsideSetting(
                "web",
                f"{manifest.web}, {search} at {settings.search_url or OWN_DEFAULT}",
                " (gets queries and the key for it)",
                {"web": manifest.web, "search": search, "url": settings.search_url},
                (
                    (Reach.ADDRESS, address),
                    (Reach.KEY, f"{search} {OWN_DEFAULT}"),
                    (Reach.HOST, PUBLIC_WEB),
                ),
            )
        )
        outside += [
            OutsideSetting("allowed host", host, grants=((Reach.HOST, host),))
            for host in settings.allow_hosts
        ]
        if not settings.obey_robots:
            grants = ((Reach.HOST, "robots.txt ignored"),)
            outside.append(OutsideSetting("robots.txt", "ignored", grants=grants))
    if settings.pages is not None and not _is_inside(folder, settings.pages):
        outside.append(_of_file("page store", settings.pages))
    return outside


def _of_file(name: str, file: str) -> OutsideSetting:
    return OutsideSetting(name, file, grants=((Reach.FILE, file),))


def _is_inside(folder: Path, file: str) -> bool:
    """Whether the file is in the folder, wherever links lead; a relative path is not."""
    with suppress(OSError, ValueError, RuntimeError):  # a loop of links, a null byte
        return Path(file).is_absolute() and Path(file).resolve().is_relative_to(folder.resolve())
    return False


# The record -------------------------------------------------------------------------------------


def _forms(folder: Path, setting: OutsideSetting) -> tuple[dict[str, JsonValue], ...]:
    """How the setting is in a record; any of them will do."""
    whole: dict[str, JsonValue] = {
        "name": setting.name,
        **(setting.parts or {"value": setting.value}),
    }
    if not setting.gets_calls:
        return (whole,)
    return tuple(whole | form for form in _folder_forms(folder))


def _is_in(
    allowed: Collection[Mapping[str, JsonValue]], folder: Path, setting: OutsideSetting
) -> bool:
    return bool(allowed) and any(form in allowed for form in _forms(folder, setting))


class StudyTrust(Record):
    """Where this user began a study, or let it go on."""

    v: Literal[1]
    study: str
    folders: tuple[dict[str, JsonValue], ...]


def knows_study(path: Path, study: str) -> bool:
    """Whether this user began the study here, or let it go on; `study` is its key."""
    known = _study_folders(study)
    return bool(known) and any(form in known for form in _folder_forms(path))


def record_study(path: Path, study: str, note: Callable[[str], None]) -> None:
    """Record that the study in this folder is this user's; what its file says is then obeyed."""
    known = _study_folders(study)
    new = [form for form in _folder_forms(path) if form not in known]
    record = StudyTrust(v=1, study=study, folders=(*known, *new))
    _keep("studies", study, record, path, note)


def _study_folders(study: str) -> tuple[dict[str, JsonValue], ...]:
    folder = state_folder("studies")
    data = None if folder is None else read_own_file(folder / f"{study}.json")
    with suppress(ValidationError):
        record = StudyTrust.model_validate_json(data or b"")
        return record.folders if record.study == study else ()
    return ()


def _folder_forms(path: Path) -> tuple[dict[str, JsonValue], ...]:
    """How a folder is known again: by its path, or by its inode where it was moved."""
    stat = path.stat()
    return {"folder": str(path.resolve())}, {"inode": [stat.st_dev, stat.st_ino]}


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


def _recorded(manifest: Manifest) -> tuple[dict[str, JsonValue], ...]:
    """What the record of this run allows; nothing where there is none that this user wrote."""
    folder, key = state_folder("runs"), _run_key(manifest)
    if folder is None:
        return ()
    if (data := read_own_file(folder / f"{key}.json")) is None:
        return ()
    try:
        record = RunRecord.model_validate_json(data)
    except ValidationError:
        return ()
    return record.settings if record.run == key else ()


def _record(
    path: Path,
    manifest: Manifest,
    settings: Collection[OutsideSetting],
    note: Callable[[str], None],
) -> None:
    """Add the settings to the run's record, whole or not at all."""
    key, before = _run_key(manifest), _recorded(manifest)
    forms = [form for each in settings for form in _forms(path, each) if form not in before]
    _keep("runs", key, RunRecord(v=2, run=key, settings=(*before, *forms)), path, note)


def _keep(kind: str, key: str, record: Record, path: Path, note: Callable[[str], None]) -> None:
    """Write the record, whole or not at all."""
    folder = state_folder(kind)
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
