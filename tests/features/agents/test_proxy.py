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
from tests.features.agents.test_desk import Model as Replies
from tests.features.agents.test_desk import desk
from tests.features.agents.test_desk import request as chat_request
from tests.lazy_modules import LazyModule

anthropic, genai, mcp, openai = map(LazyModule, ("anthropic", "google.genai", "mcp", "openai"))
hosting = LazyModule("agent_env.features.serve.hosting")
process_loop = LazyModule("agent_env.features.agents.process_loop")

CALL = ToolCall(id="c1", name="web_search", arguments='{"query": "lighthouse"}')
SAID = Message(role="assistant", content="I look it up.", tool_calls=(CALL,), reasoning="hm")
END = Message(role="assistant", content="In 1982.")
KEY = {"authorization": "Bearer t0ken"}
CHAT = "/v1/chat/completions"


class Model:
    """Calls a tool, then answers; tells its text in pieces, as a stream brings them."""

    name = "m"

    def __init__(self, *attempts):
        self.asked, self.attempts = [], attempts or (None,)

    async def generate(self, messages, tools, options):
        self.asked.append(messages)
        message = END if any(turn.role == "tool" for turn in messages) else SAID
        for pieces in self.attempts:
            if (heard := LISTENER.get()) is not None:
                heard(None)
                for piece in pieces or (message.content[:5], message.content[5:]):
                    if isinstance(piece, Exception):
                        raise piece
                    heard(piece)
                    await asyncio.sleep(0)
        usage = Usage(input_tokens=11, output_tokens=7, source="provider")
        return Reply(message=message, finish_reason="stop", usage=usage)


@asynccontextmanager
async def reached(model=None):
    """A client that knows the proxy's address and key, and the desk behind it."""
    at, stop = desk(), asyncio.Event()
    at.attempt.model = model or Model()
    listener = hosting.listening(0)
    app = Proxy(at, "small", "t0ken", process_loop.mcp_app(at), Room())
    serving = asyncio.create_task(hosting.serve_app(app, listener, stop))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=url, headers=KEY) as client:
            yield client, at
    finally:
        stop.set()
        await serving


async def by_chat(url, stream):
    tools = [{"type": "function", "function": {"name": "web_search", "parameters": {}}}]
    turns = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "When?"}]
    fields = {"model": "x", "messages": turns, "tools": tools}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="t0ken") as client:
        ask = client.chat.completions
        if stream:
            async with ask.stream(**fields) as events:
                reply = await events.get_final_completion()
        else:
            reply = await ask.create(**fields)
        first = reply.choices[0].message
        (call,) = first.tool_calls
        turns.append(first.model_dump(exclude_none=True))
        turns.append({"role": "tool", "tool_call_id": call.id, "content": "1982"})
        last = await ask.create(**fields)
        return first.content, call.function.arguments, last.choices[0].message.content


async def by_responses(url, stream):
    tools = [{"type": "function", "name": "web_search", "parameters": {}}, {"type": "web_search"}]
    items = [{"role": "user", "content": "When?"}]
    fields = {"model": "x", "tools": tools, "instructions": "Be short.", "input": items}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="t0ken") as client:
        if stream:
            async with client.responses.stream(**fields) as events:
                first = await events.get_final_response()
        else:
            first = await client.responses.create(**fields)
        call = first.output[1]
        items += [item.model_dump(exclude_none=True) for item in first.output]
        items.append({"type": "function_call_output", "call_id": call.call_id, "output": "1982"})
        last = await client.responses.create(**fields)
        return first.output_text, call.arguments, last.output_text


