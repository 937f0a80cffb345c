"""Finishing a run: what is missing of it is run, as it began or as the user wishes now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.models.addresses import moved, split_address
from agent_env.runs.options import ForkOptions, ResumeOptions, with_changes
from agent_env.runs.start import Engine, Listener, run_folder, with_preflight
from agent_env.wiring.rooms import versions
from agent_env.wiring.trust import check_trust, record_run

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.records.manifest import Manifest


async def resume(
    folder: RunFolder, options: ResumeOptions, listener: Listener, engine: Engine | None = None
) -> None:
    """Finish what is unfinished: whole episodes, and those cut off or failed from their last
    event on. Raises ConfigError where code, model or limits changed and that is not accepted; a
    server that `options` name is. Raises it too where the folder is not trusted with what it
    asks for."""
    from agent_env.episodes.again.changes import changes

    manifest, wished = check_resumed(folder, options, listener.note)
    now = versions()
    found = changes(folder, manifest, wished, now)
    asked = {"base_url": options.base_url, "api_key_env": options.api_key_env}
    opened = tuple(f"model {name}: " for name, value in asked.items() if value is not None)
    told = [line for line in found if opened and line.startswith(opened)]
    if len(told) < len(found) and not options.accept_changes:
        raise ConfigError(
            f"changed since {folder.path} began: "
            f"{'; '.join(line for line in found if line not in told)}. "
            "Go on all the same with --accept-changes, or start a new run"
        )
    if manifest.preflights and _server(wished) != _server(manifest):
        wished = await with_preflight(folder, wished, options.anyway, listener.note)
    if found:
        listener.note(f"accepted: {'; '.join(found)}")
        at = datetime.now(UTC).isoformat(timespec="seconds")
        noted = (*manifest.changes, *(f"{at} {line}" for line in found))
        folder.rewrite(wished.model_copy(update={"changes": noted, "versions": now}))
        record_run(folder, listener.note)
    strict = not options.accept_changes
    await (engine or run_folder)(folder, options.concurrency, listener, options.run, strict)


def _server(manifest: Manifest) -> tuple[str, object]:
    return manifest.model, manifest.model_parameters.get("base_url")


def check_resumed(
    folder: RunFolder, options: ResumeOptions, note: Callable[[str], None]
) -> tuple[Manifest, Manifest]:
    """The run's manifest, and as `options` wish it; ConfigError where the folder is not trusted
    with what it asks for."""
    manifest = folder.manifest()
    wished = _as_wished(manifest, options)
    own = own_settings(manifest, options)
    check_trust(folder, wished, note, confirmed=options.trust_run, own=own)
    return manifest, wished


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
