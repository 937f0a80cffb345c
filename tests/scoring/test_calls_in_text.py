"""Calls that a server's parser left in the text, as model families write them."""

import json

import pytest

from agent_env.records.schema import Message, ToolCall
from agent_env.scoring.calls_in_text import answer_with_call, call_in_text, remedy
from tests.ended import ended
from tests.tables import each

CALL = '{"name": "web_search", "arguments": {"query": "Falklands War"}}'


FORMS = {
    "<tool_call>": [
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"Let me look.\n<tool_call>{CALL}",
        "<tool_call>web_search\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>",
        "<tool_call>\n<function=web_search>\n<parameter=query>x</parameter>",
        '<minimax:tool_call>\n<invoke name="web_search">',
    ],
    "<|python_tag|>": [
        '<|python_tag|>web_search.call(query="x")',
        f"<|python_tag|>{CALL}<|eom_id|>",
    ],
    "[TOOL_CALLS]": [f"[TOOL_CALLS][{CALL}]", '[TOOL_CALLS]web_search[ARGS]{"query": "x"}'],
    "harmony channel": [
        '<|channel|>commentary to=functions.web_search <|constrain|>json<|message|>{"a":1}',
        'assistantcommentary to=functions.web_search json{"query":"x"}',
    ],
    "<|tool_call|>": [
        f"<|tool_call|>[{CALL}]",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.web_search:0{"query":"x"}',
    ],
    "<｜tool▁calls▁begin｜>": [
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>web_search"
    ],
    "<function=…>": ['<function=web_search>{"query": "x"}</function>'],
    "<invoke …>": ['<invoke name="web_search"><parameter name="query">x</parameter>'],
    "```tool_code": ['```tool_code\nweb_search(query="x")\n```'],
    "functools[…]": [f"functools[{CALL}]"],
    "fenced JSON": [
        f"I search first.\n```json\n{CALL}\n```",
        f"```\n{CALL}",
        '```json\n{"arguments": {"query": "x"}, "name": "web_search"}\n```',
    ],
    "bare JSON": [
        *(CALL, f"[{CALL}]", f"I would call {CALL} now."),
        '{"type": "function", "name": "web_search", "parameters": {"query": "x"}}',
        '{"function": {"name": "web_search", "arguments": "{}"}, "type": "function"}',
        '{"name": "web_search", "arguments": {"query": "Falk',
    ],
}


@pytest.mark.parametrize(("text", "form"), each(FORMS))
def test_a_call_in_text_is_named_by_its_form(text, form):
    assert call_in_text(text) == form
    assert call_in_text(text, ("web_search", "open_page")) == form


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "1982-06-14",
        '```json\n["1982-06-14"]\n```',
        '{"name": "John", "born": "1940-10-09"}',
        '{"answer": "1982", "arguments": "none"}',
        "I cannot write a <tool_call> here, as no tool fits.",
        "The tag [TOOL_CALLS] opens a call.",
        f"<think>I could write <tool_call>{CALL}</tool_call></think>1982-06-14",
        "The treaty was sent to=all parties.",
        "[" * 100_000,
    ],
)
def test_an_answer_is_no_call(text):
    assert call_in_text(text) is None


def test_what_is_no_call_and_whose_answer_has_one():
    assert call_in_text(CALL, ("python",)) is None
    assert call_in_text(CALL.replace("web_search", "functions.python"), ("python",)) == "bare JSON"
    # 1 MB of braces and fences before the call.
    text = '{"name": "a", \n```\n' * 60_001 + json.dumps({"name": "python", "arguments": {}})
    assert call_in_text(text, ("python",)) == "fenced JSON"
    episode = ended(CALL, condition="web")
    assert answer_with_call(episode) is None
    offered = episode.model_copy(update={"tools": ("web_search",)})
    assert answer_with_call(offered) == "bare JSON"
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
