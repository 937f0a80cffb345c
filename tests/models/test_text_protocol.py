"""Calls in text: what is sent, what is read as a call, what is mended."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.models.text_protocol import FORM, REQUIRED, RepairedCalls, TextProtocol, in_text
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolCall, ToolSpec
from agent_env.testing import ScriptedModel, answer, calls
from tests.fake_server.conversation import ScriptedAnswer
from tests.fake_server.policies import in_text as speaks_text
from tests.tables import tables

LOOKUP = ToolSpec(name="lookup", description="Looks a word up.", parameters={"type": "object"})
USER = Message(role="user", content="Which day?")
GOOD = '```tool_call\n{"name": "lookup", "arguments": {"word": "x"}}\n```'


def read(text, finish="stop", options=ReplyOptions(), lenient=False, tools=(LOOKUP,)):
    said = answer(text).model_copy(update={"finish_reason": finish})
    model = TextProtocol(ScriptedModel([said]), lenient)
    return asyncio.run(model.generate([USER], tools, options))


def test_a_block_is_a_call_and_the_text_stays_as_it_was_written():
    got = read(f"Let me see.\n\n{GOOD}")
    assert got.message.tool_calls == (
        ToolCall(id="call_1", name="lookup", arguments='{"word": "x"}'),
    )
    assert got.message.content == f"Let me see.\n\n{GOOD}"
    assert got.finish_reason == "tool_calls"


@pytest.mark.parametrize("name", ["json", "", "tool_code"])
def test_a_lenient_reader_takes_a_right_call_in_a_block_of_any_name(name):
    (call,) = read(GOOD.replace("tool_call", name, 1), lenient=True).message.tool_calls
    assert call == ToolCall(id="call_1", name="lookup", arguments='{"word": "x"}')


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"name": "other", "arguments": {}}\n```',
        '```json\n["1982-06-14"]\n```',
        '```json\n{"name": "lookup", "arguments": {}}',
    ],
)
def test_a_lenient_reader_takes_no_other_block(written):
    assert read(written, lenient=True).message.tool_calls == ()


@pytest.mark.parametrize(
    ("held", "form"),
    [(False, '```tool_call\n{"name": "search", "'), (True, '{"step": {"tool": "')],
)
def test_an_example_shows_a_call_of_the_first_tool_in_the_form_that_is_asked_for(held, form):
    word = {"properties": {"query": {"type": "string"}}, "required": ["query"]}
    tool = ToolSpec(name="search", description="Searches.", parameters=word)
    (system, _) = in_text([USER], [tool], is_held=held, has_example=True)
    example = system.content.partition("An example.")[2]
    assert form in example
    assert '"query": "lighthouse of Aldmoor Bay goes dark"' in example
    assert "An example." not in in_text([USER], [tool])[0].content


def test_a_lenient_reader_still_corrects_a_wrong_call():
    written = '```json\n{"name": "lookup", "arguments": 1}\n```'
    (call,) = read(written, lenient=True).message.tool_calls
    assert "an object" in (call.problem or "")


def test_the_correction_shows_the_tool_that_was_meant_with_its_arguments():
    fields = {"page": {"type": "integer"}, "word": {"type": "string"}, "more": {"type": "boolean"}}
    parameters = {"type": "object", "properties": fields, "required": ["word", "page"]}
    tools = (LOOKUP, LOOKUP.model_copy(update={"name": "find", "parameters": parameters}))
    (call,) = read('<tool_call>{"name": "find"}</tool_call>', tools=tools).message.tool_calls
    form = '```tool_call\n{"name": "find", "arguments": {"word": "…", "page": 1}}\n```'
    assert call.problem.endswith(f"Write it like this:\n{form}")


def test_what_is_no_block_or_a_thought_is_no_call():
    got = read('MY ANSWER: None\n```python\nprint("tool_call")\n```')
    assert (got.message.tool_calls, got.finish_reason) == ((), "stop")
    assert read(f"<think>{GOOD}</think>MY ANSWER: None").message.tool_calls == ()
    text = "The tool_result says so. MY ANSWER: None"
    got = read(text)
    assert (got.message.content, got.invented) == (text, None)
    assert read("<think>```tool_result 1 lookup\n</think>Yes").message.content.endswith("Yes")


RIGHT = '{"name": "lookup", "arguments": {}}'


DEEP = ["```tool_call\n" + "[" * 100_000 + "\n```", "the block is not valid JSON"]


@pytest.mark.parametrize(("written", "problem"), [*tables(__file__)["nearly"], DEEP])
def test_what_is_nearly_a_call_becomes_one_that_says_how_to_write_it(written, problem):
    (call,) = read(written).message.tool_calls
    assert problem in call.problem
    assert call.problem.endswith(f"```tool_call\n{RIGHT}\n```")


def test_of_a_reply_that_was_cut_only_closed_blocks_are_calls():
    cut = '```tool_call\n{"name": "look'
    assert read(cut, "length").message.tool_calls == ()
    got = read(f"{GOOD}\n{cut}", "length")
    assert [call.problem for call in got.message.tool_calls] == [None]
    assert got.finish_reason == "length"


@pytest.mark.parametrize(
    "begin", ["```tool_result 1 lookup\n", "```tool_result\n", "````tool_result", "tool_result 1 x"]
)
def test_a_result_that_the_model_wrote_itself_is_cut_off_and_counted(begin):
    invented = f"{begin} a page\n```\n\n```tool_result 2 lookup\nanother\n```\nMY ANSWER: None"
    got = read(f"{GOOD}\n\n{invented}", "length")
    assert got.message.content == GOOD
    assert [call.name for call in got.message.tool_calls] == ["lookup"]
    assert got.finish_reason == "tool_calls"
    assert (got.invented.count, got.invented.text) == (2, invented)


A, B = (ToolCall(id=id_, name="lookup", arguments="{}") for id_ in "ab")
CALLED = Message(role="assistant", content=GOOD, tool_calls=(A,))


def result(content, id_="a"):
    return Message(role="tool", tool_call_id=id_, content=content)


def test_a_model_without_tools_gets_no_stop_sequence():
    inner = ScriptedModel([answer("x"), answer("y")])
    for heard in ([USER], [USER, result("first")]):
        asyncio.run(TextProtocol(inner).generate(heard, [], ReplyOptions()))
    assert [options.stop for options in inner.options] == [(), ("```tool_result",)]


def test_the_tools_stand_in_the_system_text_which_a_forced_call_leaves_as_it_was():
    inner = ScriptedModel([answer("x")])
    system = Message(role="system", content="Be brief.")
    options = ReplyOptions("required", seed=5)
    asyncio.run(TextProtocol(inner).generate([system, USER], [LOOKUP], options))
    ((messages, tools),) = inner.requests
    assert tools == ()
    assert inner.options == [ReplyOptions(seed=5, stop=("```tool_result",))]
    assert [message.role for message in messages] == ["system", "user"]
    told = messages[0].content
    assert told.startswith("Be brief.\n\nThere are tools that you can use.")
    assert FORM in told
    described = next(line for line in told.splitlines() if line.startswith('{"name": "lookup"'))
    assert json.loads(described)["description"] == "Looks a word up."
    must = "\n\nYour next message must hold at least one tool_call block."
    assert messages[1].content.endswith(must)
    (first, asked) = in_text([USER], [LOOKUP], "required")
    (later, same, *_, heard) = in_text([USER, CALLED, result("x")], [LOOKUP], "auto")
    assert later == first
    assert asked.content == f"{same.content}\n\n{REQUIRED}"
    assert REQUIRED not in heard.content


def test_results_and_notes_come_back_in_one_user_message_in_the_order_of_the_calls():
    both = CALLED.model_copy(update={"tool_calls": (A, B)})
    closed = Message(role="user", content="The web is closed now.")
    messages = [USER, both, result("first"), result("has ```` in it", "b"), closed]
    *_, said, heard = in_text(messages, [LOOKUP])
    assert (said.role, said.content, said.tool_calls) == ("assistant", GOOD, ())
    assert heard == Message(
        role="user",
        content="```tool_result 1 lookup\nfirst\n```\n\n"
        "`````tool_result 2 lookup\nhas ```` in it\n`````\n\nThe web is closed now.",
    )
    assert in_text(messages, [])[0].content.startswith("There are no tools any more.")


@given(st.text(max_size=200), st.text(max_size=50))
def test_whatever_a_tool_gives_the_other_side_reads_it_as_it_was(output, word):
    """The fake server's reader was written from the documented format alone."""
    asked = json.dumps({"name": "lookup", "arguments": {"word": word}})
    call = ToolCall(id="a", name="lookup", arguments=json.dumps({"word": word}))
    block = f"```tool_call\n{asked}\n```"
    messages = [USER, Message(role="assistant", content=block, tool_calls=(call,)), result(output)]
    heard = []

    async def policy(turns, offers):
        heard.extend(turns)
        assert [offer.name for offer in offers] == ["lookup"]
        return ScriptedAnswer("ok")

    turns = [Message(role=m.role, content=m.content) for m in in_text(messages, [LOOKUP])]
    asyncio.run(speaks_text(policy)(turns, []))
    assert (heard[-1].role, heard[-1].content) == ("tool", output)
    assert json.loads(heard[-2].tool_calls[0].arguments) == {"word": word}


