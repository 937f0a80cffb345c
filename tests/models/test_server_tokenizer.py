"""Counts by the model's own server: asked over a socket, marked as its own, never mixed unsaid."""

import asyncio

import pytest

from agent_env.errors import ConfigError
from agent_env.extensions.fake_server import Answer, Call, FakeServer
from agent_env.models.server_tokenizer import CountedByServer, ServerTokenizer
from agent_env.models.settings import Parameters
from agent_env.models.text_protocol import TextProtocol
from agent_env.protocols import Count
from agent_env.records.schema import Message, Reply, ToolSpec, Usage
from agent_env.wiring.trust import own_call
from tests.models.raw_server import KEY, LOOKUP, ChatCompletions, RawServer, reply

USER = Message(role="user", content="12345678")
HTML = reply("<html>hello</html>", kind="text/html")


async def says(turns: object, offers: object) -> Answer:
    return Answer(text="abcd", calls=(Call("lookup", "{}", "c1"),), reasoning="12345678")


def generated(
    kind: str, in_text: bool = False, tells_usage: bool = False, tools: tuple[ToolSpec, ...] = ()
) -> Reply:
    async def go() -> Reply:
        async with FakeServer(says, tokenizer=kind, tells_usage=tells_usage) as server:
            tokenizer = ServerTokenizer("m", server.url, KEY, permit=own_call())
            await tokenizer.open()
            chat = ChatCompletions("n", "m", server.url, KEY, Parameters(), 5.0)
            counted = CountedByServer(chat, tokenizer)
            model = TextProtocol(counted) if in_text else counted
            try:
                return await model.generate([USER], tools)
            finally:
                await model.close()
                await tokenizer.close()

    return asyncio.run(go())


def test_what_the_server_does_not_tell_its_tokenizer_counts() -> None:
    """The question has eight letters, the tool's schema 165."""
    usage = generated("vllm", tools=(LOOKUP,)).usage
    assert usage == Usage(input_tokens=2 + 42, output_tokens=1 + 2 + 2, source="server tokenizer")


def test_it_counts_what_the_same_server_would_have_told() -> None:
    told = generated("vllm", tells_usage=True).usage
    assert (told.input_tokens, told.output_tokens, told.source) == (2, 5, "provider")


def test_llama_cpp_words_the_conversation_first() -> None:
    """`<|im_start|>user`, a line break, eight letters, `<|im_end|>` and a line break: 36 bytes."""
    usage = generated("llama.cpp").usage
    assert usage == Usage(input_tokens=9, output_tokens=5, source="server tokenizer")


def test_in_text_the_conversation_is_counted_as_it_is_sent() -> None:
    native, text = generated("vllm").usage, generated("vllm", True, tools=(LOOKUP,)).usage
    assert native.input_tokens == 2
    assert text.input_tokens is not None
    assert text.input_tokens > 100  # the tools stand in the system text


@pytest.mark.parametrize("kind", ["vllm", "llama.cpp"])
def test_a_text_is_counted_and_none_costs_no_request(kind: str) -> None:
    async def go() -> list[Count]:
        async with FakeServer(says, tokenizer=kind) as server:
            tokenizer = ServerTokenizer("m", server.url, KEY, permit=own_call())
            await tokenizer.open()
            asked = server.counts["/tokenize"]
            found = [await tokenizer.counted(text) for text in ("", "12345", "é" * 4)]
            assert server.counts["/tokenize"] == asked + 2
            await tokenizer.close()
            return found

    assert asyncio.run(go()) == [Count(n, "server tokenizer") for n in (0, 2, 2)]


def test_a_server_that_is_gone_leaves_estimates_that_say_so() -> None:
    async def go() -> tuple[Count, Usage, ServerTokenizer]:
        async with FakeServer(says) as server:
            tokenizer = ServerTokenizer("m", server.url, KEY, permit=own_call())
            await tokenizer.open()
        counted = await tokenizer.counted("12345")
        said = Reply(message=Message(role="assistant", content="12345678"))
        usage = await tokenizer.usage({"messages": []}, [USER, USER], said)
        await tokenizer.close()
        return counted, usage, tokenizer

    counted, usage, tokenizer = asyncio.run(go())
    assert counted == Count(2, "estimate")
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
def test_a_server_that_does_not_count_is_refused_in_one_line(answer: bytes, found: str) -> None:
    async def go() -> None:
        async with RawServer(answer) as server:
            tokenizer = ServerTokenizer("m", server.url, KEY, permit=own_call())
            try:
                await tokenizer.open()
            finally:
                await tokenizer.close()

    with pytest.raises(ConfigError) as error:
        asyncio.run(go())
    assert "--tokenizer server: this server does not count tokens (" in str(error.value)
    assert found in str(error.value)
    assert KEY not in str(error.value)
    assert "\n" not in str(error.value)
