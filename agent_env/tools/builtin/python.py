"""The `python` tool: a stateful code interpreter in a sandbox."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from agent_env.protocols import Sandbox, Supplies, ToolDeclaration
from agent_env.records.schema import ExecResult, ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.tools.toolbox import parse_arguments, tool_spec

MAX_CODE = 200_000
"""Characters of code in one call."""
NO_OUTPUT = "(no output)"


class PythonArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str = Field(min_length=1, max_length=MAX_CODE, description="Python source to run.")


class Interpreter:
    """Runs code in the episode's Sandbox session."""

    def __init__(self, sandbox: Sandbox, importable: tuple[str, ...], timeout_s: float) -> None:
        self._sandbox = sandbox
        self._timeout_s = timeout_s
        self._one_at_a_time = asyncio.Lock()  # calls of one step share the session's variables
        packages = f" and {', '.join(importable)}" if importable else ""
        self.spec = tool_spec(
            "python",
            "Run Python 3 code. Variables are kept between calls. What the code prints and the "
            "value of its last expression are returned. Processes end with the call that started "
            "them; threads pause between calls. There is no network. Importable: the standard "
            f"library{packages}. A call may take {timeout_s:g} seconds.",
            PythonArguments,
        )

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        request = parse_arguments(PythonArguments, arguments)
        async with self._one_at_a_time:
            result = await self._sandbox.run(request.code, self._timeout_s)
        return ToolResult(
            output=_as_text(result), error=_error_of(result), duration_s=result.duration_s
        )

    async def lose_session(self, is_timeout: bool) -> ToolResult:
        async with self._one_at_a_time:
            await self._sandbox.run("import os\nos._exit(1)", self._timeout_s)
        text = f"stopped after {self._timeout_s:g} s" if is_timeout else "the process ended"
        result = ExecResult(status="timeout" if is_timeout else "crashed", error=text)
        return ToolResult(output=_as_text(result), error=_error_of(result))

    def empty_output(self, arguments: dict[str, object]) -> str:
        return NO_OUTPUT


def _open(supplies: Supplies) -> Interpreter:
    assert supplies.sandbox is not None  # a tool that needs one gets it
    return Interpreter(supplies.sandbox, supplies.importable, supplies.timeout_s)


TOOL = ToolDeclaration(
    ToolTraits(
        name="python",
        needs_sandbox=True,
        keeps_state=True,
        gives_dates=True,
        hosted="code_interpreter",
    ),
    _open,
)


def _as_text(result: ExecResult) -> str:
    parts = [result.stdout.rstrip("\n")]
    if result.value is not None:
        parts.append(result.value)
    if result.stderr:
        parts.append(f"[stderr]\n{result.stderr.rstrip()}")
    if result.error is not None:
        parts.append(result.error.rstrip())
    if result.status in ("timeout", "crashed"):
        parts.append("[All variables are lost. The next call starts a new session.]")
    return "\n".join(part for part in parts if part) or NO_OUTPUT


def _error_of(result: ExecResult) -> str | None:
    if result.status == "ok":
        return None
    last = (result.error or "").strip().rsplit("\n", 1)[-1]
    return f"{result.status}: {last}" if last else result.status
