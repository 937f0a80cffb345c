"""Anthropic's Messages API against bytes as the API writes them."""

import json

import pytest

from agent_env.errors import ConfigError, ModelError
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, PageRef, ToolCall, ToolSpec, Usage
from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.models.raw_server import (
    LOOKUP,
    USER,
    Messages,
    RawServer,
    ask,
    events,
    failure,
    reply,
)  # fmt: skip
from tests.tables import tables

CASES = tables(__file__)
SYSTEM = Message(role="system", content="Be brief.")
THINKING = {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB+/sig=="}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgB"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"word": "x"}}
SECOND = {"type": "tool_use", "id": "toolu_2", "name": "lookup", "input": {}}
MARK = {"cache_control": {"type": "ephemeral"}}
COUNTS = {"input_tokens": 11, "output_tokens": 7}


def said(words, **more):
    return {"type": "text", "text": words} | more


def body(*content, stop="end_turn", usage=COUNTS, **more):
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-1-2026",
        "content": list(content), "stop_reason": stop, "stop_sequence": None, "usage": usage,
    } | more  # fmt: skip


HELLO = reply(body(said("Hello")))
CALLED = reply(body(THINKING, REDACTED, said("Wait."), CALL, SECOND, stop="tool_use"))


def entry(id_, words="an entry"):
    return Message(role="tool", content=words, tool_call_id=id_)


def test_a_request_has_its_limit_its_version_and_marks_that_live_as_long_as_the_user_says():
    heard, about = [SYSTEM, USER], {"name": "lookup", "description": "Looks a word up."}
    _, sent = ask(Messages, HELLO, messages=heard, tools=[LOOKUP])
    assert sent == {
        "model": "m-1",
        "max_tokens": 16_000,
        "tools": [about | {"input_schema": LOOKUP.parameters} | MARK],
        "system": [{"type": "text", "text": "Be brief."} | MARK],
        "messages": [{"role": "user", "content": [said("Which day?")]}],
        **MARK,
    }
    parameters = Parameters(extra_body={"cache_control": {"ttl": "1h"}})
    _, sent = ask(Messages, HELLO, messages=heard, tools=[LOOKUP], parameters=parameters)
    marks = [each["cache_control"] for each in (sent["tools"][-1], sent["system"][0], sent)]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}] * 3


def test_all_input_tokens_are_one_count_and_those_of_the_cache_known():
    usage = {
        "input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 40,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 30},
        "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5},
    }  # fmt: skip
    got, _ = ask(Messages, reply(body(said("Hello"), usage=usage)))
    assert got.usage == Usage(
        input_tokens=143, cached_tokens=100, cache_write_tokens=40, hour_cache_write_tokens=30,
        output_tokens=7, reasoning_tokens=5, source="provider",
    )  # fmt: skip
    got, _ = ask(Messages, reply(body(said("Hello"), usage=None)))
    assert got.usage == Usage()


def gave(id_, words="an entry"):
    return {"type": "tool_result", "tool_use_id": id_, "content": words}


def test_thinking_and_calls_are_read_and_go_back_as_they_were_with_results_in_one_message():
    first, _ = ask(Messages, CALLED)
    assert (first.message.content, first.message.reasoning) == ("Wait.", "Let me see.")
    assert first.message.tool_calls == (
        ToolCall(id="toolu_1", name="lookup", arguments='{"word": "x"}'),
        ToolCall(id="toolu_2", name="lookup", arguments="{}"),
    )
    assert first.finish_reason == "tool_calls"
    notice = Message(role="user", content="Two replies left.")
    heard = [USER, first.message, entry("toolu_1"), entry("toolu_2", ""), notice]
    _, sent = ask(Messages, HELLO, messages=heard)
    results = [gave("toolu_1"), gave("toolu_2", ""), said("Two replies left.")]
    assert sent["messages"][1:] == [
        {"role": "assistant", "content": [THINKING, REDACTED, said("Wait."), CALL, SECOND]},
        {"role": "user", "content": results},
    ]


