"""A Python session that begins with something in it, again after every loss of the session."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Self

from agent_env.errors import SandboxError
from agent_env.protocols import Sandbox
from agent_env.records.execution import ExecResult

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
