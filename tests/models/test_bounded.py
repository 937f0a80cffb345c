"""A server's answer takes no more memory than it may, however it is packed."""

import gzip
import resource
import zlib
from functools import cache

import httpx2
import pytest

from agent_env.models.bounded import hooks
from agent_env.models.server_facts import Health, server_facts, server_identity
from agent_env.wiring.trust import own_call

from .raw_server import ChatCompletions, RawServer, ask, failure, reply

ANSWER = b'{"choices": [{"message": {"content": "May 1"}}]}'


@cache
def bomb():
    """400 MB in 400 kB."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, again = (
        packing.compress(bytes(1 << 20)) + packing.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    return first + again * 399


def packed(body, how="gzip", status="200 OK", kind="application/json"):
    return reply(body, status, kind, f"content-encoding: {how}\r\n")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("200 OK", "application/json"),
        ("400 Bad Request", "text/plain"),
        ("200 OK", "text/event-stream"),
        ("503 Service Unavailable", "text/event-stream"),
    ],
)
def test_a_small_answer_is_not_unpacked_into_a_large_one(status, kind):
    answer = packed(bomb(), status=status, kind=kind)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failure(ChatCompletions, answer, stream="event" in kind)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000  # kB


def test_too_large_an_answer_is_told_as_are_many_small_values():
    error = failure(ChatCompletions, packed(bomb()))
    assert "the answer has more than 64 MB, or 2,000,000 lists and objects" in str(error)
    error = failure(ChatCompletions, reply(b'{"choices": [' + b"[]," * 2_000_000 + b"[]]}"))
    assert "lists and objects" in str(error)


def test_what_was_asked_for_is_unpacked_and_nothing_else():
    said, _ = ask(ChatCompletions, packed(gzip.compress(ANSWER)))
    assert said.message.content == "May 1"
    for body, how in ((ANSWER, "br"), (ANSWER, "gzip"), (ANSWER, "gzip, gzip")):
        assert "packed" in str(failure(ChatCompletions, packed(body, how)))


async def test_questions_about_a_server_are_bounded_too():
    async with RawServer(packed(bomb())) as server:
        assert not await Health(server.url, permit=own_call()).is_up()
        assert (await server_facts("x", server.url, None, own_call())).models is None
        assert await server_identity(server.url, own_call()) == (None, None)


async def test_events_may_go_on_where_their_reader_bounds_each():
    body = b"data: x\n\n" * 200_000
    async with (
        RawServer(reply(body, kind="text/event-stream")) as server,
        httpx2.AsyncClient(event_hooks=hooks(1 << 20, 1000, each_event=True)) as client,
    ):
        assert len((await client.get(server.url)).content) == len(body)
