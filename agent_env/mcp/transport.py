"""Carries messages to and from a server: each is bounded in size, and what is no message is named.

Guaranteed: no more than MESSAGE_BYTES of one message are kept in memory; a larger answer becomes an
error of its own call; a line that is no JSON is the server's chatter and goes to its log.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from agent_env.mcp.launch import Process, copy_log, start
from agent_env.permits import Permit
from agent_env.records.mcp import McpServer
from agent_env.records.reach import Reach

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

MESSAGE_BYTES = 16 << 20
TOO_LARGE = f"the answer has more than {MESSAGE_BYTES >> 20} MB, which is all that is read"
TOO_LARGE_CODE = -32099
"""JSON-RPC error code of our own, for an answer that was too large to be read."""
_CHUNK = 1 << 16
_EDGE = 400
"""Bytes of a too large line that are kept at its beginning and at its end: its id is there."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')

Fault = Callable[[str], None]
"""Called with what the server did, once the connection is of no more use."""


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


@asynccontextmanager
async def stdio_transport(
    server: McpServer, log: Path, fault: Fault, permit: Permit
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a server that is started now and ended behind."""
    import anyio

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
    finally:
        ending = asyncio.ensure_future(process.end())
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
                    if (message := _message(line, is_whole, log, fault)) is not None:
                        await incoming.send(message)
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await process.inner.wait()
            fault(f"the server {process.ending}")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        return  # our own side closed


def _message(line: bytes, is_whole: bool, log: Path, fault: Fault) -> SessionMessage | None:
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

    if not is_whole:
        ids = _ID.findall(line[:_EDGE]) or _ID.findall(line[-_EDGE:])
        if not ids:
            fault(f"the server sent a message without an id: {TOO_LARGE}")
            return None
        error = ErrorData(code=TOO_LARGE_CODE, message=TOO_LARGE)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(ids[0]), error=error))
    if not line.strip():
        return None
    if not line.lstrip().startswith((b"{", b"[")):
        with log.open("ab") as file:
            file.write(b"[on stdout] " + line[:1000] + b"\n")
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as exc:
        fault(f"the server sent what is no JSON-RPC: {str(exc).splitlines()[0]}")
        return None


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
    bounded = _Bounded(httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=None)))
    async with (
        httpx2.AsyncClient(transport=bounded, timeout=timeout, trust_env=False) as client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncBaseTransport):
    """Stops an answer in JSON that is too large; the SDK bounds those in events."""

    def __init__(self, inner: httpx2.AsyncHTTPTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if "json" in response.headers.get("content-type", ""):
            assert isinstance(response.stream, httpx2.AsyncByteStream)  # of an async transport
            response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MESSAGE_BYTES:
                raise httpx2.StreamError(TOO_LARGE)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
