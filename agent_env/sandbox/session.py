"""A session as the harness sees it: a line to a worker, opened anew when it was lost.

Everything that comes over the line is foreign: it is capped, parsed and checked, and whatever does
not fit counts as a crash of the session, never as an error of the harness.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr, ValidationError

from agent_env.errors import SandboxError
from agent_env.records.schema import ExecResult
from agent_env.sandbox.executor import line_cap
from agent_env.sandbox.limits import CODE_BYTES, SandboxLimits
from agent_env.sandbox.worker import PROTOCOL

GRACE_S = 2.0
"""How long the worker may take to report a timeout before it is ended from outside."""
START_S = 30.0
"""How long a session may take to be ready."""


def no_clock(name: str) -> SandboxError:
    """Of a backend whose sessions have the real clock."""
    return SandboxError(
        f"the sandbox {name} has the real clock; for a session on another day take --sandbox "
        "namespaces"
    )


class Line(Protocol):
    async def send(self, data: bytes) -> None:
        """Send all of it."""

    async def receive(self) -> bytes:
        """One whole line without its end; b"" where the worker hung up or overran the cap."""

    async def end(self) -> str | None:
        """Kill all that belongs to it and wait; says why it ended by itself where that is known."""


class WorkerReply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int
    status: Literal["ok", "error", "timeout", "crashed"]
    stdout: StrictStr
    stderr: StrictStr
    value: StrictStr | None
    error: StrictStr | None
    truncated: StrictBool


@dataclass(slots=True)
class Session:
    """One Sandbox; variables last until it closes, a call times out, or the process dies."""

    open_line: Callable[[], Awaitable[Line]]
    limits: SandboxLimits
    executing: asyncio.Semaphore
    """Held while a call runs; shared by all sessions of a backend."""
    _line: Line | None = None
    _calls: int = 0
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> Self:
        self._line = await self.open_line()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes; what cannot be ended now is swept at the next start, and fails no episode."""
        with contextlib.suppress(SandboxError):
            await self._end()

    async def run(self, code: str, timeout_s: float) -> ExecResult:
        """What the code did; raises SandboxError where no session could be started."""
        complaint = complaint_about(code)
        if complaint is not None:
            return ExecResult(status="error", error=complaint)
        async with self._busy, self.executing:
            if self._line is None:
                self._line = await self.open_line()
            started = time.monotonic()
            result = await self._run(self._line, code, timeout_s)
            return result.model_copy(update={"duration_s": time.monotonic() - started})

    async def _run(self, line: Line, code: str, timeout_s: float) -> ExecResult:
        """One exchange; a lost session is ended, whoever lost it."""
        self._calls += 1
        request = {"id": self._calls, "code": code, "timeout_s": timeout_s}
        is_alive = False
        try:
            async with asyncio.timeout(timeout_s + GRACE_S):
                await line.send(json.dumps(request).encode() + b"\n")
                reply = parse_reply(await line.receive(), self._calls)
            is_alive = reply is not None and reply.status in ("ok", "error")
        except TimeoutError:
            return lost("timeout", f"stopped after {timeout_s:g} s")
        except OSError:
            reply = None
        finally:
            reason = None if is_alive else await self._end()
        return self._result(reply, reason)

    def _result(self, reply: WorkerReply | None, reason: str | None) -> ExecResult:
        if reply is None:
            return lost("crashed", reason or "the process ended or wrote something unreadable")
        texts = reply.model_dump(exclude={"id"})
        limit = self.limits.output_bytes
        texts = {k: fit(v, limit) if isinstance(v, str) else v for k, v in texts.items()}
        if reply.status == "timeout" or reply.status == "crashed":
            first, second = (
                (reply.error, reason) if reply.status == "timeout" else (reason, reply.error)
            )
            loss = lost(reply.status, first or second or "no reason given")
            texts["error"] = loss.error
        return ExecResult.model_validate(texts)

    async def _end(self) -> str | None:
        line, self._line = self._line, None
        return await asyncio.shield(line.end()) if line is not None else None


def complaint_about(code: object) -> str | None:
    """Why this cannot be run, in words for the model; None where it can."""
    if not isinstance(code, str):
        return f"code must be text, but it is {type(code).__name__}; send a string of Python"
    if "\0" in code:
        return f"code holds a NUL character at position {code.index(chr(0))}; remove it"
    try:
        size = len(code.encode())
    except UnicodeEncodeError as exc:
        return f"code is not valid UTF-8 at position {exc.start}; remove the lone surrogate there"
    if size > CODE_BYTES:
        return f"code is {size} bytes long; at most {CODE_BYTES} can be run in one call"
    return None


def parse_reply(line: bytes, call_number: int) -> WorkerReply | None:
    """The reply, or None where the line is not one to this call."""
    try:
        reply = WorkerReply.model_validate_json(line)
    except (ValidationError, ValueError):
        return None
    return reply if reply.id == call_number else None


def lost(status: Literal["timeout", "crashed"], reason: str) -> ExecResult:
    """The result of a call that took the session with it."""
    return ExecResult(status=status, error=reason)


def fit(text: str, limit: int) -> str:
    """The text as it is, unless a forged reply is longer than the worker would ever send."""
    return text if len(text) <= limit + 256 else text[: limit + 256]


@dataclass(slots=True)
class StreamLine:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    finish: Callable[[], Awaitable[str | None]]
    """Kills what is at the other end and waits for it."""

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        try:
            line = await self.reader.readline()
        except ValueError:  # longer than the reader's limit
            return b""
        return line[:-1] if line.endswith(b"\n") else b""

    async def end(self) -> str | None:
        self.writer.close()
        return await self.finish()


async def expect_ready(line: Line, what: str) -> None:
    """Wait for the worker's first line; ends it and raises SandboxError where it does not come."""
    line_bytes = b""
    try:
        async with asyncio.timeout(START_S):
            line_bytes = await line.receive()
        if read_ready(line_bytes):
            return
        reason = await line.end()
    except BaseException as exc:
        await asyncio.shield(line.end())
        if isinstance(exc, TimeoutError):
            raise SandboxError(f"{what}: not ready after {START_S:g} s") from exc
        raise
    text = line_bytes.decode(errors="replace")[:500] or reason or "it ended without a word"
    raise SandboxError(f"{what} did not start: {text}")


def read_ready(line: bytes) -> bool:
    """Whether this is the line that a worker of our age sends first."""
    try:
        greeting: Any = json.loads(line)
    except ValueError:
        return False
    return isinstance(greeting, dict) and greeting == {"ready": True, "protocol": PROTOCOL}


def reader_limit(limits: SandboxLimits) -> int:
    """How long a line from the worker may be."""
    return line_cap(limits.output_bytes)
