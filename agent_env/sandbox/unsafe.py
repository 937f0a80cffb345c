"""No sandbox at all: the worker as a child of the harness, with its files, network and environment.

For debugging a worker and for showing that an attack works. Never chosen unless named.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_env.errors import SandboxError
from agent_env.permits import Permit
from agent_env.records.reach import Reach
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.session import Session, StreamLine, expect_ready, no_clock, reader_limit


class UnsafeSubprocess:
    """Sessions that can do all that the harness can."""

    name = "unsafe-subprocess"

    def __init__(self, limits: SandboxLimits, permit: Permit) -> None:
        permit.check(Reach.CODE, self.name)
        self._limits = limits
        self._executing = asyncio.Semaphore(2 * (os.cpu_count() or 1))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def session(self, today: date | None = None) -> Session:
        """A new session, a child process once entered."""
        if today is not None:
            raise no_clock(self.name)
        return Session(self._open_line, self._limits, self._executing)

    async def _open_line(self) -> StreamLine:
        start = (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
            "from agent_env.sandbox.worker import main; main()"
        )
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-B", "-c", start, str(self._limits.output_bytes)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=reader_limit(self._limits),
            start_new_session=True,
        )
        if child.stdin is None or child.stdout is None:
            raise SandboxError("the child process has no pipes")

        async def end() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()

        line = StreamLine(child.stdout, child.stdin, end)
        await expect_ready(line, "a subprocess")
        return line
