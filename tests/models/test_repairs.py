"""Calls that cannot be run as they were written, answered with the right form."""

import asyncio

import pytest

from agent_env.models.text_protocol import RepairedCalls, TextProtocol
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolSpec
from agent_env.testing import ScriptedModel, answer, calls

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
LOOKUP = ToolSpec(name="lookup", description="Looks a word up.", parameters=WORD)
USER = Message(role="user", content="Which day?")
FENCED = '```json\n{"name": "lookup", "arguments": {"word": "x"}}\n```'


def asked(reply, most=1, protocol="native", messages=(USER,), tools=(LOOKUP,), choice="auto"):
    inner = ScriptedModel([reply])
    if protocol != "native":
        inner = TextProtocol(inner, held=protocol == "schema")
    model = RepairedCalls(inner, most, protocol)
    return asyncio.run(model.generate(messages, tools, ReplyOptions(choice)))


def cut(text):
    return answer(text).model_copy(update={"finish_reason": "length"})


@pytest.mark.parametrize(
    ("reply", "protocol", "words"),
    [
        (answer(FENCED), "native", 'fenced JSON). Call lookup as a tool, with arguments like {"wo'),
        (cut(FENCED[:-9]), "native", "cut off at the length limit. Call lookup"),
        (answer(FENCED.replace("lookup", "find_it")), "native", "Call lookup as a tool"),
        (answer('{"name": "lookup", "arguments": {}}'), "text", "this:\n```tool_call\n{"),
        (cut(FENCED.replace("json", "tool_call")[:-5]), "text", "cut off at the length limit"),
        (cut('{"step": {"tool": "lookup", "arguments": {"wo'), "schema", 'this:\n{"step": {"tool'),
        (calls(("lookup", "word x")), "native", "not a JSON object. Call lookup as a tool"),
    ],
)
def test_a_call_that_nobody_can_run_is_told_the_right_form(reply, protocol, words):
    (call,) = asked(reply, protocol=protocol).message.tool_calls
    assert words in call.problem
    unread = reply.message.tool_calls if protocol == "native" else ()
    assert asked(reply, 0, protocol).message.tool_calls == unread
    assert asked(reply, protocol=protocol, tools=()).message.content == reply.message.content


@pytest.mark.parametrize(
    "reply", [answer("MY ANSWER: None"), calls(("lookup", "{}")), calls(("lookup", ""))]
)
def test_what_can_be_run_or_read_is_left_alone(reply):
    assert asked(reply) == reply


def test_so_many_are_answered_and_a_native_server_sees_texts_alone():
    first = asked(answer(FENCED)).message
    (call,) = first.tool_calls
    told = Message(role="tool", tool_call_id=call.id, content="Error: no call")
    inner = ScriptedModel([answer(""), answer(FENCED)])
    model = RepairedCalls(inner, 1)
    again = asyncio.run(model.generate((USER, first, told), (LOOKUP,)))
    assert again.message.tool_calls == ()
    assert [(m.role, m.content, m.tool_calls) for m in inner.requests[0][0]] == [
        ("user", "Which day?", ()), ("assistant", FENCED, ()), ("user", "Error: no call", ()),
    ]  # fmt: skip
