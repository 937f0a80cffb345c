"""What the owner of a fake server chose or got wrong, by plain httpx."""

import asyncio
import json

import httpx
import pytest

from agent_env.extensions.fake_server import FakeServer, Hosting, ScriptedAnswer

USUAL = Hosting()
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
}
CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"


def saying(text):
    async def policy(turns, offers):
        return ScriptedAnswer(text if not offers else f"{text} with {offers[0].name}")

    return policy


def chat(text="x" * 40, **fields):
    return {"model": "m", "messages": [{"role": "user", "content": text}]} | fields


def ask(script, text="abcdefgh", hosting=USUAL, **options):
    """Runs `script(client, server)` against a server."""

    async def run():
        server = FakeServer(saying(text), hosting=hosting, **options)
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


def test_only_the_right_key_is_taken_and_each_request_s_key_is_logged():
    async def script(client, server):
        codes = [(await client.post(CHAT, json=chat())).status_code]
        for key in ("wrong-key", "right-key"):
            headers = {"Authorization": f"Bearer {key}"}
            codes.append((await client.post(CHAT, json=chat(), headers=headers)).status_code)
        codes += [(await client.get(path)).status_code for path in ("/v1/models", "/health")]
        return codes, list(server.authorizations)

    codes, keys = ask(script, hosting=Hosting(key="right-key"))
    assert codes == [401, 401, 200, 401, 200]
    assert keys == [None, "Bearer wrong-key", "Bearer right-key", None, None]


def test_a_refused_key_is_not_repeated():
    async def script(client, server):
        return await client.post(CHAT, json=chat(), headers={"Authorization": "Bearer secret-1"})

    response = ask(script, hosting=Hosting(key="right-key"))
    assert response.json()["error"]["code"] == "invalid_api_key"
    assert "secret-1" not in response.text
    assert "right-key" not in response.text


def test_a_model_that_loads_says_so_until_it_is_ready():
    now = [100.0]

    async def script(client, server):
        async def codes():
            post = await client.post(CHAT, json=chat())
            gets = [await client.get(path) for path in ("/health", "/v1/models")]
            return [each.status_code for each in (post, *gets)], post

        before, refused = await codes()
        now[0] += 29.9
        still, _ = await codes()
        now[0] += 0.1
        after, _ = await codes()
        return before, still, after, refused.json()

    hosting = Hosting(loading_s=30.0)
    before, still, after, body = ask(script, hosting=hosting, clock=lambda: now[0])
    assert (before, still, after) == ([503, 503, 200], [503, 503, 200], [200, 200, 200])
    assert body["error"]["message"] == "Loading model"
    assert body["error"]["type"] == "unavailable_error"


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
    response = posted(body, path, mode=mode, hosting=Hosting(context_tokens=8))
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
    hosting = Hosting(context_tokens=20)
    response = posted(chat(max_tokens=11), mode="vllm", hosting=hosting)
    assert "too large: 11. This model's maximum context length is 20" in response.text
    assert posted(chat(max_tokens=10), mode="vllm", hosting=hosting).status_code == 200


def test_dropped_tools_cost_nothing_and_are_never_called():
    hosting = Hosting(drops_tools=True)
    with_tools = posted(chat(tools=[TOOL], tool_choice="required"), hosting=hosting).json()
    without = posted(chat(), hosting=hosting).json()
    assert with_tools["usage"]["prompt_tokens"] == without["usage"]["prompt_tokens"] == 10
    assert with_tools["choices"][0]["message"]["content"] == "abcdefgh"
    assert "tool_calls" not in with_tools["choices"][0]["message"]
    kept = posted(chat(tools=[TOOL])).json()
    assert kept["usage"]["prompt_tokens"] == 10 + 28
    assert kept["choices"][0]["message"]["content"] == "abcdefgh with look"


def test_a_model_that_is_not_served_is_refused_or_replaced():
    hosting = Hosting(serves="smollm2")
    refused = posted(chat(), mode="vllm", hosting=hosting)
    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "NotFoundError")
    assert posted(chat(), mode="llama.cpp", hosting=hosting).json()["model"] == "smollm2"
    assert posted(chat(), hosting=Hosting(answers_as="other")).json()["model"] == "other"


def test_requests_are_sent_on_to_another_host():
    response = posted(chat(), hosting=Hosting(redirects_to="http://127.0.0.1:9999"))
    assert response.status_code == 307
    assert response.headers["location"] == "http://127.0.0.1:9999/v1/chat/completions"


def test_responses_can_hide_that_a_reply_was_cut():
    body = {"model": "m", "input": "x", "max_output_tokens": 1}
    reply = posted(body, RESPONSES, hosting=Hosting(hides_truncation=True)).json()
    assert (reply["status"], reply["incomplete_details"]) == ("completed", None)
    assert reply["output"][0]["status"] == "completed"
    assert reply["usage"]["output_tokens"] == 1


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
