"""The server of a run's model, where a feature starts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from agent_env.models.addresses import server_url, split_address
from agent_env.records.manifest import Manifest
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.draft import with_server
from agent_env.tasks.features import server_of, server_with, servers, settings_of_features

if TYPE_CHECKING:
    from agent_env.runs.run import Run


def other_server(
    settings: Mapping[str, Any], model: str | None, url: str | None
) -> tuple[str | None, str | None, Mapping[str, Any]]:
    """Of the options of `resume` and `fork`: the other model's name in run.json, its address, and
    the run's settings of features with the server that is started for it, or without the one that
    is started no more."""
    url = (url and server_url(url)) or split_address(model or "")[1]
    if model is None and url is None:
        return None, None, settings
    before = server_of(settings)
    settings = {name: its for name, its in settings.items() if name != before}
    if model is not None and server_with(model) is not None:
        options, server = with_server(RunOptions("", model=model))
        model, url = options.model, options.base_url
        settings |= {name: its.model_dump(mode="json") for name, its in server.items()}
    return model, url, settings


async def start_server(
    run: Run, manifest: Manifest, note: Callable[[str], None], stack: AsyncExitStack
) -> Manifest:
    """Starts the server of the manifest, unless the run has it already; it is ended with the stack.
    The manifest as it is then: with what the server says of itself, and at another address where
    the recorded one is taken."""
    name = server_of(manifest.features)
    if name is None or run.server is not None:
        return manifest
    settings = settings_of_features(manifest.features, str(run.path))[name]
    before = str(manifest.model_parameters.get("base_url"))
    run.server = await servers()[name].start(run, manifest.model, before, settings, note, stack)
    stack.callback(setattr, run, "server", None)
    now = run.server.settings.model_dump(mode="json")
    update: dict[str, object] = {"features": manifest.features | {name: now}}
    if run.server.url != before:
        update["model_parameters"] = manifest.model_parameters | {"base_url": run.server.url}
        update["former_urls"] = (*manifest.former_urls, before)
    return manifest.model_copy(update=update)


async def begin_server(run: Run, note: Callable[[str], None], stack: AsyncExitStack) -> Manifest:
    """`start_server` for the run's own manifest, which keeps what changed."""
    manifest = run.manifest
    begun = await start_server(run, manifest, note, stack)
    if begun != manifest:
        run.change(
            features=begun.features,
            model_parameters=begun.model_parameters,
            former_urls=begun.former_urls,
        )
    return begun
