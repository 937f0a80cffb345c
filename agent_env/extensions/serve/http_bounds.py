"""Bounds on what a client may cost before anything of ours reads its request.

Guaranteed, for every connection of a server of ours: a head or a trailer above MOST_HEAD bytes or
MOST_HEADERS fields, a body above MOST_BODY bytes, a head that takes longer than HEAD_S, a body that
takes longer than BODY_S, and a client that takes no answer for BODY_S end the connection. At most
MOST_CONNECTIONS are open, and requests that are being received hold at most MOST_RECEIVED bytes in
all. Not guaranteed: that other clients are served while somebody holds all connections.

uvicorn bounds heads only where h11 parses them, and nothing else of these. The same bounds hold
for both of its parsers.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

MOST_HEAD = 32_768
MOST_HEADERS = 100
MOST_BODY = 8_000_000
"""Bytes, give or take what one read of the socket brings; so is MOST_HEAD."""
MOST_RECEIVED = 128_000_000
MOST_CONNECTIONS = 1000
HEAD_S = 15
BODY_S = 60


@dataclass(slots=True)
class Receipts:
    """What one server's connections have received of requests that are not whole."""

    size: int = 0
    """Bytes."""
    protocols: set[BoundedConnection] = field(default_factory=set)

    def close_late(self, now: float) -> None:
        """Ends the connections that took too long, by the event loop's clock."""
        for protocol in [each for each in self.protocols if each.is_late(now)]:
            protocol.transport.abort()


class BoundedConnection(asyncio.Protocol):
    """What `bounded` puts before a parser's protocol of uvicorn."""

    receipts: ClassVar[Receipts]
    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    cycle: Any
    """The present request and its answer; None before the first."""
    flow: Any
    _since: float | None = None
    """When the head or the body that is being received began."""
    _stuck: float | None = None
    """Since when the client takes nothing."""
    _size = 0
    _fields = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        self.receipts.protocols.add(self)
        if len(self.receipts.protocols) > MOST_CONNECTIONS:
            self._refuse("503 Service Unavailable", "too many connections are open")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self.receipts.protocols.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        before = self.cycle
        was_in_body = before is not None and before.more_body
        self._since = self._since or self.loop.time()
        self._size += len(data)
        self.receipts.size += len(data)
        super().data_received(data)
        cycle = self.cycle
        if cycle is not before:
            self._since, self._fields = self.loop.time(), 0
        if cycle is not None and cycle.more_body:
            if self._size > MOST_BODY + MOST_HEAD:
                self._refuse("413 Content Too Large", f"a body has at most {MOST_BODY:,} bytes")
        elif was_in_body or cycle is not before:
            self._forget()
        elif self._size > MOST_HEAD:
            text = f"a head has at most {MOST_HEAD:,} bytes"
            self._refuse("431 Request Header Fields Too Large", text)
        if self.receipts.size > MOST_RECEIVED:
            self._refuse("503 Service Unavailable", "too much is being received; send it again")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by httptools; h11 bounds heads and trailers itself."""
        self._fields += 1
        if self._fields > MOST_HEADERS:
            raise ValueError(f"more than {MOST_HEADERS} header fields")  # answered with status 400
        super().on_header(name, value)  # type: ignore[misc]

    def pause_writing(self) -> None:
        self._stuck = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck = None
        super().resume_writing()

    def is_late(self, now: float) -> bool:
        """Whether the client took too long to send its request, or to take the answer."""
        if self._stuck is not None and now - self._stuck > BODY_S:
            return True
        if self._since is None or self.flow.read_paused:
            return False
        is_in_body = self.cycle is not None and self.cycle.more_body
        return now - self._since > (BODY_S if is_in_body else HEAD_S)

    def _forget(self) -> None:
        """A request is whole, or will never be."""
        self.receipts.size -= self._size
        self._since, self._size = None, 0

    def _refuse(self, status: str, text: str) -> None:
        if self.transport.is_closing():
            return
        body = json.dumps({"error": {"code": "bounds", "message": text}})
        self.transport.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"content-length: {len(body)}\r\n\r\n{body}".encode()
        )
        self.transport.close()


def bounded(parser: type[asyncio.Protocol], receipts: Receipts) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, within these bounds."""
    fields = {"receipts": receipts}
    return type(f"Bounded{parser.__name__}", (BoundedConnection, parser), fields)
