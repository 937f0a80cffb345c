"""A function that runs in the episode's sandbox: its source is sent there, and its arguments.

The function stands alone: it imports what it needs in its body, takes and gives what JSON has, and
is no coroutine. Variables of its module and other functions are not there.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable
from textwrap import dedent
from types import TracebackType
from typing import Any, Self

from agent_env.errors import ConfigError, SandboxError
from agent_env.protocols import Sandbox
from agent_env.records.schema import ExecResult, ToolResult


def source_of(function: Callable[..., Any]) -> str:
    """Its definition without decorators and type hints, which need names that are not there."""
    if inspect.isclass(function) or inspect.iscoroutinefunction(function):
        raise ConfigError(f"{function.__name__}: a sandboxed tool is a plain def")
    try:
        tree = ast.parse(dedent(inspect.getsource(function)))
    except (OSError, SyntaxError) as exc:
        raise ConfigError(f"{function.__name__}: its source cannot be read: {exc}") from exc
    (definition,) = tree.body
    if not isinstance(definition, ast.FunctionDef):
        raise ConfigError(f"{function.__name__}: a sandboxed tool is a plain def")
    definition.decorator_list, definition.returns, definition.name = [], None, "_tool"
    for each in [*definition.args.args, *definition.args.kwonlyargs]:
        each.annotation = None
    return ast.unparse(definition)


class SandboxedFunction:
    """Calls the function in a session; defined anew each time, as a session may be lost."""

    def __init__(self, sandbox: Sandbox, source: str, timeout_s: float) -> None:
        self._sandbox = sandbox
        self._source = source
        self._timeout_s = timeout_s

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """The function's value; its error is the model's to read."""
        args = json.dumps(json.dumps(arguments))
        code = f"{self._source}\nimport json as _json\n_value = _tool(**_json.loads({args}))\n" + (
            "print(_value if isinstance(_value, str) else "
            "_json.dumps(_value, ensure_ascii=False, default=str))"
        )
        result = await self._sandbox.run(code, self._timeout_s)
        text = result.stdout.rstrip("\n")
        if result.status == "ok":
            return ToolResult(output=text, duration_s=result.duration_s)
        problem = (result.error or result.status).strip().rsplit("\n", 1)[-1]
        return ToolResult(
            output=f"Error: {problem}", error=f"{result.status}: {problem}",
            duration_s=result.duration_s,
        )  # fmt: skip


CHUNK = 100_000
"""Characters of setup code sent in one call; sandboxes bound the code of a call."""


class Prepared:
    """Runs the setup before the first call of a session, unseen by the model. Closing the session
    is left to whoever opened it."""

    def __init__(self, inner: Sandbox, setup: str, timeout_s: float) -> None:
        self._inner = inner
        self._setup = setup
        self._timeout_s = timeout_s
        self._ready = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    async def run(self, code: str, timeout_s: float) -> ExecResult:
        """What the code did; SandboxError where the setup could not be run."""
        if not self._ready:
            await self._prepare()
        result = await self._inner.run(code, timeout_s)
        self._ready = result.status in ("ok", "error")
        return result

    async def _prepare(self) -> None:
        """A name of its own holds the text until it is whole."""
        starts = range(0, len(self._setup), CHUNK)
        parts = [json.dumps(self._setup[at : at + CHUNK]) for at in starts]
        codes = ["_setup = ''", *(f"_setup += {part}" for part in parts), "exec(_setup)"]
        for code in [*codes, "del _setup"] if len(parts) > 1 else [self._setup]:
            result = await self._inner.run(code, self._timeout_s)
            if result.status != "ok":
                raise SandboxError(f"the session could not be prepared: {result.error}")
        self._ready = True
