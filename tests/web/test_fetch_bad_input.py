"""What servers send by mistake or malice: each a short error, soon, in little memory."""

import asyncio
import gzip
import os
import tracemalloc
import zlib
from importlib.util import find_spec

import pytest

from agent_env.errors import ToolError
from agent_env.web.fetch_request import FetchLimits
from tests.web.test_fetch import HTML, fetched, fetching, moved, refused, reply, with_site

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
MOVED = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "


def packed(body, encoding="gzip"):
    return reply(body, "text/html", "200 OK", f"Content-Encoding: {encoding}")


def forever(piece, begun=b"", wait_s=0.0):
    """An answer without an end, and how much of it was sent."""
    sent = [0]

    async def answer(writer):
        writer.write(begun)
        while True:
            writer.write(piece)
            await writer.drain()
            sent[0] += len(piece)
            if wait_s:
                await asyncio.sleep(wait_s)

    return answer, sent


@pytest.mark.parametrize(
    ("head", "piece", "said"),
    [
        (CHUNKED, b"10000\r\n" + b"a" * 65536 + b"\r\n", "larger than 8 MB"),
        (CHUNKED, b"1\r\na\r\n" * 9000, "tiny pieces"),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n", b"a" * 65536, "larger than 8 MB"),
    ],
)
def test_an_endless_stream_ends_at_its_cap(head, piece, said):
    """By its size and not by its time, and before much more was taken than the cap."""
    endless, sent = forever(piece, head + b"\r\n")
    assert said in refused({"/": endless}, limits=FetchLimits(time_s=600.0))
    assert sent[0] < 24 * 1024 * 1024  # the cap, and what stands in sockets' buffers


def test_a_bomb_is_dropped_before_it_is_unpacked_and_a_large_page_meets_the_cap():
    packing = zlib.compressobj(6, zlib.DEFLATED, 31)
    first, again = (
        packing.compress(bytes(1 << 20)) + packing.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    bomb = first + again * 300
    tracemalloc.start()
    said = refused({"/": packed(bomb)}, limits=FetchLimits(max_bytes=50_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "unpacks to far more" in said
    assert peak < 30_000_000
    body = gzip.compress(os.urandom(1000).hex().encode() * 600)
    assert "larger than 1.1 MB" in refused(
        {"/": packed(body)}, limits=FetchLimits(max_bytes=1_100_000, max_ratio=1e9)
    )


GZIP = gzip.compress(HTML, mtime=0)
TWICE = gzip.compress(GZIP, mtime=0)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (GZIP, "gzip"),
        (GZIP, "x-gzip"),
        (gzip.compress(HTML[:20], mtime=0) + gzip.compress(HTML[20:], mtime=0), "GZIP"),
        (GZIP + b"padding", "gzip"),
        (zlib.compress(HTML), "deflate"),
        (zlib.compress(HTML)[2:-4], "deflate"),
        (HTML, "identity"),
        (b"", "gzip"),
    ],
)
def test_what_we_ask_for_is_unpacked(body, encoding):
    assert fetched({"/": packed(body, encoding)}).body == (HTML if body else b"")


@pytest.mark.parametrize(
    ("body", "encoding", "said"),
    [
        (b"no gzip at all", "gzip", "not compressed as announced"),
        (GZIP[:-12], "gzip", "ends too early"),
        (GZIP[:20] + b"\xff" * 40, "gzip", "broken"),
        (GZIP[:-8] + b"\0" * 8, "gzip", "not compressed as announced"),
        (HTML, "br", "compressed as 'br'"),
        (TWICE, "gzip, gzip", "compressed as 'gzip, gzip'"),
        (gzip.compress(b"", mtime=0) * 500, "gzip", "too many pieces"),
    ],
)
def test_badly_packed_bodies_are_named(body, encoding, said):
    assert said in refused({"/": packed(body, encoding)})


@pytest.mark.parametrize("status", ["401 No", "403 No", "404 No", "410 No", "429 No", "500 No"])
def test_an_error_page_in_html_is_an_error_with_its_status(status):
    body = b"<html><p>Please enable cookies</p></html>" * 1000
    said = refused({"/": reply(body, "text/html", status)})
    assert f"answered {status[:3]}" in said
    assert "cookies" not in said


async def reset_at_once(writer):
    writer.transport.abort()


async def reset_within(writer):
    writer.write(OK + b"Content-Length: 900\r\n\r\nx")
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.transport.abort()


TYPES = "image/png video/mp4 application/zip application/x-msdownload font/woff".split()
CHECK = b"<title>Just a moment...</title><p>Checking your browser"
PDF = "broken" if find_spec("pypdf") else "look for an HTML page"
HEADERS, _ = forever(b"X-More: 1234567890\r\n" * 1000, b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OK + b"Content-Length: 10737418240\r\n\r\nx", "larger than 8 MB"),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nx", ""),
        (reply(b"", "text/html", "599 ???"), "answered 599"),
        (reply(b"", "text/html", "302 Found"), "answered 302"),
        *((reply(b"x", kind), f"holds {kind}") for kind in TYPES),
        (reply(b"\x7fELF\0\0", "application/octet-stream"), "binary file"),
        (reply(b"\x89PNG\r\n\x1a\n\0", "text/html"), "binary file"),
        (reply(b"%PDF-1.7 no", "text/html"), PDF),
        (reply(CHECK, "text/html"), "shows a check for robots"),
        (HEADERS, "not proper HTTP"),
        (reset_at_once, "127.0.0.1"),
        (reset_within, "127.0.0.1"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", ""),
        (b"\x00\xff" * 500, ""),
        (OK + b"Content-Length: 900\r\n\r\nshort", ""),
        (CHUNKED + b"\r\nzz\r\n", ""),
        (CHUNKED + b"\r\n5\r\nab", ""),
        (MOVED + b"http://\xff\xfe/\r\n\r\n", ""),
        (MOVED + b"\r\n\r\n", ""),
    ],
    ids=lambda value: None if callable(value) else str(value)[:60],
)
def test_what_is_no_page_or_no_proper_http_is_an_error(answer, said):
    assert said in refused({"/": answer})


