"""The fake server over a real socket: by the adapters, and by plain httpx where bytes matter."""

import asyncio
import json
from collections import Counter

import httpx
import pytest

from agent_env.errors import ModelError
from agent_env.models.settings import Parameters
from agent_env.records.schema import Message, Reply, ToolCall, Usage
from tests.fake_server import (
    FakeServer,
    Refusal,
    ScriptedAnswer,
    Tokens,
    script_policy,
    serve,
    tool_call,
)
from tests.models.raw_server import KEY, LOOKUP, USER, ChatCompletions, Responses

WAYS = [(kind, stream) for kind in (ChatCompletions, Responses) for stream in (False, True)]
each_way = pytest.mark.parametrize(("kind", "stream"), WAYS)
FULL = ScriptedAnswer(
    text="Let me look that up. Ünïcode 漢字",
    calls=(
        tool_call("lookup", '{"word": "a long enough word"}', "a"),
        tool_call("lookup", "{}", "b"),
    ),
    reasoning="It asks for a day, so I need a calendar.",
    usage=Tokens(input=12, output=34, cached=5, reasoning=6),
)


def saying(answer):
    async def policy(turns, offers):
        return answer

    return policy


async def generate(server, kind, stream, messages=(USER,), tools=()):
    model = kind("n", "m-1", server.url, KEY, Parameters(), 5.0, stream)
    try:
        return await model.generate(messages, tools)
    finally:
        await model.close()


def reply_to(policy, kind, stream, messages=(USER,), tools=()):
    async def run():
        async with FakeServer(policy) as server:
            return await generate(server, kind, stream, messages, tools)

    return asyncio.run(run())


def failure_of(errors, kind, stream):
    async def run():
        async with FakeServer(saying(FULL), errors=errors) as server:
            with pytest.raises(ModelError) as caught:
                await generate(server, kind, stream)
            assert server.counts[next(iter(errors))] == 1
        return caught.value

    error = asyncio.run(run())
    assert KEY not in str(error)
    return error


@each_way
def test_every_way_of_asking_gives_the_same_reply(kind, stream):
    got = reply_to(saying(FULL), kind, stream)
    assert got.message.content == "Let me look that up. Ünïcode 漢字"
    assert got.message.reasoning == "It asks for a day, so I need a calendar."
    assert got.message.tool_calls == (
        ToolCall(id="a", name="lookup", arguments='{"word": "a long enough word"}'),
        ToolCall(id="b", name="lookup", arguments="{}"),
    )
    assert (got.finish_reason, got.model) == ("tool_calls", "m-1")
    assert got.usage == Usage(
        input_tokens=12, cached_tokens=5, output_tokens=34, reasoning_tokens=6, source="provider"
    )


@each_way
def test_the_policy_hears_the_whole_conversation_in_neutral_words(kind, stream):
    heard = []

    async def policy(turns, offers):
        heard[:] = [turns, offers]
        return FULL if turns[-1].role == "user" else ScriptedAnswer("Friday")

    async def run():
        async with FakeServer(policy) as server:
            system = Message(role="system", content="Be brief.")
            first = await generate(server, kind, stream, [system, USER], [LOOKUP])
            entries = [
                Message(role="tool", content=f"entry {call.id}", tool_call_id=call.id)
                for call in first.message.tool_calls
            ]
            messages = [system, USER, first.message, *entries]
            return await generate(server, kind, stream, messages, [LOOKUP])

    assert asyncio.run(run()).message.content == "Friday"
    turns, offers = heard
    assert [(turn.role, turn.content, turn.tool_call_id) for turn in turns] == [
        ("system", "Be brief.", None),
        ("user", "Which day?", None),
        ("assistant", "Let me look that up. Ünïcode 漢字", None),
        ("tool", "entry a", "a"),
        ("tool", "entry b", "b"),
    ]
    assert turns[2].tool_calls == FULL.calls
    assert [offer.name for offer in offers] == ["lookup"]


@each_way
@pytest.mark.parametrize(
    ("answer", "content", "finish_reason"),
    [
        (ScriptedAnswer("Friday"), "Friday", "stop"),
        (ScriptedAnswer(""), "", "stop"),
        (ScriptedAnswer("Fri", finish="length"), "Fri", "length"),
        (ScriptedAnswer("I will not.", finish="refused"), "I will not.", "refused"),
        (ScriptedAnswer(calls=(tool_call("lookup", "{}"),)), "", "tool_calls"),
    ],
)
def test_ends_of_replies(kind, stream, answer, content, finish_reason):
    got = reply_to(saying(answer), kind, stream)
    assert (got.message.content, got.finish_reason) == (content, finish_reason)


@each_way
@pytest.mark.parametrize(
    ("fault", "status", "found"),
    [
        ("429", 429, "HTTP 429 (Retry-After: 1 s)"),
        ("500", 500, "HTTP 500: drawn by the fake server"),
        ("cut", None, "broke the connection off"),
        ("html", 200, "sent no JSON object but '<html>"),
        ("empty", 200, "sent"),
        ("no-reply", 200, "sent"),
        ("error-body", 503, "HTTP 200: drawn by the fake server"),
    ],
)
def test_every_fault_is_an_error_worth_a_retry(kind, stream, fault, status, found):
    error = failure_of({fault: 1.0}, kind, stream)
    assert (error.status, error.retryable) == (status, True)
    assert found in str(error)


