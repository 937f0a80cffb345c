"""Serves an ASGI app on a socket of this process until a signal ends it."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import h11

from agent_env.sdk.errors import ConfigError

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
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)  # who asks before the server runs waits, and is not refused
    except OSError as exc:
        listener.close()
        place = f"port {port}" if host == LOOPBACK else f"{host}, port {port}"
        raise ConfigError(f"cannot listen on {place}: {exc.strerror or exc}; name another") from exc
    return listener


async def serve_app(app: Any, listener: socket.socket) -> None:
    """Serves until SIGINT or SIGTERM; then requests have GRACE_S to end, and this returns."""
    import uvicorn

    from agent_env.extensions.serve.http_bounds import MOST_HEAD, Receipts, bounded

    receipts = Receipts()

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            """Ten times a second."""
            if counter % 10 == 0:
                receipts.close_late(asyncio.get_running_loop().time())
            return await super().on_tick(counter)

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Without uvicorn's own habit to raise the signal again, which would skip the
            caller's cleanup."""
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
