"""What this machine has: models and a server of one, sandboxes, and what else works or does not."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import AsJson, print_table, say
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.wiring.local_models import LocalFile

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
    from agent_env.analysis.result_tables import Column, ResultTable
    from agent_env.errors import ConfigError
    from agent_env.wiring.local_models import (
        INSTALL_SERVER,
        INSTALL_WEIGHTS,
        all_files,
        server_build,
    )

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
    from agent_env.errors import DatasetError
    from agent_env.models.gguf import read_header
    from agent_env.wiring.local_models import licence_of

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

    from agent_env.models.serving.process import ServerProcess, free_port
    from agent_env.wiring.local_models import local_server, words_of
    from agent_env.wiring.trust import own_call

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


Backend = Annotated[str, Opt("auto or a backend that doctor lists.")]
Memory = Annotated[int, Opt("MB for the whole session.", min=1)]
Timeout = Annotated[float, Opt("Seconds for a call.", min=0.01)]


def run_file(
    file: Annotated[Path, typer.Argument(help="Python source.")],
    sandbox: Backend = "auto",
    timeout: Timeout = 30.0,
    memory: Memory = 512,
) -> None:
    """Run one file in a fresh session and print the ExecResult as JSON.

    Example: agent-env sandbox run attack.py --sandbox namespaces --timeout 5
    """
    import asyncio

    from agent_env.records.schema import ExecResult
    from agent_env.sandbox import by_hand
    from agent_env.wiring.sandboxes import choose_sandbox
    from agent_env.wiring.trust import own_plugins

    by_hand.read_code(file)  # a mistake in the file's name is said before a sandbox is looked for

    async def go() -> ExecResult:
        backend = await choose_sandbox(sandbox, own_plugins(), memory_mb=memory)
        return await by_hand.run_file(file, backend, timeout)

    print(asyncio.run(go()).model_dump_json(indent=2))


def shell(sandbox: Backend = "auto", timeout: Timeout = 30.0, memory: Memory = 512) -> None:
    """A Python prompt inside a sandbox; Ctrl-D ends it.

    Example: agent-env sandbox shell --sandbox bubblewrap
    """
    import asyncio

    from agent_env.sandbox import by_hand
    from agent_env.wiring.sandboxes import choose_sandbox
    from agent_env.wiring.trust import own_plugins

    async def go() -> None:
        backend = await choose_sandbox(sandbox, own_plugins(), memory_mb=memory)
        await by_hand.shell(backend, _prompt, partial(print, end="", flush=True), timeout)

    asyncio.run(go())


def _prompt(prompt: str) -> str | None:
    try:
        return input(prompt)
    except EOFError:
        return None


def doctor(
    probe: Annotated[bool, Opt("Probe sandboxes again that held earlier in this boot.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what works here: sandboxes, keys, tokenizers, extras.

    Example: agent-env doctor
    """
    import asyncio

    from agent_env.wiring.sandboxes import examine

    checks = asyncio.run(examine(probe))
    if as_json:
        print(json.dumps({check.name: {"ok": check.ok, "says": check.says} for check in checks}))
        return
    for check in checks:
        print(f"{'ok' if check.ok else '--':3} {check.name:24} {check.says}")
