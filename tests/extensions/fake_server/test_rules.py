"""What the fake server holds every request to, whatever its mode: the order of calls and results,
tool choice, limits of tokens, encrypted reasoning."""

import asyncio
import json

import httpx
import pytest

from agent_env.extensions.fake_server import Answer, Call, FakeServer
from tests.extensions.fake_server.talk import QUESTION, TOOL, agent, always, message_of, post_once


def call_named(id_):
    return {"id": id_, "type": "function", "function": {"name": "web_search", "arguments": "{}"}}


CALLING = {"role": "assistant", "content": "", "tool_calls": [call_named("a"), call_named("b")]}


def result(id_):
    return {"role": "tool", "tool_call_id": id_, "content": "found"}


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([QUESTION, CALLING, result("a")], "did not have response messages: b"),
        ([QUESTION, CALLING, QUESTION], "did not have response messages: a, b"),
        ([QUESTION, CALLING, result("a"), QUESTION, result("b")], "response messages: b"),
        ([QUESTION, CALLING, result("a"), result("a")], "'a' has more than one response"),
        ([QUESTION, CALLING, result("c")], "'tool_call_id' of 'c' not found"),
        ([QUESTION, result("a"), CALLING], "must be a response to a preceeding message"),
        ([QUESTION, CALLING, result("b"), result("a")], None),
    ],
)
def test_each_call_is_answered_once_and_before_anything_else(messages, error):
    response = post_once(agent, messages)
    assert response.status_code == (400 if error else 200)
    assert error is None or error in response.json()["error"]["message"]


def test_servers_that_only_fill_a_template_do_not_look_at_the_order():
    assert post_once(agent, [QUESTION, result("a")], "llama.cpp").status_code == 200


TEXT = always(Answer("Friday"))


def test_a_required_call_is_made_whatever_the_policy_says():
    message = message_of(post_once(TEXT, [QUESTION], tool_choice="required"))
    (call,) = message["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"query": "Which day was it?"}
    named = {"type": "function", "function": {"name": "web_search"}}
    named_call = message_of(post_once(TEXT, [QUESTION], tool_choice=named))["tool_calls"]
    assert [each["function"]["name"] for each in named_call] == ["web_search"]


def test_no_call_is_made_where_none_is_allowed_and_one_where_they_are_not_parallel():
    assert "tool_calls" not in message_of(post_once(agent, [QUESTION], tool_choice="none"))
    one = message_of(post_once(agent, [QUESTION], parallel_tool_calls=False))
    assert [call["function"]["arguments"] for call in one["tool_calls"]] == ['{"query": "a"}']


def test_some_servers_take_a_forced_choice_for_auto():
    assert "tool_calls" not in message_of(
        post_once(TEXT, [QUESTION], "glm", tool_choice="required")
    )


def test_a_choice_of_a_tool_that_is_not_offered_is_refused():
    named = {"type": "function", "function": {"name": "python"}}
    response = post_once(TEXT, [QUESTION], tool_choice=named)
    assert "'python' not found in 'tools'" in response.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_limit_of_tokens_cuts_reasoning_then_text_then_calls(stream):
    whole = Answer("abcdefgh", calls=(Call("f", '{"a": "bcdefgh"}'),), reasoning="12345678")

    def reply(limit):
        response = post_once(always(whole), [QUESTION], max_tokens=limit, stream=stream)
        message = message_of(response)
        calls = message.get("tool_calls", [])
        arguments = [call["function"]["arguments"] for call in calls]
        return message.get("reasoning", ""), message["content"], arguments

    assert reply(1) == ("1234", "", [])
    assert reply(3) == ("12345678", "abcd", [])
    assert reply(6) == ("12345678", "abcdefgh", ['{"a"'])
    assert reply(9) == ("12345678", "abcdefgh", ['{"a": "bcdefgh"}'])


def test_a_cut_reply_says_length_and_the_limit_as_its_tokens():
    reply = post_once(always(Answer("abcdefgh")), [QUESTION], max_completion_tokens=1).json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 1
    wrong = post_once(always(Answer("x")), [QUESTION], max_tokens=0)
    assert wrong.json()["error"]["code"] == "integer_below_min_value"


def test_n_choices_are_sent_and_counted():
    reply = post_once(always(Answer("abcdefgh")), [QUESTION], n=3).json()
    assert [choice["index"] for choice in reply["choices"]] == [0, 1, 2]
    assert reply["usage"]["completion_tokens"] == 6
    assert post_once(TEXT, [QUESTION], n=0).status_code == 400


def test_input_tokens_with_tools_exceed_those_without():
    def tokens(**fields):
        return post_once(TEXT, [QUESTION], **fields).json()["usage"]["prompt_tokens"]

    assert tokens(offer=False) == 5
    assert tokens() > 40


RESPONSE = {"include": ["reasoning.encrypted_content"], "store": False}
FUNCTION = {"type": "function"} | TOOL["function"]


def responses(script, mode="openai"):
    """Runs `script(post)`; `post` sends a Responses request of these items."""

    async def run():
        async with (
            FakeServer(agent, mode=mode) as server,
            httpx.AsyncClient(verify=False) as client,
        ):

            async def post(items, **fields):
                body = {"model": "m", "input": items, "tools": [FUNCTION]} | RESPONSE | fields
                return await client.post(f"{server.url}/responses", json=body)

            return await script(post)

    return asyncio.run(run())


def outputs(items):
    return [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "found"}
        for item in items
        if item["type"] == "function_call"
    ]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda items: items, None),
        (lambda items: items[1:], "was provided without its required 'reasoning' item: 'rs_"),
        (
            lambda items: (
                [items[0] | {"encrypted_content": "x" + items[0]["encrypted_content"]}, *items[1:]]
            ),
            "could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        ),
    ],
)
def test_over_responses_encrypted_reasoning_comes_back_before_its_call(change, error):
    async def script(post):
        items = (await post([QUESTION])).json()["output"]
        assert [item["type"] for item in items] == [
            "reasoning", "message", "function_call", "function_call",
        ]  # fmt: skip
        return await post([QUESTION, *change(items), *outputs(items)])

    response = responses(script)
    assert response.status_code == (400 if error else 200)
    assert error is None or error in response.json()["error"]["message"]


def test_over_responses_each_call_has_one_output():
    async def script(post):
        items = (await post([QUESTION])).json()["output"]
        first, second = outputs(items)
        return [
            (await post([QUESTION, *items, *given])).json()["error"]["message"]
            for given in ([first], [first, second, first], [first | {"call_id": "c"}, second])
        ]

    lacking, twice, stray = responses(script)
    assert lacking.startswith("No tool output found for function call call_1_1")
    assert twice.startswith("Duplicate function call output")
    assert stray == "No tool call found for function call output with call_id c."


def test_over_responses_a_cut_reply_is_incomplete():
    async def script(post):
        return (await post([QUESTION], max_output_tokens=2, tools=[])).json()

    reply = responses(script)
    assert (reply["status"], reply["usage"]["output_tokens"]) == ("incomplete", 2)
    assert reply["incomplete_details"] == {"reason": "max_output_tokens"}
