"""The modes of the fake server, and its rules of requests."""

import asyncio
import copy
import json

import httpx
import pytest

from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.modes import MODES
from tests.fake_server.talk import (
    QUESTION,
    TOOL,
    agent,
    always,
    conversation,
    message_of,
    post_once,
    results,
    talk,
    without_reasoning,
)

HELD = ("deepseek", "kimi", "gemini", "minimax", "glm", "openrouter", "litellm", "vllm", "future")


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        (
            "deepseek",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
        (
            "kimi",
            "thinking is enabled but reasoning_content is missing in assistant tool call message"
            " at index 1",
        ),
        ("minimax", "reasoning of messages[1] is missing"),
        ("glm", "reasoning_content of messages[1] is missing"),
        ("openrouter", "reasoning_details of messages[1] is missing"),
        ("vllm", "reasoning of messages[1] is missing"),
        ("litellm", "messages.1.content.0.type: Expected `thinking`, but found `tool_use`"),
        ("future", "deliberation_log of messages[1] is missing"),
    ],
)
def test_what_is_not_passed_back_is_refused(mode, error):
    response = talk(agent, lambda post: conversation(post, without_reasoning), mode=mode)
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith(error)


def test_gemini_wants_the_signature_of_the_first_call_and_says_so_in_a_list():
    response = talk(agent, lambda post: conversation(post, without_reasoning), mode="gemini")
    assert response.status_code == 400
    ((error,),) = [tuple(each.values()) for each in response.json()]
    assert error["status"] == "INVALID_ARGUMENT"
    assert error["message"].startswith(
        "Function call is missing a thought_signature in functionCall parts."
    )
    assert "function call `default_api:web_search` , position 2" in error["message"]


def changed(mode, message):
    """The message with one letter of what is opaque or thought changed."""
    message = copy.deepcopy(message)
    if mode == "gemini":
        google = message["tool_calls"][0]["extra_content"]["google"]
        google["thought_signature"] = "A" + google["thought_signature"][1:] + "A"
    elif mode == "openrouter":
        message["reasoning_details"].reverse()
    elif mode == "minimax":
        message["content"] = message["content"].replace("next", "Next")
    elif mode == "litellm":
        message["thinking_blocks"][0]["signature"] += "A"
    elif mode == "future":
        message["cognition"]["path"] = [None, True]
    else:
        field = MODES[mode].field
        message[field] = message[field].replace("next", "Next")
    return message


@pytest.mark.parametrize("mode", HELD)
def test_one_changed_letter_or_block_is_refused(mode):
    response = talk(
        agent, lambda post: conversation(post, lambda message: changed(mode, message)), mode=mode
    )
    assert response.status_code == 400
    said = ("Corrupted thought signature", "is altered", "Invalid `signature`", "passed back")
    assert any(words in response.text for words in said)


def test_minimax_splits_reasoning_off_where_the_request_asks_for_it():
    async def script(post):
        fields = {"reasoning_split": True}
        message = message_of(await post([QUESTION], **fields))
        kept = await post([QUESTION, message, *results(message)], **fields)
        bare = without_reasoning(message)
        return message, kept, await post([QUESTION, bare, *results(bare)], **fields)

    message, kept, dropped = talk(agent, script, mode="minimax")
    assert message["content"] == "Let me look."
    assert [block["format"] for block in message["reasoning_details"]] == ["MiniMax-response-v1"]
    assert (kept.status_code, dropped.status_code) == (200, 400)


def test_a_model_that_is_told_not_to_think_sends_none_and_wants_none():
    async def script(post):
        off = {"thinking": {"type": "disabled"}}
        message = message_of(await post([QUESTION], **off))
        assert "reasoning_content" not in message
        return await post([QUESTION, message, *results(message)], tool_choice="required", **off)

    assert talk(agent, script, mode="deepseek").status_code == 200


def test_deepseek_wants_null_back_where_there_was_no_reasoning():
    async def second(post):
        first = message_of(await post([QUESTION]))
        history = [QUESTION, first, *results(first)]
        message = message_of(await post(history))
        history += [message, *results(message)]
        bare = {n: message[n] for n in message if n != "reasoning_content"}
        without = [bare if each is message else each for each in history]
        return message, await post(history), await post(without)

    message, kept, dropped = talk(agent, second, mode="deepseek")
    assert message["reasoning_content"] is None
    assert (kept.status_code, dropped.status_code) == (200, 400)


def test_mistral_takes_its_own_form_of_calls_and_no_user_behind_a_tool():
    async def script(post):
        first = message_of(await post([QUESTION]))
        history = [QUESTION, first, *results(first)]
        other = copy.deepcopy(first)
        for number, call in enumerate(other["tool_calls"]):
            call["id"] = f"call_{number}"
        return (
            first,
            await post([*history, QUESTION]),
            await post([QUESTION, other, *results(other)]),
            await post([QUESTION], seed=1),
        )

    first, behind, named, seeded = talk(agent, script, mode="mistral")
    assert [part["type"] for part in first["content"]] == ["thinking", "text"]
    assert [len(call["id"]) for call in first["tool_calls"]] == [9, 9]
    assert behind.json() == {
        "object": "error",
        "message": "Unexpected role 'user' after role 'tool'",
        "type": "invalid_request_error",
        "param": None,
        "code": "3230",
    }
    assert (named.status_code, named.json()["code"]) == (400, "3280")
    assert seeded.status_code == 422
    assert seeded.json()["message"]["detail"][0]["loc"] == ["body", "seed"]


def test_openai_names_the_field_that_it_does_not_know():
    def error(messages, **fields):
        return post_once(agent, messages, "openai", **fields).json()["error"]

    assert error([QUESTION], top_k=20)["message"] == "Unknown parameter: 'top_k'."
    echoed = {"role": "assistant", "content": "Hm.", "reasoning": "x"}
    assert error([QUESTION, echoed])["param"] == "messages[1].reasoning"
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "x": 1}
    history = [QUESTION, {"role": "assistant", "content": "", "tool_calls": [call]}]
    answered = [*history, {"role": "tool", "tool_call_id": "a", "content": ""}]
    assert error(answered)["param"] == "messages[1].tool_calls[0].x"
    assert error([QUESTION], max_tokens=5)["code"] == "unsupported_parameter"
    assert post_once(agent, [QUESTION], "lenient", top_k=20, max_tokens=5).status_code == 200


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


TEXT = always(ScriptedAnswer("Friday"))


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


def test_a_choice_of_a_tool_that_is_not_offered_is_refused():
    named = {"type": "function", "function": {"name": "python"}}
    response = post_once(TEXT, [QUESTION], tool_choice=named)
    assert "'python' not found in 'tools'" in response.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_the_limit_of_tokens_cuts_reasoning_then_text_then_calls(stream):
    whole = ScriptedAnswer(
        "abcdefgh", calls=(tool_call("f", '{"a": "bcdefgh"}'),), reasoning="12345678"
    )

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
    reply = post_once(
        always(ScriptedAnswer("abcdefgh")), [QUESTION], max_completion_tokens=1
    ).json()
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 1
    wrong = post_once(always(ScriptedAnswer("x")), [QUESTION], max_tokens=0)
    assert wrong.json()["error"]["code"] == "integer_below_min_value"


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
