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

CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n"


def packed(body, encoding="gzip"):
    return reply(body, "text/html", "200 OK", f"Content-Encoding: {encoding}")


def test_a_claim_of_ten_gigabytes_and_an_absurd_length_are_refused_unread():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10737418240\r\n\r\n"
    assert "larger than 8 MB" in refused({"/": head + b"x"})
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: " + b"9" * 5000
    assert refused({"/": head + b"\r\n\r\nx"})


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
    sent = [0]

    async def endless(writer):
        writer.write(head + b"\r\n")
        while True:
            writer.write(piece)
            await writer.drain()
            sent[0] += len(piece)

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


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(HTML, mtime=0), "gzip"),
        (gzip.compress(HTML, mtime=0), "x-gzip"),
        (gzip.compress(HTML[:20], mtime=0) + gzip.compress(HTML[20:], mtime=0), "GZIP"),
        (gzip.compress(HTML, mtime=0) + b"padding", "gzip"),
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
        (gzip.compress(HTML, mtime=0)[:-12], "gzip", "ends too early"),
        (gzip.compress(HTML, mtime=0)[:20] + b"\xff" * 40, "gzip", "broken"),
        (gzip.compress(HTML, mtime=0)[:-8] + b"\0" * 8, "gzip", "not compressed as announced"),
        (HTML, "br", "compressed as 'br'"),
        (
            gzip.compress(gzip.compress(HTML, mtime=0), mtime=0),
            "gzip, gzip",
            "compressed as 'gzip, gzip'",
        ),
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


def test_an_unknown_status_and_a_redirect_to_nowhere_are_errors_too():
    assert "answered 599" in refused({"/": reply(b"", "text/html", "599 ???")})
    assert "answered 302" in refused({"/": reply(b"", "text/html", "302 Found")})


@pytest.mark.parametrize(
    "kind", ["image/png", "video/mp4", "application/zip", "application/x-msdownload", "font/woff"]
)
def test_what_is_no_page_is_refused_by_its_type(kind):
    assert f"holds {kind}" in refused({"/": reply(b"x", kind)})


def test_types_are_found_in_the_bytes_and_a_pdf_without_its_extra_has_a_way_out():
    assert fetched({"/": reply(b"\n<!DOCTYPE html>" + HTML, "")}).title == "Title"
    assert fetched({"/": reply(b"plain words", "")}).text == "plain words"
    assert "binary file" in refused({"/": reply(b"\x7fELF\0\0", "application/octet-stream")})


def test_the_bytes_win_over_a_wrong_type():
    assert "binary file" in refused({"/": reply(b"\x89PNG\r\n\x1a\n\0", "text/html")})
    said = refused({"/": reply(b"%PDF-1.7 no", "text/html")})
    assert ("broken" if find_spec("pypdf") else "look for an HTML page") in said


def test_feeds_of_every_kind_are_read():
    feed = b"<feed><entry><updated>2019-05-17</updated></entry></feed>"
    for kind in ("application/atom+xml", "application/rss+xml", "application/feed+json"):
        assert "2019-05-17" in fetched({"/": reply(feed, kind)}).text


def test_a_check_for_browsers_is_no_page():
    page = b"<title>Just a moment...</title><p>Checking your browser"
    assert "shows a check for robots" in refused({"/": reply(page, "text/html")})


def test_slow_headers_and_slow_bodies_meet_the_time_cap():
    async def headers(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Slow: 1\r\n")
            await asyncio.sleep(0.05)

    async def body(writer):
        writer.write(CHUNKED + b"\r\n")
        while True:
            writer.write(b"1\r\na\r\n")
            await asyncio.sleep(0.05)

    async def silent(writer):
        await asyncio.sleep(3600)

    for slow in (headers, body, silent):
        assert "took longer than 0.3 s" in refused({"/": slow}, limits=FetchLimits(time_s=0.3))


def test_endless_headers_end():
    async def headers(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-More: 1234567890\r\n" * 1000)
            await writer.drain()

    assert "not proper HTTP" in refused({"/": headers})


def test_a_reset_connection_is_told():
    async def reset_at_once(writer):
        writer.transport.abort()

    async def reset_within(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\nx")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()

    for answer in (reset_at_once, reset_within):
        assert "127.0.0.1" in refused({"/": answer})


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x00\xff" * 500,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\nshort",
        CHUNKED + b"\r\nzz\r\n",
        CHUNKED + b"\r\n5\r\nab",
        b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: \r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_what_is_no_proper_http_is_an_error(answer):
    assert refused({"/": answer})


async def test_a_dead_host_and_a_name_that_is_none_are_errors():
    async def nowhere(host, port):
        raise OSError("unknown")

    fetcher = fetching(allow=lambda ip: True, resolve=nowhere)
    with pytest.raises(ToolError, match="took no connection"):
        await fetcher.fetch("http://127.0.0.1:1024/")
    with pytest.raises(ToolError, match=r"there is no host gone\.example\.com"):
        await fetcher.fetch("http://gone.example.com/")


def test_cancelling_a_fetch_cancels_it_and_frees_its_place():
    async def silent(writer):
        await asyncio.sleep(30)

    def allow(address):
        return address.is_loopback

    async def act(site):
        fetcher = fetching(allow=allow)
        tasks = [asyncio.create_task(fetcher.fetch(site.url + "/slow")) for _ in range(4)]
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        return (await fetcher.fetch(site.url + "/")).title

    assert with_site({"/": moved("/b"), "/b": reply(HTML), "/slow": silent}, act) == "Title"
