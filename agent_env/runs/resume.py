"""A recorded run gone on with: the same settings, or others that this call names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from agent_env.episodes.run_folder import digest
from agent_env.errors import ConfigError
from agent_env.models.addresses import COMPATIBLE, moved, split_address
from agent_env.permits import Permit
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Sample
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.options.run_options import (
    ForkOptions,
    ResumeOptions,
    RunOptions,
    with_changes,
)
from agent_env.runs.run import Run
from agent_env.runs.servers.probe import resolve_model, resolve_models
from agent_env.runs.servers.serving import other_server, start_server
from agent_env.runs.start import Engine, Listener, preflight_update, run_episodes, start_run
from agent_env.tasks.features import driver_of, server_with
from agent_env.tasks.sample_files import samples_bytes
from agent_env.wiring.components import settings_now, versions
from agent_env.wiring.plugins import uses_in, with_model
from agent_env.wiring.trust import check_trust, how_to_trust, record_run


async def resume(
    run: Run, options: ResumeOptions, listener: Listener, engine: Engine | None = None
) -> None:
    """Runs missing episodes, and continues interrupted and failed ones after their last event.
    ConfigError for changes of code, model or limits that are not accepted (a server named in
    `options` is), for a folder that is not trusted with its settings, and for a preflight that
    finds the run invalid."""
    from agent_env.episodes.rerun.resume import changes
    from agent_env.episodes.run_folder import pending

    if options.model is not None:
        name = await resolve_model(options.model, options.api_key_env)
        options = replace(options, model=name)
    changed = check_resumed(run, options, listener.note)
    manifest, now = run.manifest, versions()
    waiting = pending(run, run.samples, manifest.conditions, manifest.repeats)
    is_unfinished = next(waiting, None) is not None
    update: dict[str, object] = {"plugins": uses_in(changed, run.permit)}
    if is_unfinished:  # what is over needs nothing
        update["features"] = await settings_now(changed, listener.note, run.plugins)
    changed = changed.model_copy(update=update)
    differences = changes(run, manifest, changed, now)
    _check_accepted(run, options, differences)
    async with AsyncExitStack() as stack:
        stack.callback(run.drop_objects)
        if _was_refused(run):
            changed = changed.model_copy(update={"preflights": ()})
        one, other = (m.model_parameters.get("base_url") for m in (changed, manifest))
        is_other = (changed.model, one) != (manifest.model, other)
        if is_unfinished:
            changed = await start_server(run, changed, listener.note, stack)
        if manifest.preflights and (not changed.preflights or is_other):
            note, anyway = listener.note, options.anyway
            preflight = await preflight_update(run, changed, anyway, note, stack)
            changed = changed.model_copy(update=preflight)
        if differences:
            listener.note(f"accepted: {'; '.join(differences)}")
            at = datetime.now(UTC).isoformat(timespec="seconds")
            history = (*manifest.changes, *(f"{at} {line}" for line in differences))
            changed = changed.model_copy(update={"changes": history, "versions": now})
        if changed != manifest:
            pairs = {n: (getattr(manifest, n), getattr(changed, n)) for n in Manifest.model_fields}
            run.change(**{name: now for name, (was, now) in pairs.items() if was != now})
            record_run(run, listener.note)
        strict = not options.accept_changes
        engine = engine or run_episodes
        await engine(run, options.concurrency, listener, options.run, strict)


def _check_accepted(run: Run, options: ResumeOptions, differences: Sequence[str]) -> None:
    """ConfigError for a change that is neither accepted nor in this call's options."""
    settings = {"base_url": options.base_url, "api_key_env": options.api_key_env}
    prefixes = tuple(f"model {name}: " for name, value in settings.items() if value is not None)
    changes = [line for line in differences if not (prefixes and line.startswith(prefixes))]
    if changes and not options.accept_changes:
        raise ConfigError(
            f"changed since {run.path} began: {'; '.join(changes)}. "
            "Continue anyway with --accept-changes, or start a new run"
        )


def _was_refused(run: Run) -> bool:
    """Whether the preflight refused the run, so that it has no episode."""
    from agent_env.episodes.calls.preflight import refusal

    manifest = run.manifest
    if not manifest.preflights or next(run.traces(), None) is not None:
        return False
    return refusal(manifest.preflights[-1], manifest.is_in_text) is not None


