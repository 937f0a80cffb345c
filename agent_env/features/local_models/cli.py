"""Models that can run on this machine, and a server of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, print_table, say

if TYPE_CHECKING:
    from agent_env.features.local_models.files import LocalFile

COLUMNS = ("model", "quantisation", "architecture", "context", "MB", "licence", "remark")


def models(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Where to look for GGUF files; default: the usual caches."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models that can run on this machine: packaged weights and GGUF files.

    Example: agent-env models ~/Downloads
    """
    from agent_env.features.local_models.files import (
        INSTALL_SERVER,
        INSTALL_WEIGHTS,
        all_files,
        server_build,
    )
    from agent_env.sdk.errors import ConfigError
    from agent_env.sdk.results import Column, ResultTable

    if folder is not None and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder; name one that holds GGUF files")
    rows = [_facts(each) for each in all_files(folder)]
    build = server_build()
    if as_json:
        print(json.dumps({"server": build, "models": rows}))
        return
    if rows:
        cells = tuple(tuple(row[name] for name in COLUMNS) for row in rows)
        print_table(ResultTable("models", "Models here", tuple(map(Column, COLUMNS)), cells))
    if not any(row["model"] == "local" for row in rows):
        say(f"no packaged weights; to have a small model: {INSTALL_WEIGHTS}")
    say(f"server: {build}" if build else f"no server; install it: {INSTALL_SERVER}")


def _facts(model: LocalFile) -> dict[str, str | int | None]:
    from agent_env.features.local_models.files import licence_of
    from agent_env.features.local_models.gguf import read_header
    from agent_env.sdk.errors import DatasetError

    facts = dict.fromkeys(COLUMNS) | {"model": model.name}
    try:
        header = read_header(model.file)
    except DatasetError as exc:
        return facts | {"remark": str(exc).removeprefix(f"{model.file}: ")}
    return facts | {
        "quantisation": header.quantisation,
        "architecture": header.architecture,
        "context": header.context_tokens,
        "MB": round(model.file.stat().st_size / 1e6),
        "licence": licence_of(model, header),
        "remark": header.name if header.has_template else "no chat template: a base model",
    }


def serve_model(
    model: Annotated[str, typer.Argument(help="local, or local/FILE.gguf.")] = "local",
    port: Annotated[int | None, Opt("Default: a free one.", min=1, max=65535)] = None,
    context: Annotated[
        int | None, Opt("Tokens a request may have; default: 16384 or the model's.", min=256)
    ] = None,
    slots: Annotated[int, Opt("Requests at the same time.", min=1)] = 2,
    threads: Annotated[int | None, Opt("Default: all processors but one.", min=1)] = None,
    chat_template: Annotated[
        str | None,
        Opt(
            "A Jinja file in place of the model's own, or fenced-json, for models that write calls "
            "as JSON in a fenced block."
        ),
    ] = None,
) -> None:
    """Keep a local model's server running, for several runs and other commands; Ctrl-C ends it.

    Example: agent-env serve model local/qwen3-0.6b.gguf --port 8080
    """
    import asyncio
    from contextlib import AsyncExitStack
    from tempfile import TemporaryDirectory

    from agent_env.features.local_models.files import local_server, words_of
    from agent_env.features.local_models.process import ServerProcess, free_port
    from agent_env.sdk.run import own_call

    name, server = local_server(model, slots, threads, context, chat_template)
    asked = name.replace("local/", "compatible/", 1)
    chosen = port or free_port()
    url = f"http://127.0.0.1:{chosen}/v1"

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            log = Path(stack.enter_context(TemporaryDirectory())) / "server.log"
            words = words_of(server, chosen)
            process = ServerProcess(server.command, words, url, log, say, permit=own_call())
            await process.start()
            stack.push_async_callback(process.close)
            print(url, flush=True)
            say(f"Ctrl-C ends it. Try: agent-env run time-puzzles --model {asked}@{url}")
            await process.until_given_up()

    asyncio.run(serve())