async def by_messages(url, stream):
    tools = [
        {"name": "web_search", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "hosted"},
    ]
    turns = [{"role": "user", "content": "When?"}]
    fields = {"model": "x", "max_tokens": 99, "tools": tools, "system": "Be short.",
              "messages": turns}  # fmt: skip
    async with anthropic.AsyncAnthropic(base_url=url, api_key="t0ken") as client:
        if stream:
            async with client.messages.stream(**fields) as events:
                first = await events.get_final_message()
        else:
            first = await client.messages.create(**fields)
        text, call = first.content
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "1982"}
        turns.append({"role": "assistant", "content": first.content})
        turns.append({"role": "user", "content": [result]})
        last = await client.messages.create(**fields)
        return text.text, json.dumps(call.input), last.content[0].text


async def by_gemini(url, stream):
    client = genai.Client(api_key="t0ken", http_options={"base_url": url})
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    function = {"name": "web_search", "parameters_json_schema": schema}
    config = {
        "tools": [{"function_declarations": [function]}],
        "automatic_function_calling": {"disable": True},
        "system_instruction": "Be short.",
    }
    turns, ask, parts = [genai.types.UserContent("When?")], client.aio.models, []
    fields = {"model": "x", "contents": turns, "config": config}
    if stream:
        async for piece in await ask.generate_content_stream(**fields):
            parts += piece.candidates[0].content.parts
    else:
        parts = (await ask.generate_content(**fields)).candidates[0].content.parts
    text = "".join(part.text or "" for part in parts)
    (call,) = (part.function_call for part in parts if part.function_call)
    result = genai.types.Part.from_function_response(name=call.name, response={"result": "1982"})
    turns += [genai.types.ModelContent(parts), genai.types.UserContent([result])]
    last = await ask.generate_content(**fields)
    await client.aio.aclose()
    return text, json.dumps(call.args), last.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("by", [by_chat, by_responses, by_messages, by_gemini])
async def test_each_official_client_has_the_episodes_model(by, stream):
    async with reached() as (client, at):
        said = await by(str(client.base_url), stream)
    asked, meter = at.attempt.model.asked, at.attempt.meter
    assert said == ("I look it up.", '{"query": "lighthouse"}', "In 1982.")
    assert [turn.role for turn in asked[0]] == ["system", "user"]
    assert [turn.role for turn in asked[1]] == ["system", "user", "assistant", "tool"]
    assert asked[1][2] == SAID  # with the thoughts that the agent never had
    assert (asked[1][3].content, meter.steps, meter.tokens) == ("1982", 2, 36)


async def test_mcp_and_plain_posts_reach_the_same_tools():
    async with reached() as (client, _):
        async with mcp.Client(f"{client.base_url}/mcp") as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            called = (await session.call_tool("web_search", {"query": "x"})).content[0].text
        posted = (await client.post("/tools/web_search", json={"query": "x"})).text
    assert names == ["web_search"]
    assert called.endswith('web_search {"query": "x"} [\'web_search\']')
    assert posted.split(maxsplit=1)[1] == called.split(maxsplit=1)[1]


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_in_a_namespace_are_plain_ones_for_the_model(stream):
    """As Codex names those of MCP servers."""
    inner = {"type": "function", "name": "web_search", "parameters": {}}
    tools = [{"type": "namespace", "name": "mcp__env", "tools": [inner]}]
    called = CALL.model_copy(update={"name": "mcp__env__web_search"})
    items = [{"role": "user", "content": "When?"}]
    body = {"tools": tools, "stream": stream, "model": "x", "input": items}
    model = Replies(Message(role="assistant", tool_calls=(called,)), END)
    async with reached(model) as (client, _):
        text = (await client.post("/v1/responses", json=body)).text
        items += [
            {"type": "function_call", "call_id": "c1", "namespace": "mcp__env",
             "name": "web_search", "arguments": CALL.arguments},
            {"type": "function_call_output", "call_id": "c1", "output": "1982"},
        ]  # fmt: skip
        await client.post("/v1/responses", json=body)
    assert '"namespace": "mcp__env", "name": "web_search"' in text
    assert "mcp__env__web_search" not in text
    (_, offered, _), (turns, _, _) = model.asked
    assert [tool.name for tool in offered] == ["mcp__env__web_search"]
    assert turns[1].tool_calls == (called,)


