"""Carries messages to and from a server: each bounded in size; what is not a message is named.

Guaranteed: no more than MESSAGE_BYTES of one message are kept in memory; a larger answer becomes an
error of its own call; a line that is not JSON is the server's chatter and goes to its log; a server
that sends MOST_MESSAGES between two results, and REGAINED more for each second, is ended; of what
it sends unasked no more than NOTICES a second are looked at.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from agent_env.features.mcp.records import McpServer
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import Process, confine, hooks, too_large, values_in
from agent_env.sdk.inside import start as start_program
from agent_env.sdk.records import Reach
from agent_env.sdk.run import Permit

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

MESSAGE_BYTES = 16 << 20
MOST_VALUES = 200_000
"""Lists and objects in a message: they take many times its bytes, and seconds of everybody's."""
TOO_LARGE = too_large(MESSAGE_BYTES, MOST_VALUES)
TOO_LARGE_CODE = -32099
"""JSON-RPC error code of our own, for an answer that was too large to be read."""
MOST_MESSAGES = 5_000
REGAINED = 500.0
NOTICES = 100
HEARD = frozenset(
    """notifications/progress notifications/tools/list_changed notifications/cancelled
    notifications/subscriptions/acknowledged""".split()
)
"""Notifications that mean something to us; all others are dropped."""
_CHUNK = 1 << 16
_EDGE = 400
"""Bytes of a too large line that are kept at its beginning and at its end: its id is there."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')

Fault = Callable[[str], None]
"""Called with what the server did, once the connection is of no more use."""


class NoMessage(Exception):
    """A line of a server that is not a message."""


@dataclass(slots=True)
class Lines:
    """Cuts a stream of bytes into lines; of a too large one only both ends are kept."""

    most: int = MESSAGE_BYTES
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, bool]]:
        """Each line that the chunk completes, and whether it is whole."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._add(end)
            yield b"".join(self._parts), self._size <= self.most
            self._parts, self._size = [], 0
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > self.most:
            whole = b"".join(self._parts)
            self._parts = [whole[:_EDGE], whole[-_EDGE:]] if len(whole) > 2 * _EDGE else [whole]


