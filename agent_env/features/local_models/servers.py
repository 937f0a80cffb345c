"""The server of a run's model: how it is started, by the run's options; and started."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from agent_env.features.local_models import LOCAL, LocalOptions
from agent_env.features.local_models.files import local_server, words_of
from agent_env.features.local_models.process import (
    ServerProcess,
    free_port,
    is_free,
    served_permit,
)
from agent_env.features.local_models.records import ModelServer
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import COMPATIBLE, StartedServer, facts_of_server

if TYPE_CHECKING:
    from agent_env.sdk.run import Run, RunOptions

LOCAL_SLOTS = 2
"""Requests at a time that our own server has room for."""
SMALL_MODEL: Mapping[str, JsonValue] = {
    "tool_protocol": "text",
    "temperature": 0,
    "max_output_tokens": 160,
    "extra_body": {"dry_multiplier": 0.8},
}
"""Parameters of the packaged models, where the user gives none: their templates know no tools, they
talk without end, and they repeat themselves, against which llama.cpp has the sampler DRY."""
SMALL_LIMITS = {"steps": 3}
"""Of their episodes: a search, a page and an answer; more only repeats."""
SMALL_FORMATS = ("schema",)
"""In which their answers and calls come: free ones have no form that could be read."""


def server_of_run(
    options: RunOptions, its: LocalOptions, is_local: bool, note: Callable[[str], None]
) -> tuple[RunOptions, ModelServer | None]:
    """The run's options as its server needs them, and how that is started; ConfigError where it
    cannot be."""
    if is_local:
        return _with_local(options, its, note)
    if its.chat_template is not None:
        raise ConfigError(
            f"--chat-template is for --model local; give it to the server of {options.model}"
        )
    if its.serve is None:
        return options, None
    if not options.model.startswith(COMPATIBLE):
        raise ConfigError(
            f"--serve starts the server of a model compatible/NAME, not of {options.model}"
        )
    if "{port}" not in its.serve:
        if options.base_url is None:
            raise ConfigError(
                "--serve: write --port {port} in the command, for which a free one is put, or say "
                "by --base-url where the server will be"
            )
        return options, ModelServer(command=its.serve)
    if options.base_url is not None:
        raise ConfigError("--serve with {port} and --base-url exclude each other; drop one")
    return replace(options, base_url=_address(free_port())), ModelServer(command=its.serve)


def _with_local(
    options: RunOptions, its: LocalOptions, note: Callable[[str], None]
) -> tuple[RunOptions, ModelServer]:
    if its.serve is not None:
        raise ConfigError("--serve is for compatible/NAME; a local model brings its command")
    slots = min(options.concurrency, LOCAL_SLOTS)
    name, server = local_server(options.model, slots, template=its.chat_template)
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


def server_of_model(model: str) -> tuple[str, str, ModelServer]:
    """The local model's name in run.json, its address and its server."""
    name, server = local_server(model, LOCAL_SLOTS)
    return name, _address(free_port()), server


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


async def start_server(
    run: Run,
    model: str,
    url: str,
    server: ModelServer,
    note: Callable[[str], None],
    stack: AsyncExitStack,
) -> StartedServer:
    """The server, when it is ready; it is ended with the stack."""
    port = None
    if not re.fullmatch(r"https?://[^/@]+:\d+(/.*)?", url):
        raise ConfigError(f"{run.path}/run.json: its server is at no HOST:PORT, but at {url}")
    if "{port}" in server.command:
        port = int(url.rpartition(":")[2].partition("/")[0])
        if not is_free(port):
            port = free_port()
            url = _address(port)
    run.permit = served_permit(run.permit, server.command, url)  # at another port, too
    process = ServerProcess(
        server.command, words_of(server, port), url, run.place("server.log"), note,
        permit=run.permit,
    )  # fmt: skip
    await process.start()
    stack.push_async_callback(process.close)
    facts = await facts_of_server(model, url, run.plugins)
    seen = {
        "models": facts.models,
        "context_tokens": facts.context_tokens,
        "template_digest": facts.template_digest,
    }
    is_packaged = server.file is not None and server.file.package is not None
    return StartedServer(url, server.model_copy(update=seen), process.is_up, is_packaged)
