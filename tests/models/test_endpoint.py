"""What either adapter makes of servers that do not do as they should."""

import asyncio
import json
import subprocess
import sys

import pytest

from agent_env.errors import ConfigError, ModelError
from agent_env.models.endpoint import Endpoint
from agent_env.models.settings import Parameters
from agent_env.models.streams import Pace
from agent_env.records.schema import Message, Reply
from agent_env.testing import ScriptedModel, answer
from agent_env.wiring.trust import own_call
from tests.fake_server.server import serve
from tests.models.raw_server import (
    KEY,
    USER,
    ChatCompletions,
    RawServer,
    Responses,
    ask,
    events,
    failure,
    reply,
)
from tests.models.test_streams import HEAD, framed

KINDS, EVENTS = [ChatCompletions, Responses], "text/event-stream"
WAYS = [(kind, stream) for kind in KINDS for stream in (False, True)]
each_adapter = pytest.mark.parametrize("kind", KINDS)
each_way = pytest.mark.parametrize(("kind", "stream"), WAYS)
two_ways = pytest.mark.parametrize(("kind", "stream"), [WAYS[0], WAYS[3]])


def whole(kind, words):
    if kind is Responses:
        content = [{"type": "output_text", "text": words}]
        return reply({"output": [{"type": "message", "content": content}]})
    return reply({"choices": [{"message": {"content": words}, "finish_reason": "stop"}]})


def said(message, **more):
    return {"error": {"message": message} | more}


@two_ways
@pytest.mark.parametrize(
    ("status", "retryable", "advice"),
    [
        ("401 Unauthorized", False, "check the API key"),
        ("408 Request Timeout", True, ""),
        ("500 Internal Server Error", True, "try again later"),
    ],
)
def test_each_status_has_a_verdict_and_advice(kind, stream, status, retryable, advice):
    error = failure(kind, reply(said(f"no\n for {KEY}"), status), stream)
    assert (error.status, error.retryable) == (int(status[:3]), retryable)
    assert f"/v1 (m-1) answered HTTP {status[:3]}: no for ***; {advice}" in str(error)
    assert str(error).startswith("http://127.0.0.1:")


def test_retry_after_is_told():
    answer = reply(said("slow down"), "429 Too Many", headers="retry-after: 7\r\n")
    error = failure(ChatCompletions, answer)
    assert "HTTP 429 (Retry-After: 7 s): slow down" in str(error)
    assert (error.kind, error.retry_after_s) == ("rate_limit", 7.0)


@two_ways
@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (reply(f"<html>{KEY}", kind="text/html"), "sent no JSON object but '<html>***'"),
        (reply("x" * 70 + KEY, kind="text/html"), "xxx***'; check that the base URL is right"),
        (reply(b""), "sent an empty body; check that the base URL is right"),
        (reply("[1, 2]"), "sent no JSON object but '[1, 2]'"),
        (reply("[" * 100_000), "sent no JSON object but '[[[["),
        (reply(said("down", code=503)), "answered HTTP 200: down; try again later"),
        (reply({"error": "out of memory"}), "answered HTTP 200: out of memory"),
        (reply('{"error": ' + '{"a":' * 300 + "1" + "}" * 301), "answered HTTP 200: nothing more"),
    ],
)
def test_a_200_that_is_no_reply_is_an_error_worth_a_retry(kind, stream, answer, found):
    error = failure(kind, answer, stream)
    assert found in str(error)
    assert error.retryable


@each_way
def test_an_error_body_with_a_final_code_is_final_though_the_status_is_200(kind, stream):
    error = failure(kind, reply(said("bad key", code=401)), stream)
    assert (error.status, error.retryable) == (401, False)


@each_way
@pytest.mark.parametrize("whole_answer", [reply({"a": "b" * 100}), events({"a": "b" * 100})])
def test_a_body_that_is_cut_is_worth_a_retry(kind, stream, whole_answer):
    error = failure(kind, whole_answer[:-20], stream)
    assert (error.status, error.retryable) == (None, True)


@each_adapter
@pytest.mark.parametrize(
    ("answer", "words", "status"),
    [
        (events(said("it broke", code=503)), "it broke", 503),
        (reply(b'data: {"a": "\xff"}\n\n', kind=EVENTS), "sent what cannot be read", None),
        (reply(b"data: {\n\n", kind=EVENTS), "sent what cannot be read", None),
    ],
)
def test_an_error_or_what_cannot_be_read_inside_a_stream_is_told(kind, answer, words, status):
    error = failure(kind, answer, stream=True)
    assert words in str(error)
    assert (error.status, error.retryable) == (status, True)


