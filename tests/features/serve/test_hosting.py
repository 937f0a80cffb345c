"""An app on a socket: signals, tokens, and bounds on what a client may cost."""

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress

import pytest

from agent_env.features.serve import hosting

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra serve")
GET = b"GET / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


async def _app(scope, receive, send):
    """Answers without reading the body."""
    if scope["type"] == "lifespan":
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _answered(app, request, end):
    """What the served app answers before the serving is ended so."""
    with hosting.listening(0) as listener:
        serving = asyncio.ensure_future(hosting.serve_app(app, listener))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(request)
        answer = await reader.read()
        writer.close()
        end(serving)
        with suppress(asyncio.CancelledError):
            await serving
    return answer


async def test_a_client_that_breaks_the_protocol_writes_no_traceback(capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "httptools", None)  # not installed: h11 parses
    monkeypatch.delitem(sys.modules, "uvicorn.protocols.http.auto", raising=False)
    broken = CHUNKED + b"ffffffffffffffffffffff\r\nx"
    answer = await _answered(_app, broken, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", 401), (b"authorization: Bearer wrong\r\n", 401), (b"authorization: known\r\n", 401),
        (b"authorization: Bearer \xff\xfe\r\n", 401), (b"Authorization: Bearer known\r\n", 200),
    ],
)  # fmt: skip
async def test_nobody_without_the_token_is_answered(sent, status):
    request = b"GET /mcp HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + sent + b"\r\n"
    guard = hosting.TokenGuard(_app, "known")
    answer = await _answered(guard, request, lambda serving: serving.cancel())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


async def _hello(scope, receive, send):
    """Answers when the body is whole, with its length."""
    size, is_whole = 0, False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, is_whole = size + len(message["body"]), not message["more_body"]
    body = str(size).encode()
    head = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _served(parser):
    if parser == "httptools":
        pytest.importorskip("httptools", reason="needs the extra serve")
    receipts = hosting.Receipts()
    config = uvicorn.Config(_hello, http=parser, log_level="critical", lifespan="off", ws="none",
                            h11_max_incomplete_event_size=hosting.MOST_HEAD)  # fmt: skip
    config.load()
    config.http_protocol_class = hosting.bounded(config.http_protocol_class, receipts)
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with hosting.listening(0) as listener:
        await server.startup(sockets=[listener])
        try:
            yield listener.getsockname()[1], receipts
        finally:
            await server.shutdown(sockets=[listener])


async def _status(port, *parts):
    """The answer's status; None where the connection was cut before one could be read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    line = b""
    with suppress(ConnectionError):
        for part in parts:
            writer.write(part)
            await writer.drain()
    with suppress(ConnectionError):
        line = await reader.readline()
    writer.close()
    return int(line.split()[1]) if line else None


parsers = pytest.mark.parametrize("parser", ["h11", "httptools"])


@parsers
async def test_long_heads_and_trailers_end_the_connection_and_are_not_kept(parser):
    many = b"".join(b"h%d: v\r\n" % n for n in range(20_000))
    async with _served(parser) as (port, receipts):
        for each in (many, b"x: " + b"a" * 200_000):
            assert await _status(port, GET, *[each] * 5) in {None, 400, 431}
        assert await _status(port, GET, b"\r\n") == 200
        await asyncio.sleep(0)
        assert receipts.size == 0
        assert await _status(port, CHUNKED, b"0\r\n", many, many) in (None, 400)


async def test_a_head_has_at_most_so_many_fields():
    fields = b"".join(b"h%d: v\r\n" % n for n in range(hosting.MOST_HEADERS))
    async with _served("httptools") as (port, _):
        assert await _status(port, GET, fields, b"\r\n") == 400
        assert await _status(port, GET, fields[: fields.rindex(b"h99")], b"\r\n") == 200


@parsers
async def test_a_body_up_to_the_bound_arrives_and_a_longer_one_does_not(parser):
    piece = b"a" * 100_000
    async with _served(parser) as (port, _):
        for more, expected in ((0, {200}), (1_000_000, {413, None})):
            size = hosting.MOST_BODY + more
            head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size
            assert await _status(port, head, *[piece] * (size // 100_000)) in expected
        chunk = b"186a0\r\n" + piece + b"\r\n"
        assert await _status(port, CHUNKED, *[chunk] * 90) in {413, None}


@parsers
async def test_a_slow_head_and_a_slow_body_are_ended_and_a_slow_answer_is_not(parser):
    async with _served(parser) as (port, receipts):
        places = [("127.0.0.1", port)] * 4
        silent, head, body, kept = [await asyncio.open_connection(*each) for each in places]
        for (_, writer), sent in ((head, GET), (body, CHUNKED), (kept, GET + b"\r\n")):
            writer.write(sent)
        assert await kept[0].readline() == b"HTTP/1.1 200 OK\r\n"
        now = asyncio.get_running_loop().time()
        receipts.close_late(now)
        assert len(receipts.protocols) == 4
        receipts.close_late(now + hosting.HEAD_S + 1)
        assert [await each[0].read() for each in (silent, head)] == [b"", b""]
        assert len(receipts.protocols) == 2
        receipts.close_late(now + hosting.BODY_S + 1)
        assert await body[0].read() == b""
        assert len(receipts.protocols) == 1
        for each in (silent, head, body, kept):
            each[1].close()


@parsers
async def test_bodies_connections_and_clients_that_take_nothing_are_bounded(parser):
    async with _served(parser) as (port, receipts):
        receipts.size = hosting.MOST_RECEIVED
        assert await _status(port, CHUNKED, b"a") == 503
        receipts.size = 0
        others = {object() for _ in range(hosting.MOST_CONNECTIONS)}
        receipts.protocols |= others
        assert await _status(port) == 503
        receipts.protocols -= others
        assert await _status(port, GET, b"\r\n") == 200
    async with _served(parser) as (port, receipts):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET + b"\r\n")
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        (connection,) = receipts.protocols
        now = asyncio.get_running_loop().time()
        connection.pause_writing()  # what the transport calls when its buffer is full
        assert not connection.is_late(now + hosting.BODY_S - 1)
        connection.resume_writing()
        assert not connection.is_late(now + hosting.BODY_S + 1)
        connection.pause_writing()
        assert connection.is_late(now + hosting.BODY_S + 1)
        writer.close()
