"""Calls that a server's parser left in the text, as model families write them."""

import json

import pytest

from agent_env.records.schema import Episode, Message, ToolCall
from agent_env.scoring.calls_in_text import answer_with_call, call_in_text, remedy

CALL = '{"name": "web_search", "arguments": {"query": "Falklands War"}}'


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("<tool_call>", f"<tool_call>\n{CALL}\n</tool_call>"),
        ("<tool_call>", f"Let me look.\n<tool_call>{CALL}"),
        (
            "<tool_call>",
            "<tool_call>web_search\n<arg_key>query</arg_key>\n<arg_value>x</arg_value>",
        ),
        ("<tool_call>", "<tool_call>\n<function=web_search>\n<parameter=query>x</parameter>"),
        ("<tool_call>", '<minimax:tool_call>\n<invoke name="web_search">'),
        ("<|python_tag|>", '<|python_tag|>web_search.call(query="x")'),
        ("<|python_tag|>", f"<|python_tag|>{CALL}<|eom_id|>"),
        ("[TOOL_CALLS]", f"[TOOL_CALLS][{CALL}]"),
        ("[TOOL_CALLS]", '[TOOL_CALLS]web_search[ARGS]{"query": "x"}'),
        (
            "harmony channel",
            '<|channel|>commentary to=functions.web_search <|constrain|>json<|message|>{"a":1}',
        ),
        ("harmony channel", 'assistantcommentary to=functions.web_search json{"query":"x"}'),
        ("<|tool_call|>", f"<|tool_call|>[{CALL}]"),
        (
            "<|tool_call|>",
            '<|tool_calls_section_begin|><|tool_call_begin|>functions.web_search:0{"query":"x"}',
        ),
        (
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>web_search",
        ),
        ("<function=…>", '<function=web_search>{"query": "x"}</function>'),
        ("<invoke …>", '<invoke name="web_search"><parameter name="query">x</parameter>'),
        ("```tool_code", '```tool_code\nweb_search(query="x")\n```'),
        ("functools[…]", f"functools[{CALL}]"),
        ("fenced JSON", f"I search first.\n```json\n{CALL}\n```"),
        ("fenced JSON", f"```\n{CALL}"),
        ("fenced JSON", '```json\n{"arguments": {"query": "x"}, "name": "web_search"}\n```'),
        ("bare JSON", CALL),
        ("bare JSON", f"[{CALL}]"),
        ("bare JSON", f"I would call {CALL} now."),
        ("bare JSON", '{"type": "function", "name": "web_search", "parameters": {"query": "x"}}'),
        (
            "bare JSON",
            '{"function": {"name": "web_search", "arguments": "{}"}, "type": "function"}',
        ),
        ("bare JSON", '{"name": "web_search", "arguments": {"query": "Falk'),
    ],
)
def test_a_call_in_text_is_named_by_its_form(form, text):
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


def test_json_that_names_no_offered_tool_is_no_call():
    assert call_in_text(CALL, ("python",)) is None
    assert call_in_text(CALL.replace("web_search", "functions.python"), ("python",)) == "bare JSON"


def test_a_long_answer_is_read_whole():
    """1 MB of braces and fences before the call."""
    text = '{"name": "a", \n```\n' * 60_001 + json.dumps({"name": "python", "arguments": {}})
    assert call_in_text(text, ("python",)) == "fenced JSON"


def test_only_an_episode_with_tools_can_have_a_call_in_its_answer():
    episode = Episode(
        sample="a", condition="web", repeat=1, model="m", status="finished", answer=CALL
    )
    assert answer_with_call(episode) is None
    offered = episode.model_copy(update={"tools": ("web_search",)})
    assert answer_with_call(offered) == "bare JSON"


def test_a_call_that_was_read_is_none_that_nobody_ran_and_a_cut_one_is_named():
    block = f"```tool_call\n{CALL}\n```"
    call = ToolCall(id="a", name="web_search", arguments="{}")
    ended = Episode(
        sample="a", condition="web", repeat=1, model="m", status="finished", answer=block,
        tools=("web_search",), stop_reason="steps",
        messages=(Message(role="assistant", content=block, tool_calls=(call,)),),
    )  # fmt: skip
    assert answer_with_call(ended) is None
    unread = ended.model_copy(update={"messages": (Message(role="assistant", content=block),)})
    assert answer_with_call(unread) == "```tool_call"
    cut = unread.model_copy(update={"answer": block[:30], "stop_reason": "truncated"})
    assert answer_with_call(cut) == "```tool_call, cut off"
    assert answer_with_call(unread.model_copy(update={"stop_reason": "repetition"})) is None


def test_the_remedy_is_none_that_the_run_has_taken():
    assert remedy(in_text=False).startswith("take --tool-protocol auto, or ")
    assert remedy(in_text=True).startswith("take --answer-format schema, ")
    cut = ["bare JSON, cut off"]
    assert remedy(in_text=True, forms=cut) == "give replies more room with --max-output-tokens"
