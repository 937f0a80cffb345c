"""Replies held to a schema: at the fake server, in the client, by the text protocol."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.errors import ModelError
from agent_env.features.answers.schemas import DATE, INTEGER, list_of
from agent_env.models.apis import compatible, openai
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.models.text_protocol import SchemaModel, TextProtocol, held_schema, in_text
from agent_env.protocols import ReplyOptions
from agent_env.records.json_schema import TEXT, closed, one_of, strict
from agent_env.records.schema import Message, ToolSpec
from agent_env.testing import ScriptedModel, answer
from agent_env.wiring.trust import own_call
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.conversation import ModelRequest
from tests.fake_server.rules import hold
from tests.loops import in_loop

DATES = closed({"answer": list_of(DATE, 3)})
QUESTION = Message(role="user", content="Which days?")
FIELDS = {
    "query": {"type": "string", "maxLength": 400, "minLength": 1},
    "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
    "code": {"type": "string", "maxLength": 20_000},
}
PARAMETERS = {"type": "object", "properties": FIELDS, "required": ["query"]}
SEARCH = ToolSpec(name="web_search", description="Searches.", parameters=PARAMETERS)
HELD = ReplyOptions(schema=DATES)


@in_loop
async def ask(policy, mode="lenient", tools=(), api=compatible.API, options=HELD, stream=False):
    """The reply of a fake server to one question of the client."""
    async with FakeServer(policy, mode=mode) as server:
        model = ApiModel(
            api, "m", "fake", server.url, None, Parameters(), 20, stream, permit=own_call()
        )
        try:
            return await model.generate([QUESTION], tools, options), server.recent[-1]
        finally:
            await model.close()


async def days(turns, offers):
    if offers:
        return ScriptedAnswer(calls=(tool_call("web_search", '{"query": "x"}'),))
    return ScriptedAnswer("It rained.\n\nMY ANSWER: 1999-03-01, 2001-01-01")


FORM = {"name": "answer", "strict": True, "schema": DATES}
OF_CHAT = {"response_format": {"type": "json_schema", "json_schema": FORM}}
OF_RESPONSES = {"text": {"format": {"type": "json_schema"} | FORM}}


@pytest.mark.parametrize(
    ("api", "mode", "stream", "fields"),
    [
        *(
            (compatible.API, mode, stream, OF_CHAT)
            for mode in ("lenient", "vllm", "llama.cpp")
            for stream in (False, True)
        ),
        (openai.API, "openai", False, OF_RESPONSES),
    ],
)
def test_a_reply_is_held_to_the_schema(api, mode, stream, fields):
    reply, request = ask(days, mode, api=api, stream=stream)
    assert json.loads(reply.message.content) == {"answer": ["1999-03-01", "2001-01-01"]}
    assert request == request | fields


def test_a_server_that_lets_the_schema_fall_is_an_error_that_says_so():
    with pytest.raises(ModelError) as caught:
        ask(days, "llama.cpp", api=openai.API)
    assert (caught.value.kind, caught.value.retryable) == ("bad_request", False)
    assert "does not hold replies to a JSON schema: it sent 'It rained." in str(caught.value)
    assert "leave --answer-format out" in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array", "items": TEXT}, "schema must be a JSON Schema of 'type: \"object\"'"),
        ({"type": "object", "properties": {}}, "'additionalProperties' is required"),
        (closed({"a": INTEGER}) | {"required": []}, "Missing 'a'"),
        (closed({"a": {"type": "string", "maxLength": 3}}), "'maxLength' is not permitted"),
        (closed({"a": {"type": "object"}}), "In context=('properties', 'a'), 'additionalProp"),
    ],
)
def test_strict_mode_refuses_what_openai_does(schema, fault):
    with pytest.raises(ModelError, match=r"Invalid schema for text\.format 'answer'") as caught:
        ask(days, "openai", api=openai.API, options=ReplyOptions(schema=schema))
    assert fault in str(caught.value)


def test_a_refusal_has_no_form_and_some_servers_hold_the_whole_reply_beside_tools():
    assert ask(days, "lenient", (SEARCH,))[0].finish_reason == "tool_calls"
    reply, _ = ask(days, "vllm", (SEARCH,))
    assert json.loads(reply.message.content) == {"answer": ["1999-03-01", "2001-01-01"]}

    async def refuses(turns, offers):
        return ScriptedAnswer("I cannot help with that.", finish="refused")

    reply, _ = ask(refuses)
    assert (reply.finish_reason, reply.message.content) == ("refused", "I cannot help with that.")


@given(st.text(max_size=60))
def test_whatever_a_policy_says_the_server_makes_a_value_of_the_schema(text):
    schema = closed({"answer": list_of(DATE, 3), "n": INTEGER, "which": one_of(("yes", "no"))})
    request = ModelRequest("m", (), (), stream=False, wants_usage=True, schema=schema)
    value = json.loads(hold(request, ScriptedAnswer(text)).text)
    assert set(value) == {"answer", "n", "which"}
    assert value["which"] in ("yes", "no")


# Calls and answers of the text protocol ---------------------------------------------------------


def test_a_step_is_a_call_or_the_answer_as_the_tool_choice_allows():
    call = closed({"tool": one_of(["web_search"]), "arguments": strict(SEARCH.parameters)})
    both = {"anyOf": [call, DATES]}
    for choice, step in (("auto", both), ("required", call), ("none", DATES)):
        assert held_schema([SEARCH], ReplyOptions(choice, schema=DATES)) == closed({"step": step})
    assert held_schema((), HELD) == DATES
    assert held_schema([SEARCH], ReplyOptions()) is None


def test_the_parameters_of_a_tool_become_strict():
    schema = strict(SEARCH.parameters)
    assert schema["required"] == ["query", "limit", "code"]
    assert schema["properties"]["query"] == TEXT
    assert schema["properties"]["code"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def read(text, finish="stop"):
    said = answer(text).model_copy(update={"finish_reason": finish})
    model = TextProtocol(ScriptedModel([said]))
    return asyncio.run(model.generate([QUESTION], [SEARCH], HELD))


def test_a_call_in_a_step_is_run_without_what_is_null():
    text = '{"step": {"tool": "web_search", "arguments": {"query": "x", "limit": null}}}'
    reply = read(text)
    (call,) = reply.message.tool_calls
    assert (call.name, call.arguments) == ("web_search", '{"query": "x"}')
    assert (reply.finish_reason, reply.message.content) == ("tool_calls", text)


CUT = '{"step": {"tool": "web_sea'


@pytest.mark.parametrize(
    ("text", "finish"), [('{"step": {"answer": []}}', "stop"), (CUT, "length"), ("{}", "stop")]
)
def test_an_answer_and_a_call_that_was_cut_are_no_calls(text, finish):
    reply = read(text, finish)
    assert (reply.message.tool_calls, reply.finish_reason) == ((), finish)


def test_the_system_text_says_what_a_step_is():
    (system, question) = in_text([QUESTION], [SEARCH], "required", is_held=True)
    assert '{"step": {"tool": "TOOL", "arguments": {"NAME": "VALUE"}}}' in system.content
    assert question.content.endswith("\n\nYour next message must use a tool.")


# Which replies are held -------------------------------------------------------------------------

LAST = Message(role="user", content="Now answer.")


@pytest.mark.parametrize(
    ("tools", "messages", "is_last", "in_text", "expected"),
    [
        ((), [QUESTION], False, False, (DATES, 0)),
        ((SEARCH,), [QUESTION], False, False, (None, 1)),
        ((SEARCH,), [QUESTION], False, True, (DATES, 1)),
        ((), [QUESTION], True, False, (None, 0)),
        ((SEARCH,), [QUESTION, LAST], False, False, (DATES, 0)),
        ((SEARCH,), [QUESTION, LAST], True, True, (DATES, 0)),
    ],
)
def test_the_reply_that_can_be_the_answer_is_held(tools, messages, is_last, in_text, expected):
    inner = ScriptedModel([answer("{}")])
    asyncio.run(SchemaModel(inner, DATES, LAST, is_last, in_text).generate(messages, tools))
    assert (inner.options[0].schema, len(inner.requests[0][1])) == expected
