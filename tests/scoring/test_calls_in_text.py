"""Calls that a server's parser left in the text, as model families write them."""

import json

import pytest

from agent_env.records.schema import Message, ToolCall
from agent_env.scoring.calls_in_text import answer_with_call, call_in_text, remedy
from tests.ended import ended
from tests.tables import each, tables

CALL = '{"name": "web_search", "arguments": {"query": "Falklands War"}}'

CASES = tables(__file__)


@pytest.mark.parametrize(("text", "form"), each(CASES["forms"]))
def test_a_call_in_text_is_named_by_its_form(text, form):
    text = text.replace("$CALL", CALL)
    assert call_in_text(text) == form
    assert call_in_text(text, ("web_search", "open_page")) == form


@pytest.mark.parametrize("text", [None, *CASES["answers"]["without_a_call"], "[" * 100_000])
def test_an_answer_is_no_call(text):
    assert call_in_text(text and text.replace("$CALL", CALL)) is None


def test_what_is_no_call_and_whose_answer_has_one():
    assert call_in_text(CALL, ("python",)) is None
    assert call_in_text(CALL.replace("web_search", "functions.python"), ("python",)) == "bare JSON"
    # 1 MB of braces and fences before the call.
    text = '{"name": "a", \n```\n' * 60_001 + json.dumps({"name": "python", "arguments": {}})
    assert call_in_text(text, ("python",)) == "fenced JSON"
    episode = ended(CALL, condition="web")
    assert answer_with_call(episode) is None
    assert answer_with_call(episode.model_copy(update={"tools": ("web_search",)})) == "bare JSON"
    block = f"```tool_call\n{CALL}\n```"
    call = ToolCall(id="a", name="web_search", arguments="{}")
    said = (Message(role="assistant", content=block, tool_calls=(call,)),)
    read = ended(block, tools=("web_search",), stop_reason="steps", messages=said)
    assert answer_with_call(read) is None
    unread = read.model_copy(update={"messages": (Message(role="assistant", content=block),)})
    assert answer_with_call(unread) == "```tool_call"
    cut = unread.model_copy(update={"answer": block[:30], "stop_reason": "truncated"})
    assert answer_with_call(cut) == "```tool_call, cut off"
    assert answer_with_call(unread.model_copy(update={"stop_reason": "repetition"})) is None
    assert remedy(in_text=False).startswith("take --tool-protocol auto, or ")
    fenced = remedy(in_text=False, forms=["fenced JSON"])
    assert fenced.endswith("agent-env serve model --chat-template fenced-json)")
    assert remedy(in_text=True).startswith("take --answer-format schema, ")
    cut = ["bare JSON, cut off"]
    assert remedy(in_text=True, forms=cut) == "give replies more room with --max-output-tokens"
