"""A Python function as a model gets what its parameters name, and keeps its own defaults."""

import asyncio

import pytest

from agent_env.errors import ConfigError
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
