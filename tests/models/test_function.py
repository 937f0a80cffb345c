"""A Python function as a model gets what its parameters name, and keeps its own defaults."""

import asyncio

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from agent_env.errors import ConfigError, ModelError
from agent_env.models.function import model_of
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message
from tests.models.raw_server import LOOKUP

USER = Message(role="user", content="Which day?")


def given(function):
    """What the function gets of one message, one tool and the options."""
    model = model_of(function, "mine")()
    asyncio.run(model.generate((USER,), (LOOKUP,), ReplyOptions()))
    return SEEN.pop()


SEEN = []


def seen(*values):
    SEEN.append(values)
    return "MY ANSWER: None"


def test_parameters_are_passed_by_name_or_by_place_and_defaults_of_ones_own_stay():
    messages, tools, options = (USER,), (LOOKUP,), ReplyOptions()
    assert given(lambda messages: seen(messages)) == (messages,)
    assert given(lambda chat: seen(chat)) == (messages,)
    assert given(lambda chat, offered: seen(chat, offered)) == (messages, tools)
    assert given(lambda a, b, c: seen(a, b, c)) == (messages, tools, options)
    assert given(lambda messages, tools, retries=3: seen(messages, tools, retries)) == (
        messages, tools, 3,
    )  # fmt: skip
    assert given(lambda messages, size=2: seen(messages, size)) == (messages, 2)
    assert given(lambda messages, options=None: seen(messages, options)) == (messages, options)
    assert given(lambda tools, messages: seen(tools, messages)) == (tools, messages)
    assert given(lambda messages, *, tools=(), k=1: seen(tools, k)) == (tools, 1)
    assert given(lambda *everything: seen(*everything)) == (messages, tools, options)
    assert given(lambda messages, *others: seen(messages, *others)) == (messages, tools, options)
    assert given(lambda messages, **more: seen(more)) == ({},)


def test_more_than_that_is_refused_by_name():
    with pytest.raises(ConfigError, match="nothing more; give 'd' a default"):
        model_of(lambda a, b, c, d: "", "mine")()


def test_an_object_with_generate_is_given_the_same():
    class Mine:
        def generate(self, messages, temperature=0.5):
            return seen(messages, temperature)

    assert given(Mine()) == ((USER,), 0.5)


CALL = {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"q": "x"}'}}
SAID = {"role": "assistant", "content": "MY ANSWER: None"}
USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def sdk(message, **more):
    return ChatCompletion.model_validate(
        {"id": "1", "created": 1, "model": "m", "object": "chat.completion", **more}
        | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    )


def reply_to(value):
    return asyncio.run(model_of(lambda messages: value, "mine")().generate((USER,), (LOOKUP,)))


@pytest.mark.parametrize(
    "value",
    [
        SAID["content"],
        SAID,
        ChatCompletionMessage(**SAID),
        sdk(SAID),
        {"choices": [{"message": SAID}]},
    ],
)
def test_a_text_a_message_and_a_completion_say_the_same(value):
    reply = reply_to(value)
    assert (reply.message.role, reply.message.content) == ("assistant", "MY ANSWER: None")


@pytest.mark.parametrize("is_completion", [True, False])
@pytest.mark.parametrize("content", [None, "I look it up."])
def test_a_message_may_call_tools_and_tell_what_it_used(content, is_completion):
    message = {"role": "assistant", "content": content, "tool_calls": [CALL]}
    reply = reply_to(sdk(message, usage=USED) if is_completion else message)
    (call,) = reply.message.tool_calls
    assert (call.id, call.name, call.arguments) == ("c1", "lookup", '{"q": "x"}')
    assert (reply.message.content, reply.finish_reason) == (content or "", "tool_calls")
    assert reply.usage.input_tokens == (7 if is_completion else None)


@pytest.mark.parametrize("value", [3, None, {}, {"text": "x"}, {"choices": []}, [SAID], object()])
def test_anything_else_is_refused_with_the_smallest_example(value):
    with pytest.raises(ModelError, match=r'an assistant\'s message such as \{"role": "assistant"'):
        reply_to(value)
