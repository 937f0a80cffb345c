"""What this machine has: sandboxes, and what else works or does not."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import AsJson
from agent_env.records.options import Opt

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
