"""A sandbox by hand: one file, or a prompt. The command line parses and prints, this does."""

from __future__ import annotations

import asyncio
import codeop
from collections.abc import Callable
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.protocols import SandboxBackend
from agent_env.records.schema import ExecResult
from agent_env.sandbox.limits import DEFAULT_TIMEOUT_S

Prompt = Callable[[str], str | None]
"""Shows a prompt and gives the line typed, or None at the end of input; may block."""
Write = Callable[[str], None]


def read_code(path: Path) -> str:
    """The file's text; ConfigError where it cannot be read as UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path} is not UTF-8 at byte {exc.start}; save it as UTF-8") from exc


async def run_file(
    path: Path, backend: SandboxBackend, timeout_s: float = DEFAULT_TIMEOUT_S
) -> ExecResult:
    """What the file does in a session of its own; the backend must not be open yet."""
    code = read_code(path)
    async with backend, backend.session() as session:
        return await session.run(code, timeout_s)


async def shell(
    backend: SandboxBackend, read: Prompt, write: Write, timeout_s: float = DEFAULT_TIMEOUT_S
) -> None:
    """Read, run and write until the end of input; the backend must not be open yet."""
    async with backend, backend.session() as session:
        while (code := await asyncio.to_thread(read_statement, read)) is not None:
            result = await session.run(code, timeout_s)
            for text in (result.stdout, result.stderr, result.value, result.error):
                if text:
                    write(text if text.endswith("\n") else text + "\n")


def read_statement(read: Prompt) -> str | None:
    """Lines until they make a whole statement, as at Python's own prompt."""
    lines: list[str] = []
    while True:
        line = read("... " if lines else ">>> ")
        if line is None:
            return None
        lines.append(line)
        code = "\n".join(lines)
        try:
            if codeop.compile_command(code) is not None:
                return code
        except (SyntaxError, ValueError, OverflowError):
            return code  # the session will say what is wrong with it
