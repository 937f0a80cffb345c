"""Serving until a signal comes, over real sockets."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import pytest

from agent_env.extensions.serve.hosting import TokenGuard, listening, serve_app

pytest.importorskip("uvicorn", reason="needs the extra serve")
BROKEN = (
    b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffffff\r\nx"
)


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answers without reading the body."""
    if scope["type"] == "lifespan":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_a_client_that_breaks_the_protocol_writes_no_traceback(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httptools", None)  # not installed: h11 parses
    monkeypatch.delitem(sys.modules, "uvicorn.protocols.http.auto", raising=False)

    async def tried() -> bytes:
        with listening(0) as listener:
            serving = asyncio.ensure_future(serve_app(_app, listener))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(BROKEN)
            answer = await reader.read()
            writer.close()
            os.kill(os.getpid(), signal.SIGTERM)
            await serving
        return answer

    assert asyncio.run(tried()).startswith(b"HTTP/1.1 400 ")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 401), (b"authorization: Bearer wrong\r\n", 401), (b"authorization: known\r\n", 401),
        (b"authorization: Bearer \xff\xfe\r\n", 401), (b"Authorization: Bearer known\r\n", 200),
    ],
)  # fmt: skip
def test_nobody_without_the_token_is_answered(sent: bytes, status: int) -> None:
    async def tried() -> bytes:
        with listening(0) as listener:
            serving = asyncio.ensure_future(serve_app(TokenGuard(_app, "known"), listener))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + sent + b"\r\n")
            answer = await reader.read()
            writer.close()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            return answer

    assert asyncio.run(tried()).startswith(f"HTTP/1.1 {status} ".encode())
