"""A Python function as a model gets what its parameters name, and keeps its own defaults."""

import asyncio

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from agent_env.errors import ConfigError, ModelError
from agent_env.models.function import model_of
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message
from tests.models.raw_server import LOOKUP

USER, OPTIONS, SEEN = Message(role="user", content="Which day?"), ReplyOptions(), []


def seen(*values):
    SEEN.append(values)
    return "MY ANSWER: None"


class Mine:
    def generate(self, messages, temperature=0.5):
        return seen(messages, temperature)


M, T = (USER,), (LOOKUP,)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda messages: seen(messages), (M,)),
        (lambda chat: seen(chat), (M,)),
        (lambda chat, offered: seen(chat, offered), (M, T)),
        (lambda a, b, c: seen(a, b, c), (M, T, OPTIONS)),
        (lambda messages, tools, retries=3: seen(messages, tools, retries), (M, T, 3)),
        (lambda messages, size=2: seen(messages, size), (M, 2)),
        (lambda messages, options=None: seen(messages, options), (M, OPTIONS)),
        (lambda tools, messages: seen(tools, messages), (T, M)),
        (lambda messages, *, tools=(), k=1: seen(tools, k), (T, 1)),
        (lambda *everything: seen(*everything), (M, T, OPTIONS)),
        (lambda messages, *others: seen(messages, *others), (M, T, OPTIONS)),
        (lambda messages, **more: seen(more), ({},)),
        (Mine(), (M, 0.5)),
    ],
)
def test_parameters_are_passed_by_name_or_by_place_and_defaults_of_ones_own_stay(function, given):
    asyncio.run(model_of(function, "mine")().generate(M, T, ReplyOptions()))
    assert SEEN.pop() == given


def test_more_than_that_is_refused_by_name():
    with pytest.raises(ConfigError, match="nothing more; give 'd' a default"):
        model_of(lambda a, b, c, d: "", "mine")()


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


WAYS = [SAID["content"], SAID, ChatCompletionMessage(**SAID), sdk(SAID)]


@pytest.mark.parametrize("value", [*WAYS, {"choices": [{"message": SAID}]}])
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
