"""Servers that fall silent: how long they are waited for, and what they had said."""

import asyncio
import json

import pytest

from agent_env.errors import ModelError
from agent_env.models.settings import Parameters
from agent_env.models.streams import Pace, partial_text
from tests.loops import in_loop
from tests.models.raw_server import KEY, USER, ChatCompletions, RawServer, Responses

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PING = b": still thinking\n\n"


def event(value):
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def said(text, **more):
    return event({"choices": [{"delta": {"content": text}, "finish_reason": None} | more]})


HELLO = (said("Hello"), said("", finish_reason="stop"), b"data: [DONE]\n\n")


def framed(*pieces):
    """The pieces of a stream, which ends unless the last is a silence."""
    chunks = [
        p if p == HEAD or isinstance(p, float) else b"%x\r\n%s\r\n" % (len(p), p) for p in pieces
    ]
    return chunks if isinstance(pieces[-1], float) else [*chunks, b"0\r\n\r\n"]


@in_loop
async def ask(*pieces, idle_s=0.3, timeout_s=20.0, kind=ChatCompletions):
    """What the model is said to have written, or the error."""
    async with RawServer(framed(*pieces)) as server:
        model = kind("n", "m", server.url, KEY, Parameters(), timeout_s, stream=True, idle_s=idle_s)
        try:
            return (await model.generate([USER], [])).message.content
        except ModelError as exc:
            return exc
        finally:
            await model.close()


def test_a_stream_that_stops_or_ends_keeps_what_it_had_said():
    error = ask(HEAD, said("Let me "), said(f"see {KEY}"), 60.0)
    assert (error.kind, error.retryable, error.partial) == ("timeout", True, "Let me see ***")
    assert "stopped for 0.3 s; raise --idle-s or --reply-timeout-s, or try again" in str(error)
    error = ask(60.0, timeout_s=0.5)
    assert (error.kind, error.partial) == ("timeout", None)
    error = ask(HEAD, said("Half a"))
    assert (error.kind, error.partial) == ("connection", "Half a")
    pieces = [event({"type": "response.output_text.delta", "delta": d}) for d in ("It ", "is")]
    assert ask(HEAD, *pieces, 60.0, kind=Responses).partial == "It is"


def test_a_server_that_is_alive_is_waited_for():
    pings = [part for _ in range(8) for part in (PING, 0.15)]
    assert ask(HEAD, *pings, *HELLO, idle_s=1.1) == "Hello"
    assert ask(1.0, HEAD, *HELLO, idle_s=0.2) == "Hello"


async def test_a_call_that_is_cancelled_tells_what_its_stream_had_said():
    async with RawServer(framed(HEAD, said("So far"), 60.0)) as server:
        model = ChatCompletions("n", "m", server.url, KEY, Parameters(), 60.0, stream=True)
        call = asyncio.ensure_future(model.generate([USER], []))
        await asyncio.sleep(1.0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await call
        await model.close()
    assert caught.value.__notes__ == ["So far"]


def test_the_pace_bounds_the_first_byte_and_a_whole_reply():
    pace = Pace(idle_s=60.0, reply_s=600.0)
    assert pace.first_byte_s(1000) == 600.0
    pace.add_first_byte(1000, 20.0)
    assert [pace.first_byte_s(n) for n in (10, 1000, 4000, 9000)] == [80.0, 80.0, 320.0, 600.0]
    pace.add_first_byte(8000, 5.0)
    assert pace.first_byte_s(9) == 80.0
    assert Pace(slowest_first_s=0.1).first_byte_s(1) == 60.0
    assert pace.whole_s(100) == 600.0
    pace.add_reply(50, 5.0)
    pace.add_reply(100, 2.0)
    assert [pace.whole_s(n) for n in (None, 100, 1000, 9000)] == [600.0, 80.0, 260.0, 600.0]


def test_what_is_kept_of_a_long_stream_is_its_end():
    chunks = [{"choices": [{"delta": {"reasoning": f"{n} " * 100}}]} for n in range(100)]
    kept = partial_text(chunks)
    assert (len(kept), kept[-6:]) == (8000, "99 99 ")


@pytest.mark.parametrize(
    "chunk",
    [{}, {"choices": None}, {"choices": [None]}, {"choices": [{"delta": []}]}, {"delta": 5},
     {"choices": [{"delta": {"content": ["x"], "tool_calls": [{"function": {"name": 1}}]}}]}],
)  # fmt: skip
def test_chunks_of_any_form_say_nothing(chunk):
    assert partial_text([chunk]) is None