SAYS = {"role": "user", "content": "When?"}
IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/chat/completions", {"messages": IMAGE}, 400, "'image_url' is not passed on"),
        ("/v1/chat/completions", {"messages": 3}, 400, "messages must be a list"),
        ("/v1/chat/completions", None, 401, "Incorrect API key"),
        ("/v1/chat/completions", {"messages": [SAYS], "n": 2}, 400,
         "n is 2: one reply a request is passed on"),
        ("/v1/chat/completions", {"messages": [SAYS], "max_tokens": 0}, 400,
         "integer below minimum value"),
        ("/v1/completions", {}, 404, "nothing at POST /v1/completions"),
        ("/v9/messages", {}, 404, "nothing at POST /v9/messages"),
        ("/v1/responses", {"input": "x", "previous_response_id": "r"}, 400,
         "replies are not stored"),
        ("/tools/calculator", [1], 400, "the arguments are an object"),
    ],
)  # fmt: skip
async def test_what_is_not_passed_on_is_refused_by_name(path, body, status, says):
    async with reached() as (client, at):
        key = KEY if body is not None else {"authorization": "Bearer other"}
        reply = await client.post(path, json=body or {}, headers=key)
    assert reply.status_code == status
    assert says in reply.text
    assert at.attempt.model.asked == []


async def test_streams_that_begin_anew_or_fail_break_off():
    body = {"stream": True, "messages": [SAYS]}
    async with reached(Model(("I look ",), ("You ", "look"))) as (client, at):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(CHAT, json=body)
        again = await client.post(CHAT, json=body | {"stream": False})
    assert again.json()["choices"][0]["message"]["content"] == "I look it up."
    assert len(at.attempt.model.asked) == 1
    async with reached(Model(("I look ", ModelError("down")))) as (client, at):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(CHAT, json=body)
    assert str(at.failed.exception()) == "down"


def test_text_comes_as_events_as_soon_as_it_is_there_and_once():
    api = ChatApi()
    live = LiveReply(api, chat_request(), 1)
    sent = [b"".join(live.add(piece)) for piece in (None, "I ", "look", None, "I lo", "ok it")]
    assert [text.count(b"data:") for text in sent] == [0, 2, 1, 0, 0, 1]
    assert b'"content": " it"' in sent[5]
    assert not live.is_broken
    assert live.sent == "I look it"


async def test_bodies_that_would_fill_the_memory_are_refused_before_they_are_parsed():
    many, long = b'{"messages": [' + b"[]," * 500_000 + b"[]]}", b"x" * 9_000_000
    async with reached() as (client, _):
        answers = [await client.post(CHAT, content=body) for body in (many, long)]
        del client.headers["authorization"]
        answers.append(await client.post(CHAT, content=long))
    assert [(each.status_code, each.json()["error"]["message"]) for each in answers] == [
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
    details = chat["prompt_tokens_details"], chat["completion_tokens_details"]
    assert details == (responses["input_tokens_details"], responses["output_tokens_details"])
    assert details[0] == {"cached_tokens": 5}
    refused = ResponsesApi().message(Answer("No.", finish="refused"), 1)
    assert refused["content"] == [{"type": "refusal", "refusal": "No."}]
    hosted = {"messages": [SAYS], "tools": [], "tool_choice": {"type": "web_search"}}
    assert ChatApi().read(hosted, HttpRequest("POST", "/", b"", {})).choice == "auto"
    with pytest.raises(Refusal, match="unregistered callers"):
        GeminiApi().read({}, HttpRequest("POST", "/", b"", {}))
    parts = [{"text": "a"}, {"text": "b"}]
    apart = [{"role": "user", "parts": [part]} for part in parts]
    assert joined(apart) == [{"role": "user", "parts": parts}]
