"""Finishing a run: what is missing of it is run, as it began or as the user wishes now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from agent_env.errors import ConfigError
from agent_env.models.addresses import moved, split_address
from agent_env.records.manifest import Manifest
from agent_env.runs.options import ForkOptions, ResumeOptions, with_changes
from agent_env.runs.run import Run
from agent_env.runs.start import Engine, Listener, is_in_text, preflight_update, run_episodes
from agent_env.wiring.rooms import versions
from agent_env.wiring.trust import check_trust, record_run


async def resume(
    run: Run, options: ResumeOptions, listener: Listener, engine: Engine | None = None
) -> None:
    """Finish what is unfinished: whole episodes, and those cut off or failed from their last
    event on. Raises ConfigError where code, model or limits changed and that is not accepted; a
    server that `options` name is. Raises it too where the folder is not trusted with what it
    asks for, or a preflight tells that the run would mean nothing."""
    from agent_env.episodes.again.changes import changes

    wished = check_resumed(run, options, listener.note)
    manifest, now = run.manifest(), versions()
    found = changes(run, manifest, wished, now)
    _check_accepted(run, options, found)
    async with AsyncExitStack() as stack:
        stack.callback(run.let_go)
        if _was_refused(run):
            wished = wished.model_copy(update={"preflights": ()})
        if manifest.preflights and (not wished.preflights or _server(wished) != _server(manifest)):
            note, anyway = listener.note, options.anyway
            told = await preflight_update(run, wished, anyway, note, stack)
            wished = wished.model_copy(update=told)
        if found:
            listener.note(f"accepted: {'; '.join(found)}")
            at = datetime.now(UTC).isoformat(timespec="seconds")
            noted = (*manifest.changes, *(f"{at} {line}" for line in found))
            wished = wished.model_copy(update={"changes": noted, "versions": now})
        if wished != manifest:
            pairs = {n: (getattr(manifest, n), getattr(wished, n)) for n in Manifest.model_fields}
            run.change(**{name: now for name, (was, now) in pairs.items() if was != now})
            record_run(run, listener.note)
        strict = not options.accept_changes
        await (engine or run_episodes)(run, options.concurrency, listener, options.run, strict)


def _check_accepted(run: Run, options: ResumeOptions, found: Sequence[str]) -> None:
    """ConfigError where a change is neither accepted nor what this call's options say."""
    given = {"base_url": options.base_url, "api_key_env": options.api_key_env}
    own = tuple(f"model {name}: " for name, value in given.items() if value is not None)
    others = [line for line in found if not (own and line.startswith(own))]
    if others and not options.accept_changes:
        raise ConfigError(
            f"changed since {run.path} began: {'; '.join(others)}. "
            "Go on all the same with --accept-changes, or start a new run"
        )


def _was_refused(run: Run) -> bool:
    """Whether the preflight refused the run, so that no episode was begun."""
    from agent_env.episodes.calls.preflight import refusal

    manifest = run.manifest()
    if not manifest.preflights or next(run.traces(), None) is not None:
        return False
    return refusal(manifest.preflights[-1], is_in_text(manifest)) is not None


def _server(manifest: Manifest) -> tuple[str, object]:
    return manifest.model, manifest.model_parameters.get("base_url")


def check_resumed(run: Run, options: ResumeOptions, note: Callable[[str], None]) -> Manifest:
    """The run's manifest as `options` wish it; ConfigError where the folder is not trusted with
    what it asks for."""
    manifest = run.manifest()
    wished = _as_wished(manifest, options)
    own = own_settings(manifest, options)
    check_trust(run, wished, note, confirmed=options.trust_run, own=own)
    return wished


def _as_wished(manifest: Manifest, options: ResumeOptions) -> Manifest:
    update = with_changes(manifest.model_dump(), options.changes)
    model = options.model or manifest.model
    url = options.base_url or split_address(options.model or "")[1]
    is_same, before = model == manifest.model, manifest.model_parameters
    now = moved(update.get("model_parameters", before), model, url, options.api_key_env, is_same)
    update |= {"model": model, "model_parameters": now}
    if not is_same:
        update["former_urls"] = ()
    elif now["base_url"] != before.get("base_url"):
        update["former_urls"] = (*manifest.former_urls, str(before.get("base_url")))
    return manifest.model_copy(update=update)


def own_settings(manifest: Manifest, options: ResumeOptions | ForkOptions) -> tuple[str, ...]:
    """The settings that this call's options give instead of the run's folder."""
    named = manifest.model_parameters.get("base_url") is not None
    address = options.base_url is not None or split_address(options.model or "")[1] is not None
    address = address or (options.model is not None and not named)
    key = options.api_key_env is not None
    return (("address",) if address else ()) + (("key",) if key else ())
