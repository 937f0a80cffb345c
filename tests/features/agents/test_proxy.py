"""Official clients of four APIs, and of MCP, reach one episode by its proxy."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
import pytest

from agent_env.errors import ModelError
from agent_env.features.agents.apis import responses as responses_api
from agent_env.features.agents.apis.chat import ChatApi
from agent_env.features.agents.apis.exchange import Answer, HttpRequest, Refusal, Tokens
from agent_env.features.agents.apis.generate_content import GeminiApi, joined
from agent_env.features.agents.apis.responses import ResponsesApi
from agent_env.features.agents.proxy import LiveReply, Proxy, Room
from agent_env.models.streams import LISTENER
from agent_env.records.schema import Message, Reply, ToolCall, Usage
from tests.features.agents.test_desk import desk
from tests.features.agents.test_desk import request as chat_request
from tests.lazy_modules import LazyModule

anthropic, genai, mcp, openai = map(LazyModule, ("anthropic", "google.genai", "mcp", "openai"))
hosting = LazyModule("agent_env.features.serve.hosting")
process_loop = LazyModule("agent_env.features.agents.process_loop")

CALL = ToolCall(id="c1", name="web_search", arguments='{"query": "lighthouse"}')
SAID = Message(role="assistant", content="I look it up.", tool_calls=(CALL,), reasoning="hm")
END = Message(role="assistant", content="In 1982.")


class Model:
    """Calls a tool, then answers; tells its text in pieces, as a stream brings them."""

    name = "m"

    def __init__(self, attempts=(None,)):
        self.asked, self.attempts = [], attempts

    async def generate(self, messages, tools, options):
        self.asked.append(messages)
        message = END if any(turn.role == "tool" for turn in messages) else SAID
        for pieces in self.attempts:
            if (heard := LISTENER.get()) is not None:
                heard(None)
                for piece in pieces or (message.content[:5], message.content[5:]):
                    heard(piece)
                    await asyncio.sleep(0)
        usage = Usage(input_tokens=11, output_tokens=7, source="provider")
        return Reply(message=message, finish_reason="stop", usage=usage)


class Scripted:
    """Says one message after the other."""

    name = "m"

    def __init__(self, *messages):
        self.messages, self.asked, self.offered = list(messages), [], []

    async def generate(self, messages, tools, options):
        self.asked.append(messages)
        self.offered.append(tools)
        return Reply(message=self.messages.pop(0), finish_reason="stop")


@asynccontextmanager
async def reached(model=None, token="t0ken"):
    """The address of a proxy, and the desk behind it."""
    at, stop = desk(), asyncio.Event()
    at.attempt.model = model or Model()
    listener = hosting.listening(0)
    app = Proxy(at, "small", token, process_loop.mcp_app(at), Room())
    serving = asyncio.create_task(hosting.serve_app(app, listener, stop))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", at
    finally:
        stop.set()
        await serving


async def by_chat(url, stream):
    tools = [{"type": "function", "function": {"name": "web_search", "parameters": {}}}]
    turns = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "When?"}]
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="t0ken") as client:
        ask = client.chat.completions
        if stream:
            async with ask.stream(model="x", messages=turns, tools=tools) as events:
                first = (await events.get_final_completion()).choices[0].message
        else:
            reply = await ask.create(model="x", messages=turns, tools=tools)
            first = reply.choices[0].message
        call = first.tool_calls[0]
        turns += [
            {"role": "assistant", "content": first.content, "tool_calls": [
                {"id": call.id, "type": "function", "function": {
                    "name": call.function.name, "arguments": call.function.arguments}}]},
            {"role": "tool", "tool_call_id": call.id, "content": "1982"},
        ]  # fmt: skip
        last = await ask.create(model="x", messages=turns, tools=tools)
        return first.content, call.function.arguments, last.choices[0].message.content


async def by_responses(url, stream):
    tools = [{"type": "function", "name": "web_search", "parameters": {}}, {"type": "web_search"}]
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="t0ken") as client:
        items = [{"role": "user", "content": "When?"}]
        fields = {"model": "x", "tools": tools, "instructions": "Be short."}
        if stream:
            async with client.responses.stream(input=items, **fields) as events:
                first = await events.get_final_response()
        else:
            first = await client.responses.create(input=items, **fields)
        call = first.output[1]
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "1982"}
        items += [*(item.model_dump(exclude_none=True) for item in first.output), output]
        last = await client.responses.create(input=items, **fields)
        return first.output_text, call.arguments, last.output_text


async def by_messages(url, stream):
    tools = [
        {"name": "web_search", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "hosted"},
    ]
    turns = [{"role": "user", "content": "When?"}]
    fields = {"model": "x", "max_tokens": 99, "tools": tools, "system": "Be short."}
    async with anthropic.AsyncAnthropic(base_url=url, api_key="t0ken") as client:
        if stream:
            async with client.messages.stream(messages=turns, **fields) as events:
                first = await events.get_final_message()
        else:
            first = await client.messages.create(messages=turns, **fields)
        text, call = first.content
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "1982"}
        blocks = [
            {"type": "text", "text": text.text},
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input},
        ]
        turns += [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]
        last = await client.messages.create(messages=turns, **fields)
        return text.text, json.dumps(call.input), last.content[0].text


async def by_gemini(url, stream):
    options = {"base_url": url}
    client = genai.Client(api_key="t0ken", http_options=options)
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    function = {"name": "web_search", "parameters_json_schema": schema}
    config = {
        "tools": [{"function_declarations": [function]}],
        "automatic_function_calling": {"disable": True},
        "system_instruction": "Be short.",
    }
    turns = [genai.types.UserContent("When?")]
    ask = client.aio.models
    if stream:
        parts = []
        async for piece in await ask.generate_content_stream(
            model="x", contents=turns, config=config
        ):
            parts += piece.candidates[0].content.parts
    else:
        first = await ask.generate_content(model="x", contents=turns, config=config)
        parts = first.candidates[0].content.parts
    text = "".join(part.text or "" for part in parts)
    (call,) = (part.function_call for part in parts if part.function_call)
    result = genai.types.Part.from_function_response(name=call.name, response={"result": "1982"})
    said = genai.types.ModelContent(
        [genai.types.Part(text=text), genai.types.Part(function_call=call)]
    )
    turns += [said, genai.types.UserContent([result])]
    last = await ask.generate_content(model="x", contents=turns, config=config)
    await client.aio.aclose()
    return text, json.dumps(call.args), last.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("by", [by_chat, by_responses, by_messages, by_gemini])
async def test_each_official_client_has_the_episodes_model(by, stream):
    async with reached() as (url, at):
        said = await by(url, stream)
        asked, meter = at.attempt.model.asked, at.attempt.meter
    assert said == ("I look it up.", '{"query": "lighthouse"}', "In 1982.")
    assert [turn.role for turn in asked[0]] == ["system", "user"]
    assert [turn.role for turn in asked[1]] == ["system", "user", "assistant", "tool"]
    assert asked[1][2] == SAID  # with the thoughts that the agent never had
    assert asked[1][3].content == "1982"
    assert (meter.steps, meter.tokens) == (2, 36)


async def test_mcp_and_plain_posts_reach_the_same_tools():
    async with reached() as (url, _):
        async with mcp.Client(f"{url}/mcp") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("web_search", {"query": "x"})
        async with httpx.AsyncClient() as client:
            key = {"authorization": "Bearer t0ken"}
            address = f"{url}/tools/web_search"
            posted = await client.post(address, json={"query": "x"}, headers=key)
        called, posted = result.content[0].text, posted.text
    assert names == ["web_search"]
    assert called.endswith('web_search {"query": "x"} [\'web_search\']')
    assert posted.split(maxsplit=1)[1] == called.split(maxsplit=1)[1]


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_in_a_namespace_are_plain_ones_for_the_model(stream):
    """As Codex names those of MCP servers."""
    inner = {"type": "function", "name": "web_search", "parameters": {}}
    tools = [{"type": "namespace", "name": "mcp__env", "tools": [inner]}]
    called = CALL.model_copy(update={"name": "mcp__env__web_search"})
    asked = {"tools": tools, "stream": stream, "model": "x"}

    model = Scripted(Message(role="assistant", tool_calls=(called,)), END)
    async with reached(model) as (url, _), httpx.AsyncClient() as client:
        key = {"authorization": "Bearer t0ken"}
        items = [{"role": "user", "content": "When?"}]
        first = await client.post(f"{url}/v1/responses", json=asked | {"input": items}, headers=key)
        call = {"type": "function_call", "call_id": "c1", "namespace": "mcp__env",
                "name": "web_search", "arguments": CALL.arguments}  # fmt: skip
        output = {"type": "function_call_output", "call_id": "c1", "output": "1982"}
        items += [call, output]
        await client.post(f"{url}/v1/responses", json=asked | {"input": items}, headers=key)
        text, asked_turns, offered = first.text, model.asked, model.offered
    assert '"namespace": "mcp__env", "name": "web_search"' in text
    assert "mcp__env__web_search" not in text
    assert [tool.name for tool in offered[0]] == ["mcp__env__web_search"]
    assert asked_turns[1][1].tool_calls == (called,)


SAYS = {"role": "user", "content": "When?"}
IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]


@pytest.mark.parametrize(
    ("path", "body", "key", "status", "says"),
    [
        ("/v1/chat/completions", {"messages": IMAGE}, "t0ken", 400, "'image_url' is not passed on"),
        ("/v1/chat/completions", {"messages": 3}, "t0ken", 400, "messages must be a list"),
        ("/v1/chat/completions", {}, "other", 401, "Incorrect API key"),
        ("/v1/chat/completions", {"messages": [SAYS], "n": 2}, "t0ken", 400,
         "n is 2: one reply a request is passed on"),
        ("/v1/chat/completions", {"messages": [SAYS], "max_tokens": 0}, "t0ken", 400,
         "integer below minimum value"),
        ("/v1/completions", {}, "t0ken", 404, "nothing at POST /v1/completions"),
        ("/v9/messages", {}, "t0ken", 404, "nothing at POST /v9/messages"),
        ("/v1/responses", {"input": "x", "previous_response_id": "r"}, "t0ken", 400,
         "replies are not stored"),
        ("/tools/calculator", [1], "t0ken", 400, "the arguments are an object"),
    ],
)  # fmt: skip
async def test_what_is_not_passed_on_is_refused_by_name(path, body, key, status, says):
    async with reached() as (url, at), httpx.AsyncClient() as client:
        headers = {"authorization": f"Bearer {key}"}
        reply = await client.post(url + path, json=body, headers=headers)
    assert reply.status_code == status
    assert says in reply.text
    assert at.attempt.model.asked == []


async def test_streams_that_begin_anew_or_fail_break_off():
    model = Model(attempts=(("I look ",), ("You ", "look")))
    async with reached(model) as (url, at), httpx.AsyncClient() as client:
        body = {"stream": True, "messages": [{"role": "user", "content": "When?"}]}
        key = {"authorization": "Bearer t0ken"}
        address = f"{url}/v1/chat/completions"
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(address, json=body, headers=key)
        again = await client.post(address, json=body | {"stream": False}, headers=key)
        assert again.json()["choices"][0]["message"]["content"] == "I look it up."
        assert len(at.attempt.model.asked) == 1

    class Failing(Scripted):
        async def generate(self, messages, tools, options):
            heard = LISTENER.get()
            heard(None)
            heard("I look ")
            await asyncio.sleep(0)
            raise ModelError("down")

    async with reached(Failing()) as (url, at), httpx.AsyncClient() as client:
        body = {"stream": True, "messages": [{"role": "user", "content": "When?"}]}
        key = {"authorization": "Bearer t0ken"}
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(f"{url}/v1/chat/completions", json=body, headers=key)
        assert str(at.failed.exception()) == "down"


def test_text_comes_as_events_as_soon_as_it_is_there_and_once():
    api = ChatApi()
    live = LiveReply(api, chat_request(), 1)
    sent = [b"".join(live.add(piece)) for piece in (None, "I ", "look", None, "I lo", "ok it")]
    assert [text.count(b"data:") for text in sent] == [0, 2, 1, 0, 0, 1]
    assert b'"content": " it"' in sent[5]
    assert not live.is_broken
    assert live.sent == "I look it"


def test_bodies_that_would_fill_the_memory_are_refused_before_they_are_parsed():
    async def main():
        async with reached() as (url, _), httpx.AsyncClient() as client:
            address, key = f"{url}/v1/chat/completions", {"authorization": "Bearer t0ken"}
            told = []
            for body, headers in (
                (b'{"messages": [' + b"[]," * 500_000 + b"[]]}", key),
                (b"x" * 9_000_000, key),
                (b"x" * 9_000_000, {}),
            ):
                answer = await client.post(address, content=body, headers=headers)
                told.append((answer.status_code, answer.json()["error"]["message"]))
            return told

    assert asyncio.run(main()) == [
        (413, "the request has more than 400,000 lists, objects and entries"),
        (413, "a body has at most 8,000,000 bytes"),
        (401, "Incorrect API key provided."),
    ]


def test_all_agents_of_a_run_share_the_room_for_requests():
    room = Room()
    for _ in range(8):
        room.take(8 << 20)
    with pytest.raises(Refusal, match="too many large requests at once"):
        room.take(1)


def test_costs_ends_keys_and_turns_are_written_as_each_api_has_them():
    tokens = Tokens(12, 34, cached=5, reasoning=6)
    chat, responses = ChatApi().usage(tokens), responses_api._usage(tokens)
    assert (
        chat["prompt_tokens_details"] == responses["input_tokens_details"] == {"cached_tokens": 5}
    )
    assert chat["completion_tokens_details"] == responses["output_tokens_details"]
    refused = ResponsesApi().message(Answer("No.", finish="refused"), 1)
    assert refused["content"] == [{"type": "refusal", "refusal": "No."}]
    hosted = {"messages": [SAYS], "tools": [], "tool_choice": {"type": "web_search"}}
    assert ChatApi().read(hosted, HttpRequest("POST", "/", b"", {})).choice == "auto"
    with pytest.raises(Refusal, match="unregistered callers"):
        GeminiApi().read({}, HttpRequest("POST", "/", b"", {}))
    parts = [{"text": "a"}], [{"text": "b"}]
    assert joined([{"role": "user", "parts": each} for each in parts]) == [
        {"role": "user", "parts": [*parts[0], *parts[1]]}
    ]
