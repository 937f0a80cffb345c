"""Commands that try a sandbox by hand."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent_env.schema import ExecResult

Backend = Annotated[str, typer.Option("--sandbox", help="auto or a backend that doctor lists.")]
Memory = Annotated[int, typer.Option("--memory", min=1, help="MB for the whole session.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.01, help="Seconds for a call.")]

sandbox_commands = typer.Typer(help="Try a sandbox by hand.", no_args_is_help=True)


@sandbox_commands.command("run")
def run_file(
    file: Annotated[Path, typer.Argument(help="Python source.")],
    sandbox: Backend = "auto",
    timeout: Timeout = 30.0,
    memory: Memory = 512,
) -> None:
    """Run one file in a fresh session and print the ExecResult as JSON.

    Example: agent-env sandbox run attack.py --sandbox namespaces --timeout 5
    """
    from agent_env.errors import ConfigError

    try:
        code = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"cannot read {file}: {exc}") from exc
    print(asyncio.run(_run(code, sandbox, timeout, memory)).model_dump_json(indent=2))


async def _run(code: str, sandbox: str, timeout_s: float, memory: int) -> ExecResult:
    from agent_env.sandbox.choose import SandboxLimits, choose

    backend = await choose(sandbox, SandboxLimits(memory_mb=memory))
    async with backend, backend.session() as session:
        return await session.run(code, timeout_s)


@sandbox_commands.command()
def shell(sandbox: Backend = "auto", timeout: Timeout = 30.0, memory: Memory = 512) -> None:
    """A prompt inside a sandbox: a blank line runs what was typed, Ctrl-D ends.

    Example: agent-env sandbox shell --sandbox bubblewrap
    """
    asyncio.run(_shell(sandbox, timeout, memory))


async def _shell(sandbox: str, timeout_s: float, memory: int) -> None:
    from agent_env.sandbox.choose import SandboxLimits, choose

    backend = await choose(sandbox, SandboxLimits(memory_mb=memory))
    async with backend, backend.session() as session:
        print(f"{backend.name}; a blank line runs, Ctrl-D ends", file=sys.stderr)
        while (code := await asyncio.to_thread(_typed)) is not None:
            _show(await session.run(code, timeout_s))


def _typed() -> str | None:
    """The lines up to a blank one; None at the end of the input."""
    lines: list[str] = []
    while True:
        try:
            line = input("... " if lines else ">>> ")
        except EOFError:
            return "\n".join(lines) if lines else None
        if not line and lines:
            return "\n".join(lines)
        if line:
            lines.append(line)


def _show(result: ExecResult) -> None:
    texts = (result.stdout, result.stderr, result.value, result.error)
    print("\n".join(text.rstrip("\n") for text in texts if text))
    if result.status != "ok":
        print(f"[{result.status} after {result.duration_s:.3f} s]")