def check_resumed(run: Run, options: ResumeOptions, note: Callable[[str], None]) -> Manifest:
    """The manifest with the changes of `options`; ConfigError for a folder not trusted."""
    run.check_ours("resumed")
    manifest = run.manifest
    entries = moved_entries(manifest, options, run.objects, is_same_server=True)
    changed = manifest.model_copy(update=entries)
    from_call = settings_from_call(manifest, options)
    check_trust(run, changed, note, confirmed=options.trust_run, from_call=from_call)
    run.check_scorer()
    return changed


# What determines a run that goes on ---------------------------------------------------------------


def moved_entries(
    manifest: Manifest,
    options: ResumeOptions | ForkOptions,
    objects: Objects = NO_OBJECTS,
    *,
    is_same_server: bool,
) -> dict[str, Any]:
    """The entries of run.json that these options change: the model, its server and its parameters,
    and other options of the run. `is_same_server`: another address is the same server's, which then
    gets its own provider fields back."""
    update = with_changes(manifest.model_dump(), options.changes)
    settings = update.get("features", manifest.features)
    new_model, url, update["features"] = other_server(settings, options.model, options.base_url)
    if new_model is not None:
        update |= with_model(manifest, new_model, objects)
    name, before = update.get("model", manifest.model), manifest.model_parameters
    is_same = is_same_server and name == manifest.model
    parameters = update.get("model_parameters", before)
    if name == manifest.model or name.startswith(COMPATIBLE):
        url = url or parameters.get("base_url")
    now = moved(parameters, url, options.api_key_env, is_same)
    update["model_parameters"] = now
    if not is_same_server:
        return update
    if not is_same:
        update["former_urls"] = ()
    elif now["base_url"] != before.get("base_url"):
        update["former_urls"] = (*manifest.former_urls, str(before.get("base_url")))
    return update


def settings_from_call(manifest: Manifest, options: ResumeOptions | ForkOptions) -> tuple[str, ...]:
    """The settings that come from this call's options, not from the run's folder."""
    named = manifest.model_parameters.get("base_url") is not None
    address = options.base_url is not None or split_address(options.model or "")[1] is not None
    address = address or server_with(options.model) is not None
    address = address or (options.model is not None and not named)
    settings = {"address": address, "key": options.api_key_env, "model": options.model}
    return tuple(name for name, value in settings.items() if value)


def fresh_manifest(manifest: Manifest, permit: Permit) -> Manifest:
    """The manifest of a new run with the same settings; the permit is the old one's."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    update: dict[str, object] = {
        "id": token_hex(6),
        "versions": versions(),
        "plugins": uses_in(manifest, permit),
    }
    driver = driver_of(manifest.features)
    kept = {n: its for n, its in manifest.features.items() if driver is None or n != driver.name}
    update |= {"created_at": now, "features": kept, "calls_tier": None}
    return manifest.model_copy(update=update | {"changes": (), "preflights": ()})


# Runs that another command begins, and continues with by itself -----------------------------------


async def ask(options: RunOptions, samples: Sequence[Sample], listener: Listener) -> Run:
    """Runs the samples, or the missing ones of an existing run."""
    data = samples_bytes(samples[: options.limit])
    with TemporaryDirectory() as folder:
        dataset = Path(folder) / f"{options.task}.jsonl"
        dataset.write_bytes(data)
        plain = replace(options, dataset=dataset, repeats=1, where=(), prompt="default")
        return await begin_or_continue(plain, data, listener)


async def begin_or_continue(options: RunOptions, data: bytes, listener: Listener) -> Run:
    """Runs the dataset of the options, or what is missing of an existing run of it in their folder;
    `data` are the bytes of the samples that they select. ConfigError where the folder holds another
    run."""
    (name,) = await resolve_models([options.model], options.api_key_envs)
    options = replace(options, model=name)
    run = Run(options.out) if options.out else None
    if run is None or not (run.path / "run.json").exists():
        return await start_run(options, listener)
    manifest = run.manifest
    if (manifest.task, manifest.model) != (options.task, options.model) or (
        manifest.samples_digest != digest(data)
    ):
        raise ConfigError(f"{run.path} holds another run; name another folder for this one")
    check_trust(run, manifest, listener.note, from_call=("address",), option=how_to_trust(run))
    (options,) = options.addressed([options.model])
    before = manifest.model_parameters.get("base_url")
    if before != options.base_url:  # the server moved
        parameters = manifest.model_parameters | {"base_url": options.base_url}
        former = (*manifest.former_urls, str(before))
        run.change(model_parameters=parameters, former_urls=former)
        record_run(run, listener.note)
    await run_episodes(run, options.concurrency, listener, options.calls.run)
    return run
