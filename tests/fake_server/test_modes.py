"""The modes of the fake server, and its rules of requests."""

import copy

import pytest

from tests.fake_server import ScriptedAnswer
from tests.fake_server.modes import MODES
from tests.fake_server.talk import (
    QUESTION,
    TOOL,
    agent,
    always,
    at_server,
    conversation,
    message_of,
    post_once,
    results,
    talk,
)

HELD = ("deepseek", "kimi", "gemini", "minimax", "glm", "openrouter", "litellm", "vllm", "future")


def changed(mode, message):
    """The message with one letter of what is opaque or thought changed."""
    message = copy.deepcopy(message)
    if mode == "gemini":
        google = message["tool_calls"][0]["extra_content"]["google"]
        google["thought_signature"] = "A" + google["thought_signature"][1:] + "A"
    elif mode == "openrouter":
        message["reasoning_details"].reverse()
    elif mode == "litellm":
        message["thinking_blocks"][0]["signature"] += "A"
    elif mode == "future":
        message["cognition"]["path"] = [None, True]
    else:
        field = "content" if mode == "minimax" else MODES[mode].field
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


def test_a_choice_of_a_tool_that_is_not_offered_is_refused():
    named = {"type": "function", "function": {"name": "python"}}
    response = post_once(TEXT, [QUESTION], tool_choice=named)
    assert "'python' not found in 'tools'" in response.json()["error"]["message"]


RESPONSE = {"include": ["reasoning.encrypted_content"], "store": False}
FUNCTION = {"type": "function"} | TOOL["function"]


def responses(script):
    """Runs `script(ask)`; `ask` sends a Responses request of these items."""

    async def run(post):
        async def ask(items):
            body = {"model": "m", "input": items, "tools": [FUNCTION]} | RESPONSE
            return await post("/v1/responses", body)

        return await script(ask)

    return at_server(run, agent, "openai")


def outputs(items):
    return [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "found"}
        for item in items
        if item["type"] == "function_call"
    ]


def spoilt(items):
    content = f"x{items[0]['encrypted_content']}"
    return [items[0] | {"encrypted_content": content}, *items[1:]]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda items: [*items, *outputs(items)], None),
        (
            lambda items: [*items[1:], *outputs(items)],
            "was provided without its required 'reasoning' item: 'rs_",
        ),
        (
            lambda items: [*spoilt(items), *outputs(items)],
            "could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        ),
        (
            lambda items: [*items, *outputs(items)[:1]],
            "No tool output found for function call call_1_1",
        ),
        (
            lambda items: [*items, *outputs(items), outputs(items)[0]],
            "Duplicate function call output",
        ),
        (
            lambda items: [*items, outputs(items)[0] | {"call_id": "c"}, outputs(items)[1]],
            "No tool call found for function call output with call_id c.",
        ),
    ],
)
def test_over_responses_reasoning_comes_back_and_each_call_has_one_output(change, error):
    async def script(post):
        items = (await post([QUESTION])).json()["output"]
        kinds = ["reasoning", "message", "function_call", "function_call"]
        assert [item["type"] for item in items] == kinds
        return await post([QUESTION, *change(items)])

    response = responses(script)
    assert response.status_code == (400 if error else 200)
    assert error is None or error in response.json()["error"]["message"]