def test_another_server_gets_texts_and_calls_alone_in_letters_that_are_taken():
    first, _ = ask(Messages, CALLED)
    call = ToolCall(id="call:1", name="lookup", arguments="not JSON")
    other = Message(role="assistant", tool_calls=(call,))
    heard = [USER, first.message, entry("toolu_1"), entry("toolu_2"), other, entry("call:1")]
    _, sent = ask(Messages, HELLO, messages=heard, is_same_server=False)
    _, theirs, _, ours, result = [each["content"] for each in sent["messages"]]
    assert theirs == [said("Wait."), CALL, SECOND]
    assert ours == [CALL | {"id": "call_1", "input": {"unreadable": "not JSON"}}]
    assert result[0]["tool_use_id"] == "call_1"


def test_an_empty_reply_is_not_sent_back():
    heard = [USER, Message(role="assistant"), Message(role="user", content="Go on.")]
    _, sent = ask(Messages, HELLO, messages=heard)
    assert sent["messages"] == [{"role": "user", "content": [said("Which day?"), said("Go on.")]}]


def test_a_step_of_many_calls_gets_a_breakpoint_that_the_next_one_finds():
    ids = [f"c{n}" for n in range(10)]
    calls = tuple(ToolCall(id=id_, name="lookup", arguments="{}") for id_ in ids)
    heard = [USER, Message(role="assistant", tool_calls=calls), *map(entry, ids)]
    _, sent = ask(Messages, HELLO, messages=heard)
    assert sent["messages"][0]["content"] == [said("Which day?") | MARK]
    assert json.dumps(sent).count("cache_control") == 2


def streamed(index, block, **pieces):
    """The events of a block: its beginning, and pieces of its fields by the types of deltas."""
    yield {"type": "content_block_start", "index": index, "content_block": block}
    yield {"type": "ping"}
    fields = {"input_json_delta": "partial_json", "citations_delta": "citation"}
    for kind, values in pieces.items():
        name = fields.get(kind, kind.removesuffix("_delta"))
        for value in values:
            delta = {"type": kind, name: value}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


BEGUN = {"input_tokens": 3, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5}
THOUGHT = {"thinking_delta": ["Let me", " see."], "signature_delta": ["EqQB+/sig=="]}
STREAM = (
    {"type": "message_start", "message": body(stop=None, usage=BEGUN | {"output_tokens": 1})},
    *streamed(0, THINKING | {"thinking": "", "signature": ""}, **THOUGHT),
    *streamed(1, REDACTED),
    *streamed(2, said(""), text_delta=["Wait."]),
    *streamed(3, CALL | {"input": {}}, input_json_delta=["", '{"wor', 'd": "x"}']),
    *streamed(4, SECOND),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
     "usage": {"cache_read_input_tokens": None, "output_tokens": 7}},
    {"type": "message_stop"},
)  # fmt: skip


def test_a_stream_is_the_message_it_stands_for_also_where_it_ends_early_or_with_an_error():
    got, sent = ask(Messages, events(*STREAM), stream=True)
    assert sent["stream"] is True
    assert got.message.provider_items == ask(Messages, CALLED)[0].message.provider_items
    assert got.finish_reason == "tool_calls"
    usage = got.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (28, 20, 7)
    error = failure(Messages, events(*STREAM[:18]), stream=True)
    assert (error.kind, error.retryable) == ("connection", True)
    assert error.partial == 'Let me see.Wait.{"wor'
    error = failure(Messages, events(STREAM[0], oops("overloaded_error", "Over")), stream=True)
    assert (error.kind, error.retryable) == ("server", True)


@pytest.mark.parametrize(("reason", "ours"), CASES["reasons"])
def test_the_reason_of_the_end_is_ours(reason, ours):
    got, _ = ask(Messages, reply(body(said("Hello"), stop=reason)))
    assert got.finish_reason == (ours or None)


def test_a_cut_reply_and_a_refusal_without_words_say_why():
    got, _ = ask(Messages, HELLO, parameters=Parameters(max_output_tokens=7))
    assert got.finish_reason == "length"
    details = {"type": "refusal", "explanation": "That could do harm."}
    got, _ = ask(Messages, reply(body(stop="refusal", stop_details=details)))
    assert (got.message.content, got.finish_reason) == ("That could do harm.", "refused")