class Metered:
    """A stream of messages from a server, bounded; items that are no messages only count."""

    def __init__(self, inner: Any, fault: Fault) -> None:
        self._inner, self._fault = inner, fault
        self._left, self._at = float(MOST_MESSAGES), time.monotonic()
        self._second, self._notices = 0.0, 0

    def refill(self) -> None:
        """For a result that was waited for."""
        self._left = float(MOST_MESSAGES)

    def __aiter__(self) -> Metered:
        return self

    async def __anext__(self) -> SessionMessage:
        async for item in self._inner:
            now = time.monotonic()
            self._left = min(self._left + (now - self._at) * REGAINED, MOST_MESSAGES) - 1
            self._at = now
            if self._left < 0:
                self._fault(f"the server sent more than {MOST_MESSAGES:,} messages unasked")
                break
            if not isinstance(item, Exception) and self._is_wanted(item.message, now):
                return item  # type: ignore[no-any-return]
        raise StopAsyncIteration

    def _is_wanted(self, message: Any, now: float) -> bool:
        method = getattr(message, "method", None)
        if method is None:  # an answer
            return True
        if not hasattr(message, "id") and method not in HEARD:
            return False
        if now - self._second > 1.0:
            self._second, self._notices = now, 0
        self._notices += 1
        return self._notices <= NOTICES

    async def __aenter__(self) -> Metered:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def stdio_transport(
    server: McpServer, log: Path, fault: Fault, permit: Permit
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that is started now and ended behind; at once where it is given up,
    which an exception says."""
    import anyio

    patience_s = 0.0
    process = await start(server, permit)
    incoming, read = anyio.create_memory_object_stream[Any](0)
    write, outgoing = anyio.create_memory_object_stream[Any](0)
    assert process.inner.stderr is not None  # it is a pipe
    tasks = [
        asyncio.ensure_future(copy_log(process.inner.stderr, log, server.name)),
        asyncio.ensure_future(_read(process, incoming, log, fault)),
        asyncio.ensure_future(_write(process, outgoing, fault)),
    ]
    try:
        yield read, write
        patience_s = EXIT_S
    finally:
        ending = asyncio.ensure_future(process.end(patience_s))
        try:
            await asyncio.shield(ending)
        finally:
            for task in tasks[1:]:
                task.cancel()
            for stream in (incoming, read, write, outgoing):
                stream.close()
            with suppress(asyncio.CancelledError):
                await asyncio.wait(tasks, timeout=1.0)
            tasks[0].cancel()


async def _read(process: Process, incoming: Any, log: Path, fault: Fault) -> None:
    import anyio

    stream = process.inner.stdout
    assert stream is not None  # it is a pipe
    lines = Lines()
    try:
        async with incoming:
            while chunk := await stream.read(_CHUNK):
                for line, is_whole in lines.feed(chunk):
                    await incoming.send(_message(line, is_whole, log, fault))
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await process.inner.wait()
            fault(f"the server {process.ending}")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        # Our own side closed. asyncio waits for no process whose output nobody reads to its end.
        while await stream.read(_CHUNK):  # noqa: ASYNC110  # slowly, while it goes on
            await asyncio.sleep(0.01)


def _message(line: bytes, is_whole: bool, log: Path, fault: Fault) -> SessionMessage | NoMessage:
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

    if not is_whole or values_in(line) > MOST_VALUES:
        ids = _ID.findall(line[:_EDGE]) or _ID.findall(line[-_EDGE:])
        if not ids:
            fault(f"the server sent a message without an id: {TOO_LARGE}")
            return NoMessage()
        error = ErrorData(code=TOO_LARGE_CODE, message=TOO_LARGE)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(ids[0]), error=error))
    if not line.lstrip().startswith((b"{", b"[")):
        with log.open("ab") as file:
            if line.strip() and file.tell() < LOG_BYTES:
                file.write(b"[on stdout] " + line[:1000] + b"\n")
        return NoMessage()
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as exc:
        fault(f"the server sent what is not JSON-RPC: {str(exc).splitlines()[0]}")
        return NoMessage()


async def _write(process: Process, outgoing: Any, fault: Fault) -> None:
    stream = process.inner.stdin
    assert stream is not None  # it is a pipe
    try:
        async with outgoing:
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stream.write(text.encode() + b"\n")
                await stream.drain()
    except (ConnectionError, OSError):
        return  # the reader says how it ended


# Streamable HTTP ----------------------------------------------------------------------------------


@asynccontextmanager
async def http_transport(server: McpServer, permit: Permit) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server at a URL; no proxy of the environment is used."""
    from mcp.client.streamable_http import streamable_http_client

    assert server.url is not None  # whoever has no URL has a command
    permit.check(Reach.ADDRESS, server.url)
    timeout = httpx2.Timeout(10.0, read=server.timeout_s + 30.0)
    limits = httpx2.Limits(max_connections=None)
    async with (
        httpx2.AsyncClient(
            limits=limits,
            timeout=timeout,
            trust_env=False,
            event_hooks=hooks(MESSAGE_BYTES, MOST_VALUES, each_event=True),
        ) as client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


LOG_BYTES = 4 << 20
"""Of the log of one server; what it writes beyond is dropped."""
EXIT_S = 3.0
"""From the end of its input to the end of the server, before it is killed."""


def environment_of(server: McpServer, permit: Permit) -> dict[str, str]:
    """PATH, LANG and the variables that the server was given; ConfigError for one that is unset."""
    for name in server.environment:
        permit.check(Reach.KEY, name)
        if name not in os.environ:
            raise ConfigError(f"--mcp-env {server.name}={name}: the variable {name} is not set")
    named = {name: os.environ[name] for name in server.environment}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **named}


def check_command(server: McpServer) -> None:
    """ConfigError where there is no such program."""
    if server.command and shutil.which(server.command[0]) is None:
        raise ConfigError(f"--mcp {server.name}: there is no program '{server.command[0]}'")


async def start(server: McpServer, permit: Permit) -> Process:
    """Starts the server below a keeper that ends it when this process ends, however that happens.
    SandboxError where it is to run in a sandbox and cannot."""
    permit.check(Reach.COMMAND, server.launch)
    environment = environment_of(server, permit)
    program = shutil.which(server.command[0]) or server.command[0]
    command, passed = [program, *server.command[1:]], tuple[int, ...]()
    if server.sandboxed:
        confined = await confine(command, environment)
        command, passed, environment = confined.command, confined.descriptors, {}
    return await start_program(command, environment, passed)


async def copy_log(stream: asyncio.StreamReader, log: Path, name: str) -> None:
    """Appends what the server writes on stderr to its log, as far as that may grow."""
    with log.open("ab") as file:
        room = LOG_BYTES - file.tell()
        while chunk := await stream.read(1 << 16):
            file.write(chunk[: max(0, room)])
            if room > 0 >= room - len(chunk):
                file.write(f"\n[{name} wrote more than {LOG_BYTES >> 20} MB: dropped]\n".encode())
            room -= len(chunk)
            file.flush()