@pytest.mark.parametrize("kind", ["atom+xml", "rss+xml", "feed+json"])
def test_feeds_of_every_kind_are_read(kind):
    feed = b"<feed><entry><updated>2019-05-17</updated></entry></feed>"
    assert "2019-05-17" in fetched({"/": reply(feed, f"application/{kind}")}).text


def test_types_are_found_in_the_bytes():
    assert fetched({"/": reply(b"\n<!DOCTYPE html>" + HTML, "")}).title == "Title"
    assert fetched({"/": reply(b"plain words", "")}).text == "plain words"


async def silent(writer):
    await asyncio.sleep(3600)


@pytest.mark.parametrize(
    "slow",
    [
        forever(b"X-Slow: 1\r\n", b"HTTP/1.1 200 OK\r\n", 0.05)[0],
        forever(b"1\r\na\r\n", CHUNKED + b"\r\n", 0.05)[0],
        silent,
    ],
)
def test_slow_headers_and_slow_bodies_meet_the_time_cap(slow):
    assert "took longer than 0.3 s" in refused({"/": slow}, limits=FetchLimits(time_s=0.3))


async def test_a_dead_host_and_a_name_that_is_none_are_errors():
    async def nowhere(host, port):
        raise OSError("unknown")

    fetcher = fetching(allow=lambda ip: True, resolve=nowhere)
    with pytest.raises(ToolError, match="took no connection"):
        await fetcher.fetch("http://127.0.0.1:1024/")
    with pytest.raises(ToolError, match=r"there is no host gone\.example\.com"):
        await fetcher.fetch("http://gone.example.com/")


def test_cancelling_a_fetch_cancels_it_and_frees_its_place():
    async def act(site):
        fetcher = fetching(allow=lambda address: address.is_loopback)
        tasks = [asyncio.create_task(fetcher.fetch(site.url + "/slow")) for _ in range(4)]
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        return (await fetcher.fetch(site.url + "/")).title

    assert with_site({"/": moved("/b"), "/b": reply(HTML), "/slow": silent}, act) == "Title"
