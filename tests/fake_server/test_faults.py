"""A context that is too short, and replies that come in part, by plain httpx."""

import asyncio
import json

import httpx
import pytest

from tests.fake_server import FakeServer, ScriptedAnswer

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"


def saying(text):
    async def policy(turns, offers):
        return ScriptedAnswer(text)

    return policy


def chat(text="x" * 40, **fields):
    return {"model": "m", "messages": [{"role": "user", "content": text}]} | fields


def ask(script, text="abcdefgh", **options):
    """Runs `script(client, server)` against a server."""

    async def run():
        server = FakeServer(saying(text), **options)
        async with (
            server,
            httpx.AsyncClient(base_url=server.url[:-3], timeout=60.0, verify=False) as client,
        ):
            return await script(client, server)

    return asyncio.run(run())


def posted(body, path=CHAT, **options):
    async def script(client, server):
        return await client.post(path, json=body)

    return ask(script, **options)


@pytest.mark.parametrize(
    ("mode", "path", "error"),
    [
        (
            "openai",
            CHAT,
            "This model's maximum context length is 8 tokens. However, your messages resulted in"
            " 10 tokens. Please reduce the length of the messages.",
        ),
        ("openai", RESPONSES, "Your input exceeds the context window of this model. Please adjust"),
        (
            "vllm",
            CHAT,
            "This model's maximum context length is 8 tokens. However, your request has 10 input"
            " tokens. Please reduce the length of the input messages."
            " (parameter=input_tokens, value=10)",
        ),
        ("llama.cpp", CHAT, "request (10 tokens) exceeds the available context size (8 tokens),"),
        ("gemini", CHAT, "The input token count (10) exceeds the maximum number of tokens"),
    ],
)
def test_a_prompt_longer_than_the_context_is_refused_in_the_server_s_words(mode, path, error):
    body = chat() if path == CHAT else {"model": "m", "input": "x" * 40}
    response = posted(body, path, mode=mode, context_tokens=8)
    assert response.status_code == 400
    value = response.json()
    inner = (value[0] if isinstance(value, list) else value)["error"]
    assert inner["message"].startswith(error)
    if mode == "openai":
        assert inner["code"] == "context_length_exceeded"
    if mode == "llama.cpp":
        assert (inner["type"], inner["n_prompt_tokens"], inner["n_ctx"]) == (
            "exceed_context_size_error", 10, 8,
        )  # fmt: skip


def test_vllm_refuses_a_limit_that_does_not_fit_beside_the_prompt():
    response = posted(chat(max_tokens=11), mode="vllm", context_tokens=20)
    assert "too large: 11. This model's maximum context length is 20" in response.text
    assert posted(chat(max_tokens=10), mode="vllm", context_tokens=20).status_code == 200


def read_some(body, fault):
    """The text of a reply until it ends, breaks or falls silent, and which of these it was."""

    async def script(client, server):
        pieces = []
        try:
            patience = httpx.Timeout(60, read=2.0 if fault == "stall" else 60)
            async with client.stream("POST", CHAT, json=body, timeout=patience) as response:
                async for piece in response.aiter_text():
                    pieces.append(piece)
        except httpx.ReadTimeout:
            return "".join(pieces), "silent"
        except httpx.RemoteProtocolError:
            return "".join(pieces), "broken"
        return "".join(pieces), "ended"

    return ask(script, text="y" * 400, errors={fault: 1.0})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "end"), [("cut", "broken"), ("stall", "silent"), ("half", "ended")]
)
def test_half_a_reply_breaks_falls_silent_or_ends(fault, end, stream):
    text, how = read_some(chat(stream=stream), fault)
    assert how == end
    assert "yyyyyyyy" in text
    assert "[DONE]" not in text
    if stream and fault == "half":
        assert all(json.loads(line[6:]) for line in text.split("\n\n") if line)
