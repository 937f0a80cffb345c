"""Counts of tokens: estimated, exact, and by the model's server."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec

import pytest

from agent_env.errors import ConfigError
from agent_env.models import tokenizers
from agent_env.models.settings import Parameters
from agent_env.models.tokenizers import (
    CountedByServer,
    CountedModel,
    Estimate,
    ServerTokenizer,
    Tiktoken,
)
from agent_env.protocols import Count
from agent_env.records.schema import Message, Reply, ToolCall, Usage
from agent_env.testing import ScriptedModel, answer, calls
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.models.raw_server import KEY, LOOKUP, ChatCompletions, RawServer, reply

ranked = pytest.mark.skipif(find_spec("bpe_openai") is None, reason="needs agent-env[tokenizers]")


@pytest.fixture(scope="module")
def o200k():
    return Tiktoken("o200k_base")


def test_the_estimate_is_a_quarter_of_the_bytes_rounded_up():
    assert Estimate().name == "estimate"
    counts = [Estimate().count(text) for text in ("", "a", "abcd", "abcde", "漢字")]
    assert counts == [0, 1, 1, 2, 2]


@ranked
def test_counts_are_those_that_openai_publishes(o200k):
    """The examples of OpenAI's notes on counting tokens."""
    texts = ["antidisestablishmentarianism", "2 + 2 = 4", "お誕生日おめでとう"]
    cl100k = Tiktoken("cl100k_base")
    assert [o200k.count(text) for text in texts] == [6, 7, 8]
    assert [cl100k.count(text) for text in texts] == [6, 7, 9]
    assert (o200k.name, cl100k.name) == ("o200k_base", "cl100k_base")


@ranked
@pytest.mark.parametrize("text", ["", "\ud800", "\x00"])
def test_odd_texts_are_counted(o200k, text):
    assert o200k.count(text) <= 1


@ranked
@pytest.mark.parametrize("letter", [" ", "漢"])
def test_a_million_of_one_letter_is_counted(o200k, letter):
    """tiktoken itself panics on a million blanks, past any `except Exception`."""
    assert o200k.count(letter * 1_000_000 + "x") > 7_000


