"""Cutting old tool outputs: which, how far, and what the model reads of it."""

import pytest

from agent_env.errors import ModelError
from agent_env.graph.meter import Fit, excess, shortened
from agent_env.records.schema import Message, ToolCall


def overflow(context=None, request=None):
    return ModelError(
        "too long", kind="context_overflow", context_tokens=context, request_tokens=request
    )


def asks(name):
    call = ToolCall(id=name, name="open_page", arguments="{}")
    return Message(role="assistant", tool_calls=(call,))


def gives(name, letters):
    return Message(role="tool", tool_call_id=name, content=name * letters)


TALK = [
    Message(role="user", content="?" * 1000),
    asks("a"), gives("a", 4000), asks("b"), gives("b", 300), asks("c"), gives("c", 4000),
]  # fmt: skip


def lengths(fit, step=0):
    return [message.kept for message in fit.sent(TALK, step) if message.role == "tool"]


def test_the_oldest_outputs_are_cut_first_by_what_is_too_much_and_none_below_the_least():
    assert Fit().sent(TALK, 0) == tuple(TALK)
    fit = Fit()
    assert fit.tighten(TALK, [], overflow(2000, 2400))
    assert lengths(fit) == [1442, None, None]  # 27 % of all letters: room for a reply too
    fit = Fit()
    assert fit.tighten(TALK, [], overflow(1000, 2400))
    assert lengths(fit) == [200, 200, 1899]
    assert fit.tighten(TALK, [], overflow(10, 2400))
    assert lengths(fit) == [200, 200, 200]
    assert not fit.tighten(TALK, [], overflow(10, 2400))


def test_the_model_reads_the_beginning_and_how_much_is_left_out():
    cut = shortened(gives("a", 500), 200)
    left_out = "\n[300 characters are left out here: the conversation is too long]"
    assert (cut.content, cut.kept, cut.tool_call_id) == ("a" * 200 + left_out, 200, "a")
    assert shortened(gives("a", 100), 200) == gives("a", 100)


def test_what_was_cut_stays_so_in_later_steps_and_is_taken_from_the_record():
    fit = Fit()
    fit.tighten(TALK, [], overflow(2000, 2400))
    first, second = fit.sent(TALK, 0), fit.sent([*TALK, asks("d")], 1)
    assert all(before is now for before, now in zip(first, second, strict=False))
    fit = Fit([{}, {"a": 200}])
    uncut, cut = [None, None, None], [200, None, None]
    assert [lengths(fit, step) for step in range(3)] == [uncut, cut, cut]


@pytest.mark.parametrize(
    ("sizes", "letters"),
    [
        ((), 1000),
        ((4000,), 1000),  # by letters it would fit
        ((1000,), 4500),
        ((1000, 1400), 3000),
        ((1000, 900), 4500),  # without what the reply may have
    ],
)
def test_a_server_that_tells_no_size_costs_an_eighth_each_time(sizes, letters):
    assert excess(8000, overflow(*sizes)) == letters