@pytest.mark.parametrize("slow", [{"errors": {"hang": 1.0}}, {"latency_s": 3600.0}])
def test_a_fault_that_hangs_and_latency_run_into_the_clients_timeout(slow):
    async def run():
        async with FakeServer(saying(FULL), **slow) as server:
            model = ChatCompletions("n", "m", server.url, KEY, Parameters(), 0.2)
            await model.generate([USER], [])

    with pytest.raises(ModelError, match=r"gave no reply within 0\.2 s"):
        asyncio.run(run())


def test_faults_come_at_their_rates_and_not_by_the_order_of_arrival():
    async def outcomes(numbers):
        errors = {"429": 0.2, "500": 0.1}
        few = asyncio.Semaphore(10)  # httpx looks through all connections for every request
        async with FakeServer(saying(ScriptedAnswer("x")), errors=errors, seed=3) as server:
            async with httpx.AsyncClient(verify=False) as client:

                async def post(number):
                    messages = [{"role": "user", "content": str(number)}]
                    url = f"{server.url}/chat/completions"
                    async with few:
                        return (await client.post(url, json={"messages": messages})).status_code

                codes = await asyncio.gather(*[post(number) for number in numbers])
            return dict(zip(numbers, codes, strict=True))

    forwards = asyncio.run(outcomes(range(200)))
    backwards = asyncio.run(outcomes(range(199, -1, -1)))
    assert forwards == backwards
    assert Counter(forwards.values()) == {200: 139, 429: 35, 500: 26}


def test_a_model_of_this_package_can_be_served():
    class Echo:
        name = "echo"

        async def generate(self, messages, tools, options=None):
            said = Message(role="assistant", content=f"{messages[-1].content} {tools[0].name}")
            usage = Usage(input_tokens=1, output_tokens=2, source="tokenizer")
            return Reply(message=said, finish_reason="length", usage=usage)

    async def run():
        async with serve(Echo()) as server:
            async with httpx.AsyncClient(verify=False) as client:
                models = (await client.get(f"{server.url}/models")).json()
            return models, await generate(server, Responses, True, tools=[LOOKUP])

    models, got = asyncio.run(run())
    assert [model["id"] for model in models["data"]] == ["echo"]
    assert (got.message.content, got.finish_reason) == ("Which day? lookup", "length")
    assert got.usage == Usage(input_tokens=22, output_tokens=2, source="provider")  # 21 of LOOKUP


@each_way
def test_what_a_policy_refuses_or_breaks_on_is_an_error(kind, stream):
    async def refusing(turns, offers):
        raise Refusal(404, "no such model")

    async def broken(turns, offers):
        raise KeyError("lost")

    for policy, status, found in ((refusing, 404, "no such model"), (broken, 500, "'lost'")):
        with pytest.raises(ModelError, match=found) as caught:
            reply_to(policy, kind, stream)
        assert caught.value.status == status


def test_a_script_answers_by_step_and_by_the_last_message(tmp_path):
    script = tmp_path / "script.jsonl"
    lines = [
        {"match": "(?i)entry", "text": "Friday", "usage": {"input": 1, "output": 2}},
        {"reasoning": "Hm.", "calls": [{"name": "lookup", "arguments": {"word": "x"}}]},
        {"text": "Saturday", "finish": "length", "usage": "absent"},
    ]
    script.write_text("\n".join(json.dumps(line) for line in lines))
    hm = Message(role="assistant", content="Hm.")

    def answer(*messages):
        return reply_to(script_policy(script), ChatCompletions, False, messages)

    first = answer(USER)
    assert first.message.tool_calls[0].arguments == '{"word": "x"}'
    assert first.message.tool_calls == answer(USER).message.tool_calls
    assert answer(USER, hm, USER).message.content == "Saturday"
    assert answer(USER, Message(role="user", content="ENTRY")).message.content == "Friday"
    with pytest.raises(ModelError, match=r"script\.jsonl has no reply for step 3") as caught:
        answer(USER, hm, USER, hm, USER)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("chat/completions", b"{", 400),
        ("chat/completions", b"[]", 400),
        ("chat/completions", b'{"messages": []}', 400),
        ("chat/completions", b'{"messages": [{"role": "king"}]}', 400),
        ("chat/completions", b'{"messages": [1]}', 400),
        ("responses", b'{"input": [{"type": "rune"}]}', 400),
        ("responses", b'{"input": "x", "tools": [{"type": "web_search"}]}', 200),
        ("responses", b'{"input": "x", "tools": [{"type": "file_search"}]}', 400),
        ("responses", b'{"input": "x", "tools": [{"type": "code_interpreter"}]}', 400),
        ("responses", b'{"input": "x", "tool_choice": "required"}', 400),
        ("responses", b'{"input": [{"type": "reasoning", "id": "rs_1"}]}', 404),
        ("responses", b'{"input": "x", "instructions": "y"}', 200),
        ("embeddings", b"{}", 404),
    ],
)
def test_requests_are_checked(path, body, status):
    async def run():
        async with (
            FakeServer(saying(ScriptedAnswer("x"))) as server,
            httpx.AsyncClient(verify=False) as client,
        ):
            return await client.post(f"{server.url}/{path}", content=body)

    got = asyncio.run(run())
    assert got.status_code == status
    assert status == 200 or got.json()["error"]["message"]