def test_a_tokenizer_that_cannot_be_is_refused(monkeypatch, tmp_path):
    known = "no tokenizer 'x'; known: o200k_base, cl100k_base, estimate, server"
    with pytest.raises(ConfigError, match=known):
        Tiktoken("x")
    monkeypatch.setattr(tokenizers, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'agent-env\[tokenizers\]'"):
        Tiktoken("o200k_base", tmp_path)


def test_ranks_in_a_directory_must_be_the_published_ones(tmp_path):
    address = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    file = tmp_path / hashlib.sha1(address.encode()).hexdigest()
    file.write_bytes(b"IQ== 0\n")
    with pytest.raises(ConfigError, match="is not the rank file it should be"):
        Tiktoken("o200k_base", tmp_path).count("x")


USER = Message(role="user", content="12345678")


class Counting(Estimate):
    """Remembers what it was asked to count."""

    def __init__(self):
        self.texts = []

    def count(self, text):
        self.texts.append(text)
        return super().count(text)


def usages(tokenizer, *replies, in_text=False):
    model = CountedModel(ScriptedModel(replies), tokenizer, in_text)
    messages, found = [USER], []
    for _ in replies:
        reply = asyncio.run(model.generate(tuple(messages), ()))
        found.append(reply.usage)
        messages += [reply.message, Message(role="tool", tool_call_id="a", content="abcd")]
    return found


def test_usage_is_told_or_counted_once_and_half_of_it_is_none():
    told = Usage(input_tokens=5, output_tokens=6, source="provider")
    tokenizer = Counting()
    assert usages(tokenizer, answer("Hello", told)) == [told]
    assert tokenizer.texts == []
    first, second = usages(tokenizer, calls(("find", "{}")), answer("12345678"))
    assert first == Usage(input_tokens=2, output_tokens=2, source="estimate")
    assert second == Usage(input_tokens=2 + 2 + 1, output_tokens=2, source="estimate")
    assert tokenizer.texts == ["12345678", "find{}", "find{}", "abcd", "12345678"]
    (found,) = usages(Estimate(), answer("1234", Usage(input_tokens=9, source="provider")))
    assert (found.input_tokens, found.output_tokens, found.source) == (2, 1, "estimate")
    call = ToolCall(id="a", name="find", arguments="{}")
    said = Reply(message=Message(role="assistant", content="12345678", tool_calls=(call,)))
    (found,) = usages(Estimate(), said, in_text=True)
    assert found.output_tokens == 2


HTML = reply("<html>hello</html>", kind="text/html")


async def says(turns, offers):
    call = tool_call("lookup", "{}", "c1")
    return ScriptedAnswer(text="abcd", calls=(call,), reasoning="12345678")


@asynccontextmanager
async def counting(server, opens=True):
    """The tokenizer of this server."""
    tokenizer = ServerTokenizer("m", server.url, KEY, permit=own_call())
    try:
        if opens:
            await tokenizer.open()
        yield tokenizer
    finally:
        await tokenizer.close()


@pytest.mark.parametrize(
    ("kind", "tools", "usage"),
    [
        # the question has eight letters, the tool's schema 165
        ("vllm", (LOOKUP,), {"input_tokens": 2 + 42, "output_tokens": 1 + 2 + 2}),
        # `<|im_start|>user`, a line break, eight letters, `<|im_end|>` and a line break: 36 bytes
        ("llama.cpp", (), {"input_tokens": 9, "output_tokens": 5}),
    ],
)
async def test_what_the_server_does_not_tell_its_tokenizer_counts(kind, tools, usage):
    async with (
        FakeServer(says, tokenizer=kind, tells_usage=False) as server,
        counting(server) as tokenizer,
    ):
        chat = ChatCompletions("n", "m", server.url, KEY, Parameters(), 5.0)
        reply = await CountedByServer(chat, tokenizer).generate([USER], tools)
        await chat.close()
    assert reply.usage == Usage(source="server tokenizer", **usage)


@pytest.mark.parametrize("kind", ["vllm", "llama.cpp"])
async def test_a_text_is_counted_and_none_costs_no_request(kind):
    async with FakeServer(says, tokenizer=kind) as server, counting(server) as tokenizer:
        asked = server.counts["/tokenize"]
        found = [await tokenizer.counted(text) for text in ("", "12345", "é" * 4)]
        assert server.counts["/tokenize"] == asked + 2
    assert found == [Count(n, "server tokenizer") for n in (0, 2, 2)]


async def test_a_server_that_is_gone_leaves_estimates_that_say_so():
    async with AsyncExitStack() as stack:
        async with FakeServer(says) as server:
            tokenizer = await stack.enter_async_context(counting(server))
        assert await tokenizer.counted("12345") == Count(2, "estimate")
        said = Reply(message=Message(role="assistant", content="12345678"))
        usage = await tokenizer.usage({"messages": []}, [USER, USER], said)
    assert usage == Usage(input_tokens=4, output_tokens=2, source="estimate")
    assert tokenizer.failures == 2
    assert "cannot be reached" in tokenizer.problem
    assert KEY not in tokenizer.problem


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (HTML, "sent no JSON object but '<html>hello</html>'"),
        (reply({"tokens": []}), "gave no count of tokens"),
        (reply({"count": "many"}), "gave no count of tokens"),
        (reply({"error": {"message": "no route", "code": 404}}), "no route"),
        (reply({"error": {"message": f"bad key {KEY}"}}, "401 Unauthorized"), "bad key ***"),
    ],
    ids=["html", "no tokens", "no number", "an error", "an echoed key"],
)
async def test_a_server_that_does_not_count_is_refused_in_one_line(answer, found):
    async with RawServer(answer) as server, counting(server, opens=False) as tokenizer:
        with pytest.raises(ConfigError) as error:
            await tokenizer.open()
    said = str(error.value)
    assert "--tokenizer server: this server does not count tokens (" in said
    assert found in said
    assert (KEY in said, "\n" in said) == (False, False)