@each_adapter
def test_letters_that_cannot_be_are_replaced_and_an_echoed_key_is_hidden(kind):
    got, _ = ask(kind, whole(kind, "Fri?day").replace(b"?", b"\xff"))
    assert got.message.content == "Fri\ufffdday"
    half = Message(role="user", content="\udc00")
    got, sent = ask(kind, whole(kind, "a \ud83d b"), messages=[half])
    assert got.message.content == "a \ufffd b"
    assert Reply.model_validate_json(got.model_dump_json()) == got
    assert "\ufffd" in json.dumps(sent, ensure_ascii=False)
    got, _ = ask(kind, whole(kind, f"your key is {KEY}"))
    assert got.message.content == "your key is ***"
    assert KEY not in got.model_dump_json()


def test_deep_items_are_an_error_and_numbers_that_json_does_not_know_none():
    deep = '{"output": [{"type": "message", "x": ' + "[" * 100 + "]" * 100 + "}]}"
    assert "nested more than 64 levels deep" in str(failure(Responses, reply(deep)))
    answer = reply('{"output": [{"type": "message", "content": [], "score": NaN}]}')
    got, _ = ask(Responses, answer)
    assert got.message.provider_items[0]["score"] is None


async def generated(kind, url, timeout_s=5.0, stream=False):
    """The error that a question to this address ends with."""
    model = kind("n", "m-1", url, KEY, Parameters(), timeout_s, stream)
    with pytest.raises(ModelError) as caught:
        await model.generate([USER], [])
    await model.close()
    return caught.value


@two_ways
async def test_a_server_that_is_not_there_is_named_with_advice(kind, stream):
    async with RawServer(b"") as server:
        pass
    error = await generated(kind, server.url, stream=stream)
    assert "check that it runs and that the base URL is right" in str(error)
    assert (error.status, error.retryable) == (None, True)


@each_adapter
def test_the_pace_of_a_reply_in_one_piece_is_learnt_from_the_usage_names_of_its_api(
    kind, monkeypatch
):
    paces = []
    monkeypatch.setattr(Pace, "add_reply", lambda pace, tokens, seconds: paces.append(tokens))
    names = ("prompt", "completion") if kind is ChatCompletions else ("input", "output")
    usage = {f"{name}_tokens": count for name, count in zip(names, (7, 3), strict=True)}
    answer = json.loads(whole(kind, "Friday").partition(b"\r\n\r\n")[2])
    ask(kind, reply(answer | {"usage": usage}))
    ask(kind, whole(kind, "Friday"))
    assert paces == [3]


@two_ways
async def test_a_server_that_trickles_is_given_up_after_the_timeout(kind, stream):
    """The timeout bounds the whole reply, not the pause between two bytes."""
    async with RawServer(framed(HEAD, *[b": wait\n\n", 0.05] * 10)) as server:
        error = await generated(kind, server.url, 0.3, stream)
    assert "gave no reply within 0.3 s; raise --reply-timeout-s" in str(error)
    assert error.retryable


async def test_the_key_goes_out_as_a_bearer_and_the_sdk_does_not_retry():
    async with RawServer(reply({}, "500 Internal Server Error")) as server:
        await generated(ChatCompletions, server.url)
    (head,) = server.heads
    assert f"authorization: Bearer {KEY}".encode() in head


@pytest.mark.parametrize("key", [f"{KEY}\n", f"Bearer {KEY}", f"{KEY}\u00e4"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(ConfigError, match="a space, a line break or a letter outside ASCII") as e:
        Endpoint("m", "http://127.0.0.1:1/v1", key, 1.0, permit=own_call())
    assert "sk-planted" not in str(e.value)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000/v1", "", "ftp://a/v1", "http://", "http://h:99999/v1", "http://h:x/v1"]
)
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="write http://HOST:PORT/v1"):
        Endpoint("m", url, None, 1.0, permit=own_call())


async def test_a_password_in_the_base_url_is_not_shown():
    error = await generated(
        ChatCompletions, "http://user:secret-word@127.0.0.1:1/v1?token=secret-word"
    )
    assert str(error).startswith("http://127.0.0.1:1/v1 (m-1) cannot")
    assert "secret-word" not in str(error)


def test_the_sdk_is_not_loaded_by_importing_the_adapters():
    code = (
        "import sys, agent_env.models.client, agent_env.models.apis.compatible,"
        " agent_env.models.apis.openai,"
        " agent_env.models.tokenizers; print('openai' in sys.modules, 'tiktoken' in sys.modules)"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout == "False False\n"


@each_way
async def test_calls_at_once_have_a_connection_each_and_later_calls_use_them_again(kind, stream):
    open_after = []
    async with serve(ScriptedModel([answer("yes")] * 15), latency_s=0.05) as server:
        model = kind("n", "m-1", server.url, KEY, Parameters(), 5.0, stream)
        for at_once in (3, 5, 1, 5):
            await asyncio.gather(*(model.generate([USER], []) for _ in range(at_once)))
            open_after.append(len(server._connections))
        await model.close()
    assert open_after == [3, 5, 5, 5]