# Calls that cannot be run as they were written are answered with the right form ------------------

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
WORDED = LOOKUP.model_copy(update={"parameters": WORD})
FENCED = GOOD.replace("tool_call", "json")


def asked(reply, most=1, protocol="native", tools=(WORDED,)):
    inner = ScriptedModel([reply])
    if protocol != "native":
        inner = TextProtocol(inner, held=protocol == "schema")
    return asyncio.run(RepairedCalls(inner, most, protocol).generate((USER,), tools))


def cut(text):
    return answer(text).model_copy(update={"finish_reason": "length"})


@pytest.mark.parametrize(
    ("reply", "protocol", "words"),
    [
        (answer(FENCED), "native", 'fenced JSON). Call lookup as a tool, with arguments like {"wo'),
        (cut(FENCED[:-9]), "native", "cut off at the length limit. Call lookup"),
        (answer(FENCED.replace("lookup", "find_it")), "native", "Call lookup as a tool"),
        (answer(RIGHT), "text", "this:\n```tool_call\n{"),
        (cut(GOOD[:-5]), "text", "cut off at the length limit"),
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
    inner = ScriptedModel([answer(""), answer(FENCED)])
    heard = (USER, first, result("Error: no call", call.id))
    again = asyncio.run(RepairedCalls(inner, 1).generate(heard, (WORDED,)))
    assert again.message.tool_calls == ()
    assert [(m.role, m.content, m.tool_calls) for m in inner.requests[0][0]] == [
        ("user", "Which day?", ()), ("assistant", FENCED, ()), ("user", "Error: no call", ()),
    ]  # fmt: skip