@pytest.mark.parametrize(
    ("choice", "sent_choice"),
    [("auto", None), ("required", {"type": "any"}), ("none", {"type": "none"})],
)
def test_the_choice_of_tools_is_an_object(choice, sent_choice):
    ways = [ask(Messages, HELLO, tools=t, options=ReplyOptions(choice)) for t in ([LOOKUP], [])]
    assert [sent.get("tool_choice") for _, sent in ways] == [sent_choice, None]


@pytest.mark.parametrize(("model", "effort", "limit", "fields"), CASES["efforts"])
def test_effort_is_adaptive_thinking_or_a_budget_for_older_models(model, effort, limit, fields):
    def kind(name, served, *rest, **more):
        return Messages(name, model, *rest, **more)

    parameters = Parameters(reasoning_effort=effort, max_output_tokens=limit or None)
    _, sent = ask(kind, HELLO, parameters=parameters)
    names = ("max_tokens", "thinking", "output_config")
    assert {name: sent[name] for name in names if name in sent} == fields


def test_a_schema_and_stop_sequences_are_named_as_the_api_does():
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    options = ReplyOptions(schema=schema, stop=("seven",))
    _, sent = ask(Messages, reply(body(said("{}"))), options=options)
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    assert sent["stop_sequences"] == ["seven"]


def test_hosted_tools_are_offered_and_what_they_did_is_read_with_citations_of_streams():
    url = {"url": "https://a.example/"}
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    hits = [{"type": "web_search_result", "title": "A"} | url]
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    results = [
        {"type": "web_search_tool_result", "tool_use_id": id_, "content": content}
        for id_, content in (("s", hits), ("t", error))
    ]
    note = {"type": "web_search_result_location", "cited_text": "Fri"} | url
    answer = reply(body(searched, *results, said("Friday", citations=[note])))
    spec = ToolSpec(name="web_search", description="", parameters={}, hosted="web_search")
    got, sent = ask(Messages, answer, tools=[spec])
    assert sent["tools"] == [{"type": "web_search_20250305", "name": "web_search"} | MARK]
    assert got.usage.hosted_calls == {"search": 1}
    assert got.citations == ("https://a.example/",)
    assert got.hosted_pages == (PageRef(url="https://a.example/", how="returned"),)
    block = streamed(0, said("Friday"), citations_delta=[note])
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    got, _ = ask(Messages, events(STREAM[0], *block, end), stream=True)
    assert got.citations == ("https://a.example/",)


def oops(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("status", "type_", "message", "kind", "retryable", "words"), CASES["errors"]
)
def test_errors_are_ours(status, type_, message, kind, retryable, words):
    answer = reply(oops(type_, message), status)
    with pytest.raises(ModelError, match=words) as caught:
        ask(Messages, answer, tools=[LOOKUP], options=ReplyOptions("required"))
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)


def test_it_takes_no_seed():
    with pytest.raises(ConfigError, match="leave --model-seed out"):
        ask(Messages, HELLO, parameters=Parameters(seed=1))


def test_names_and_keys_of_the_wrong_provider_are_answered_with_the_right_one(monkeypatch):
    def made(name="anthropic/claude-opus-5"):
        return make_model(name, None, {}, own_plugins())

    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match=r"write anthropic/claude-opus-5, with .*ANTHROPIC_API"):
        made("claude-opus-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-proj-0123456789")
    with pytest.raises(ConfigError, match=r"ANTHROPIC_API_KEY is one of openai/NAME.*OPENAI_API"):
        made()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    assert made().name
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-a-proxy")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:4000")
    assert made().name


async def test_the_key_goes_in_its_own_header_to_the_path_with_its_version(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    async with RawServer(HELLO) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url.removesuffix("/v1"))
        await make_model("anthropic/m-1", None, {}, own_plugins()).generate([USER], [])
    (head,) = server.heads
    assert head.startswith(b"POST /v1/messages ")
    assert b"x-api-key: sk-ant-0123456789" in head.lower()
    assert b"anthropic-version: 2023-06-01" in head.lower()
    assert b"authorization" not in head.lower()
