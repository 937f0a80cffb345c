"""What an agent asks of its model and its tools goes through the episode's seams."""

import asyncio
import json
from collections import Counter
from dataclasses import replace

import pytest

from agent_env.errors import ModelError
from agent_env.features.agents.apis.exchange import ModelRequest, Refusal
from agent_env.features.agents.desk import Desk
from agent_env.graph.loop import EpisodeState
from agent_env.protocols import Limits
from agent_env.records.schema import Message, ProviderFields, Reply, ToolCall, ToolResult, ToolSpec

SEARCH = ToolSpec(name="web_search", description="", parameters={"type": "object"})
ASKED = ToolCall(id="c1", name="mcp__env__web_search", arguments='{"query": "x"}')
FIRST = Message(
    role="assistant",
    content="I look.",
    tool_calls=(ASKED,),
    reasoning="hm",
    provider_fields=ProviderFields(origin="m"),
)


class Model:
    """Says one reply after the other, or raises it."""

    name = "m"

    def __init__(self, *replies):
        self.replies, self.asked = list(replies), []

    async def generate(self, messages, tools, options):
        self.asked.append((messages, tools, options))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(message=reply, finish_reason="stop")


class Tools:
    """Says what it was called with."""

    specs = (SEARCH,)

    async def run(self, call, offered):
        return ToolResult(output=f"{call.id} {call.name} {call.arguments} {sorted(offered)}")


def desk(*replies, **limits):
    state = EpisodeState(
        model=Model(*replies), toolbox=Tools(), strategy=None, limits=Limits(**limits)
    )
    state.meter.started_s = state.meter.clock()
    return Desk(state)


def request(*turns, **more):
    turns = turns or (Message(role="user", content="When?"),)
    return ModelRequest("m", tuple(turns), (SEARCH,), False, True, **more)


def with_desk(work, *replies, **limits):
    async def main():
        return await work(desk(*replies, **limits))

    return asyncio.run(main())


def test_replies_and_calls_are_those_of_the_model_whatever_the_agent_sends():
    async def work(at):
        await at.reply(request())
        sent = FIRST.model_copy(update={"reasoning": None, "provider_fields": None})
        sent = sent.model_copy(
            update={"tool_calls": (ASKED.model_copy(update={"id": "2_0"}),)}
        )  # as over generateContent, which has no ids
        result = Message(role="tool", content="1982", tool_call_id="2_0")
        await at.reply(request(Message(role="user", content="When?"), sent, result))
        return at.attempt.model.asked[1][0]

    turns = with_desk(work, FIRST, Message(role="assistant", content="1982"))
    assert turns[1] == FIRST
    assert turns[2].tool_call_id == "c1"

    async def work(at):
        await at.reply(request())
        texts = [
            (await at.call("web_search", '{"query":  "x"}')).output,
            (await at.call("web_search", '{"query": "x"}')).output,
            (await at.call("web_search", '{"query": "x"}')).output,
        ]
        return texts, at.attempt.meter.by_tool

    texts, counted = with_desk(work, FIRST)
    first, second, third = (text.split()[0] for text in texts)
    assert first == "c1"
    assert second.startswith("unasked-")
    assert third.startswith(second[:-1])
    assert third != second
    assert counted == Counter(web_search=3)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"steps": 1}, "steps"), ({"tokens": 1}, "tokens")],
)
def test_a_call_beyond_a_limit_is_refused_and_says_which(limits, reason):
    async def work(at):
        await at.reply(request())
        at.deliver()
        with pytest.raises(Refusal, match=f"limit of {reason} is reached") as refused:
            await at.reply(request())
        return at.refused, refused.value.status

    assert with_desk(work, FIRST, **limits) == (reason, 400)


def test_tool_calls_beyond_the_limit_are_failures_that_say_so():
    async def work(at):
        return [await at.call("web_search", "{}") for _ in range(2)]

    first, second = with_desk(work, tool_calls=1)
    assert first.error is None
    assert second.error == "all 1 tool calls are used up"


def test_failures_are_told_and_lost_replies_given_again():
    async def work(at):
        one = await at.reply(request())
        two = await at.reply(request())
        at.deliver()
        three = await at.reply(request())
        return one, two, three, len(at.attempt.model.asked), at.attempt.meter.steps

    said = Message(role="assistant", content="1983")
    one, two, three, asked, steps = with_desk(work, FIRST, said)
    assert (one.message, two.message, three.message) == (FIRST, FIRST, said)
    assert (asked, steps) == (2, 2)

    async def work(at):
        with pytest.raises(Refusal, match="its model or a tool failed"):
            await at.reply(request())
        return at.failed.exception()

    error = ModelError("down")
    assert with_desk(work, error) is error

    async def work(at):
        with pytest.raises(Refusal, match="too long") as refused:
            await at.reply(request())
        await at.reply(request())
        return at.refused, refused.value.code, at.failed.done(), at.refused_s

    error = ModelError("too long", kind="context_overflow")
    assert with_desk(work, error, FIRST) == (None, "context_length_exceeded", False, None)


def test_the_tools_are_those_that_must_be_or_may_be_called():
    async def work(at):
        await at.reply(request(choice="web_search", schema={"type": "object"}, stop=("END",)))
        return at.attempt.model.asked[0]

    _, tools, options = with_desk(work, FIRST)
    assert tools == (SEARCH,)
    assert options.tool_choice == "required"
    assert json.dumps(options.schema) == '{"type": "object"}'
    assert options.stop == ("END",)

    async def work(at):
        at.is_bare = True
        theirs = SEARCH.model_copy(update={"name": "mcp__env__web_search"})
        shell = SEARCH.model_copy(update={"name": "shell"})
        sent = request()
        await at.reply(replace(sent, offers=(shell, theirs), choice="required"))
        at.deliver()
        await at.reply(replace(sent, offers=(shell,), choice="required"))
        return at.attempt.model.asked

    said = Message(role="assistant", content="1982")
    (_, first, one), (_, second, two) = with_desk(work, FIRST, said)
    assert [tool.name for tool in first] == ["mcp__env__web_search"]
    assert second == ()
    assert (one.tool_choice, two.tool_choice) == ("required", "auto")
