"""Serves an ASGI app on a socket of this process until a signal ends it, within bounds on what a
client may cost before anything of ours reads its request.

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
import hmac
import json
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import h11

from agent_env.sdk.errors import ConfigError

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
    fields = {"receipts": receipts}
    return type(f"Bounded{parser.__name__}", (BoundedConnection, parser), fields)


LOOPBACK = "127.0.0.1"
GRACE_S = 2
"""From the signal until open requests are cut."""


@dataclass(frozen=True, slots=True)
class TokenGuard:
    """An ASGI app that answers nobody without the token, and with status 401."""

    app: Any
    token: str

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(
            sent, f"Bearer {self.token}".encode()
        ):
            await self.app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"send 'Authorization: Bearer TOKEN'"})


def token_of(host: str, variable: str | None, is_without: bool) -> str | None:
    """That of the variable, or a new one; None where none is wanted. ConfigError where one is
    wanted and there is none."""
    if is_without:
        if variable is not None:
            raise ConfigError("--token-env and --no-token contradict each other; leave one out")
        if host not in ("127.0.0.1", "localhost"):
            raise ConfigError(f"--host {host} is reached by others: leave --no-token out")
        return None
    if variable is None:
        return secrets.token_urlsafe(24)
    token = os.environ.get(variable, "")
    if not token.isascii() or not token.strip():
        raise ConfigError(f"--token-env {variable}: the variable holds no token; set it to one")
    return token.strip()


def listening(port: int, host: str = LOOPBACK) -> socket.socket:
    """A socket on which callers can wait already; a free port for 0. ConfigError where the address
    cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small pieces at once (TCP_NODELAY) where the protocol is named, and only there
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)  # who asks before the server runs waits, and is not refused
    except OSError as exc:
        listener.close()
        place = f"port {port}" if host == LOOPBACK else f"{host}, port {port}"
        raise ConfigError(f"cannot listen on {place}: {exc.strerror or exc}; name another") from exc
    return listener


async def serve_app(app: Any, listener: socket.socket, until: asyncio.Event | None = None) -> None:
    """Serves until SIGINT or SIGTERM, or until the event where there is one; then requests have
    GRACE_S to end, and this returns."""
    import uvicorn

    receipts = Receipts()

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            """Ten times a second."""
            if counter % 10 == 0:
                receipts.close_late(asyncio.get_running_loop().time())
            if until is not None and until.is_set():
                self.should_exit = True
            return await super().on_tick(counter)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Without uvicorn's own habit to raise the signal again, which would skip the
            caller's cleanup."""
            if until is not None:
                yield
                return
            with _handled(lambda number: self.handle_exit(number, None)):
                yield

    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S, timeout_keep_alive=75, ws="none",
        h11_max_incomplete_event_size=MOST_HEAD,
    )  # fmt: skip
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    config.load()
    config.http_protocol_class = bounded(config.http_protocol_class, receipts)
    await Server(config).serve(sockets=[listener])


def _is_ours(record: logging.LogRecord) -> bool:
    """False for the tracebacks of uvicorn that a client can cause: it broke the protocol while its
    answer was on the way, or still sent its request when the server ended."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, h11.ProtocolError | asyncio.CancelledError)


@contextmanager
def _handled(end: Callable[[int], None]) -> Iterator[None]:
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
