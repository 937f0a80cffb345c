"""Servers that a run starts for its model: `--serve COMMAND` and `--model local`."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.models.addresses import COMPATIBLE, split_address
from agent_env.models.serving.process import ServerProcess, free_port, is_free, served_permit
from agent_env.records.manifest import Manifest
from agent_env.records.model_server import ModelServer
from agent_env.runs.options.run_options import RunOptions
from agent_env.wiring.local_models import (
    LOCAL,
    SMALL_FORMATS,
    SMALL_LIMITS,
    SMALL_MODEL,
    is_local,
    local_server,
    words_of,
)
from agent_env.wiring.models import facts_of_server

if TYPE_CHECKING:
    from agent_env.runs.run import Run

LOCAL_SLOTS = 2
"""Requests at a time that our own server has room for."""


def with_server(
    options: RunOptions, note: Callable[[str], None]
) -> tuple[RunOptions, ModelServer | None]:
    """The options with the model's name, address and parameters as its server needs them, and how
    that server is started; None where we start none. ConfigError where it cannot be started."""
    if is_local(options.model):
        return _with_local(options, note)
    if options.chat_template is not None:
        raise ConfigError(
            f"--chat-template is for --model local; give it to the server of {options.model}"
        )
    if options.serve is None:
        return options, None
    if not options.model.startswith(COMPATIBLE):
        raise ConfigError(
            f"--serve starts the server of a model compatible/NAME, not of {options.model}"
        )
    if "{port}" not in options.serve:
        if options.base_url is None:
            raise ConfigError(
                "--serve: write --port {port} in the command, for which a free one is put, or say "
                "by --base-url where the server will be"
            )
        return options, ModelServer(command=options.serve)
    if options.base_url is not None:
        raise ConfigError("--serve with {port} and --base-url exclude each other; drop one")
    return replace(options, base_url=_address(free_port())), ModelServer(command=options.serve)


def _with_local(options: RunOptions, note: Callable[[str], None]) -> tuple[RunOptions, ModelServer]:
    if options.serve is not None:
        raise ConfigError("--serve is for compatible/NAME; a local model brings its command")
    slots = min(options.concurrency, LOCAL_SLOTS)
    name, server = local_server(options.model, slots, template=options.chat_template)
    assert server.file is not None
    if options.model == LOCAL:
        options = replace(
            options,
            parameters={**SMALL_MODEL, **options.parameters},
            limits={**SMALL_LIMITS, **options.limits},
            answer_formats=options.answer_formats or SMALL_FORMATS,
        )
    file = server.file
    licence = f", licence {file.licence}" if file.licence else ""
    note(f"{name}: {file.quantisation or 'unknown quantisation'}{licence}, by {server.build}")
    url = _address(free_port())
    return replace(options, model=name, base_url=url, concurrency=slots), server


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def other_server(
    model: str | None, url: str | None
) -> tuple[str | None, str | None, dict[str, object]]:
    """Of the options of `resume` and `fork`: the other model's name in run.json, its address, and
    the entry of the server that we start for it, or do not start any more."""
    if model is not None and is_local(model):
        name, server = local_server(model, LOCAL_SLOTS)
        return name, _address(free_port()), {"server": server}
    url = url or split_address(model or "")[1]
    return model, url, {} if model is None and url is None else {"server": None}


async def start_server(
    run: Run, manifest: Manifest, note: Callable[[str], None], stack: AsyncExitStack
) -> Manifest:
    """Starts the server of the manifest, unless the run has it already; it is ended with the stack.
    The manifest as it is then: with what the server says of itself, and at another port where the
    recorded one is taken."""
    server = manifest.server
    if server is None or run.server is not None:
        return manifest
    parameters, former = manifest.model_parameters, manifest.former_urls
    url, port = str(parameters.get("base_url")), None
    if not re.fullmatch(r"https?://[^/@]+:\d+(/.*)?", url):
        raise ConfigError(f"{run.path}/run.json: its server is at no HOST:PORT, but at {url}")
    if "{port}" in server.command:
        port = int(url.rpartition(":")[2].partition("/")[0])
        if not is_free(port):
            port = free_port()
            former, url = (*former, url), _address(port)
            parameters = parameters | {"base_url": url}
    run.permit = served_permit(run.permit, server.command, url)  # at another port, too
    process = ServerProcess(
        server.command, words_of(server, port), url, run.place("server.log"), note,
        permit=run.permit,
    )  # fmt: skip
    await process.start()
    stack.push_async_callback(process.close)
    run.server = process
    stack.callback(setattr, run, "server", None)
    facts = await facts_of_server(manifest.model, url, run.plugins)
    seen = {
        "models": facts.models,
        "context_tokens": facts.context_tokens,
        "template_digest": facts.template_digest,
    }
    return manifest.model_copy(
        update={
            "server": server.model_copy(update=seen),
            "model_parameters": parameters,
            "former_urls": former,
        }
    )


async def begin_server(run: Run, note: Callable[[str], None], stack: AsyncExitStack) -> Manifest:
    """`start_server` for the run's own manifest, which keeps what changed."""
    manifest = run.manifest
    begun = await start_server(run, manifest, note, stack)
    if begun != manifest:
        run.change(
            server=begun.server,
            model_parameters=begun.model_parameters,
            former_urls=begun.former_urls,
        )
    return begun
