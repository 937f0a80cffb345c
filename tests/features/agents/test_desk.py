"""What an agent asks of its model and its tools goes through the episode's seams."""

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
WHEN, LAST = Message(role="user", content="When?"), Message(role="assistant", content="1982")


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
    model, known = Model(*replies), Limits(**limits)
    state = EpisodeState(model=model, toolbox=Tools(), strategy=None, limits=known)
    state.meter.started_s = state.meter.clock()
    return Desk(state)


def request(*turns, **more):
    return ModelRequest("m", turns or (WHEN,), (SEARCH,), False, True, **more)


async def test_replies_and_calls_are_those_of_the_model_whatever_the_agent_sends():
    at = desk(FIRST, LAST)
    await at.reply(request())
    calls = (ASKED.model_copy(update={"id": "2_0"}),)  # as over generateContent, which has no ids
    sent = Message(role="assistant", content=FIRST.content, tool_calls=calls)
    await at.reply(request(WHEN, sent, Message(role="tool", content="1982", tool_call_id="2_0")))
    turns = at.attempt.model.asked[1][0]
    assert (turns[1], turns[2].tool_call_id) == (FIRST, "c1")

    at = desk(FIRST)
    await at.reply(request())
    asked = ('{"query":  "x"}', '{"query": "x"}', '{"query": "x"}')
    texts = [(await at.call("web_search", each)).output for each in asked]
    first, second, third = (text.split()[0] for text in texts)
    assert first == "c1"
    assert second.startswith("unasked-")
    assert third.startswith(second[:-1])
    assert third != second
    assert at.attempt.meter.by_tool == Counter(web_search=3)


@pytest.mark.parametrize("reason", ["steps", "tokens"])
async def test_a_call_beyond_a_limit_is_refused_and_says_which(reason):
    at = desk(FIRST, **{reason: 1})
    await at.reply(request())
    at.deliver()
    with pytest.raises(Refusal, match=f"limit of {reason} is reached") as refused:
        await at.reply(request())
    assert (at.refused, refused.value.status) == (reason, 400)


async def test_tool_calls_beyond_the_limit_are_failures_that_say_so():
    at = desk(tool_calls=1)
    errors = [(await at.call("web_search", "{}")).error for _ in range(2)]
    assert errors == [None, "all 1 tool calls are used up"]


async def test_failures_are_told_and_lost_replies_given_again():
    at = desk(FIRST, LAST)
    replies = [await at.reply(request()) for _ in range(2)]
    at.deliver()
    replies.append(await at.reply(request()))
    assert [reply.message for reply in replies] == [FIRST, FIRST, LAST]
    assert (len(at.attempt.model.asked), at.attempt.meter.steps) == (2, 2)

    at = desk(error := ModelError("down"))
    with pytest.raises(Refusal, match="its model or a tool failed"):
        await at.reply(request())
    assert at.failed.exception() is error

    at = desk(ModelError("too long", kind="context_overflow"), FIRST)
    with pytest.raises(Refusal, match="too long") as refused:
        await at.reply(request())
    await at.reply(request())
    assert refused.value.code == "context_length_exceeded"
    assert (at.refused, at.failed.done(), at.refused_s) == (None, False, None)


async def test_the_tools_are_those_that_must_be_or_may_be_called():
    at = desk(FIRST)
    await at.reply(request(choice="web_search", schema={"type": "object"}, stop=("END",)))
    _, tools, options = at.attempt.model.asked[0]
    assert (tools, options.tool_choice) == ((SEARCH,), "required")
    assert (options.schema, options.stop) == ({"type": "object"}, ("END",))

    at = desk(FIRST, LAST)
    at.is_bare = True
    names = ("mcp__env__web_search", "shell")
    theirs, shell = (SEARCH.model_copy(update={"name": name}) for name in names)
    await at.reply(replace(request(), offers=(shell, theirs), choice="required"))
    at.deliver()
    await at.reply(replace(request(), offers=(shell,), choice="required"))
    (_, first, one), (_, second, two) = at.attempt.model.asked
    assert [tool.name for tool in first] == ["mcp__env__web_search"]
    assert (second, one.tool_choice, two.tool_choice) == ((), "required", "auto")
