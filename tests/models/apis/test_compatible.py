import json

import pytest

from agent_env.errors import ConfigError
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolCall, Usage
from tests.models.raw_server import LOOKUP, USER, ChatCompletions, ask, events, failure, reply
from tests.tables import tables


def completion(message, finish_reason="stop", **more):
    choice = {"index": 0, "message": {"role": "assistant"} | message}
    choice["finish_reason"] = finish_reason
    return reply({"id": "c", "model": "m-1-2026", "choices": [choice]} | more)


def call(id, arguments, name="lookup"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chunk(delta, finish_reason=None):
    return {"model": "m-1", "choices": [{"delta": delta, "finish_reason": finish_reason}]}


HELLO = completion({"content": "Hello"})
SYSTEM = Message(role="system", content="Be brief.")


def test_text_and_the_servers_name_for_the_model_are_read():
    got, _ = ask(ChatCompletions, HELLO)
    assert got.message == Message(role="assistant", content="Hello")
    assert (got.finish_reason, got.model) == ("stop", "m-1-2026")


CASES = tables(__file__)


@pytest.mark.parametrize(("server", "fields", "read"), CASES["caches"])
def test_tokens_of_thoughts_and_of_a_prompt_cache_are_read_by_every_name(server, fields, read):
    reasoned = {"completion_tokens_details": {"reasoning_tokens": 5}}
    usage = {"prompt_tokens": 1250, "completion_tokens": 30} | reasoned | fields
    got, _ = ask(ChatCompletions, completion({"content": "Hello"}, usage=usage))
    counts = {"input_tokens": 1250, "output_tokens": 30, "reasoning_tokens": 5}
    assert got.usage == Usage(source="provider", **counts, **read)


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": None}, {"prompt_tokens_details": None}, [], "none", {"total": 3}],
)
def test_usage_that_nobody_told_is_none_and_has_no_source(usage):
    got, _ = ask(ChatCompletions, completion({"content": "Hello"}, usage=usage))
    assert got.usage == Usage()


def read_calls(*calls, heard=()):
    answer = completion({"content": None, "tool_calls": calls}, "tool_calls")
    got, _ = ask(ChatCompletions, answer, messages=[USER, *heard])
    assert (got.message.content, got.finish_reason) == ("", "tool_calls")
    return [(each.id, each.arguments) for each in got.message.tool_calls]


def test_calls_are_read_with_unique_ids_and_their_arguments_as_json():
    written = ("a", '{"word": "x"}'), ("b", "not json")
    assert read_calls(*(call(*each) for each in written)) == [*written]
    ids = [call(id_, "{}") for id_ in ("a", "a", "", "")]
    assert [id_ for id_, _ in read_calls(*ids)] == ["a", "a_2", "call_1", "call_1_2"]
    assert read_calls(call("a", {"word": "ä"})) == [("a", '{"word": "ä"}')]
    asked = Message(role="assistant", tool_calls=(ToolCall(id="a", name="f", arguments="{}"),))
    result = Message(role="tool", content="x", tool_call_id="a")
    assert read_calls(call("a", "{}"), heard=(asked, result)) == [("a_2", "{}")]


@pytest.mark.parametrize(("said", "read"), CASES["reasons"])
def test_finish_reasons_are_read(said, read):
    got, _ = ask(ChatCompletions, completion({"content": "x"}, said or None))
    assert got.finish_reason == (read or None)


def test_refusals_and_citations_are_read():
    got, _ = ask(ChatCompletions, completion({"content": None, "refusal": "I will not."}))
    assert (got.message.content, got.finish_reason) == ("I will not.", "refused")
    note = {"type": "url_citation", "url_citation": {"url": "https://a.example/"}}
    got, _ = ask(ChatCompletions, completion({"content": "x", "annotations": [note, note]}))
    assert got.citations == ("https://a.example/",)


def test_a_conversation_goes_out_in_the_documented_shape():
    asked = ToolCall(id="a", name="lookup", arguments='{"word": "x"}')
    messages = [
        SYSTEM,
        USER,
        Message(role="assistant", content="Wait.", reasoning="hidden", tool_calls=(asked,)),
        Message(role="tool", content="an entry", tool_call_id="a"),
    ]
    _, sent = ask(ChatCompletions, HELLO, messages=messages, tools=[LOOKUP])
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}}
    function = {"name": "lookup", "description": "Looks a word up.", "parameters": parameters}
    calls = [call("a", '{"word": "x"}')]
    assert sent == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which day?"},
            {"role": "assistant", "content": "Wait.", "tool_calls": calls},
            {"role": "tool", "content": "an entry", "tool_call_id": "a"},
        ],
        "tools": [{"type": "function", "function": function}],
    }


def test_only_parameters_that_are_set_go_out():
    set_ = {"temperature": 0.0, "top_p": 0.9, "seed": 7, "reasoning_effort": "low"}
    chosen = Parameters(max_output_tokens=100, system_role="developer", **set_)
    _, sent = ask(ChatCompletions, HELLO, messages=[SYSTEM], parameters=chosen)
    messages = [{"role": "developer", "content": "Be brief."}]
    assert sent == {"model": "m-1", "messages": messages, "max_tokens": 100} | set_


def test_own_seeds_more_fields_and_an_answer_that_is_begun_go_out():
    begun = [USER, Message(role="assistant", content='JSON = {"explanation":')]
    _, sent = ask(ChatCompletions, HELLO, messages=begun)
    assert (sent["continue_final_message"], sent["add_generation_prompt"]) == (True, False)
    assert sent["messages"][-1]["role"] == "assistant"
    seeded = Parameters(seed=7)
    _, own = ask(ChatCompletions, HELLO, options=ReplyOptions(seed=5), parameters=seeded)
    _, all_calls = ask(ChatCompletions, HELLO, parameters=seeded)
    assert (own["seed"], all_calls["seed"]) == (5, 7)
    _, bare = ask(ChatCompletions, HELLO, parameters=Parameters(extra_body={"top_k": 20}))
    question = [{"role": "user", "content": "Which day?"}]
    assert bare == {"model": "m-1", "messages": question, "top_k": 20}
    chosen = Parameters(system_role="user")
    _, sent = ask(ChatCompletions, HELLO, messages=[SYSTEM, USER], parameters=chosen)
    assert sent["messages"] == [{"role": "user", "content": "Be brief.\n\nWhich day?"}]


@pytest.mark.parametrize("choice", ["required", "none"])
def test_the_tool_choice_of_a_call_goes_out_where_there_are_tools(choice):
    ways = ([LOOKUP], choice), ((), choice), ([LOOKUP], "auto")
    sent = [ask(ChatCompletions, HELLO, tools=t, options=ReplyOptions(c))[1] for t, c in ways]
    assert [each.get("tool_choice") for each in sent] == [choice, None, None]


@pytest.mark.parametrize("name", ["messages", "tool_choice", "stream", "temperature"])
def test_a_field_that_is_set_otherwise_is_refused_in_the_extra_body(name):
    with pytest.raises(ConfigError, match=f"--extra-body: '{name}' is set otherwise"):
        Parameters(temperature=0.5, extra_body={name: 1})


@pytest.mark.parametrize(
    ("written", "sent_back"),
    [
        ("", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": ', '{"unreadable": "{\\"a\\": "}'),
        ('"{}"', '{"unreadable": "\\"{}\\""}'),
        ("[" * 100_000, json.dumps({"unreadable": "[" * 100_000})),
    ],
)
def test_arguments_that_are_no_object_are_wrapped_before_a_server_reads_them_again(
    written, sent_back
):
    """vLLM and llama.cpp answer 400 to every later step of such a conversation."""
    asked = Message(role="assistant", tool_calls=(ToolCall(id="a", name="f", arguments=written),))
    _, sent = ask(ChatCompletions, HELLO, messages=[USER, asked])
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == sent_back


def test_a_stream_gives_the_reply_that_a_whole_body_gives():
    def piece(index, **more):
        return {"tool_calls": [{"index": index, **more}]}

    deltas = [
        {"role": "assistant", "content": ""},
        *({"reasoning_content": text} for text in ("Let me ", "see.")),
        *({"content": text} for text in ("Fri", "day")),
        piece(0, **call("a", "")),
        piece(0, function={"arguments": '{"word"'}),
        piece(1, **call("b", "{}")),
        piece(0, function={"arguments": ': "x"}'}),
    ]
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    streamed = events(*map(chunk, deltas), chunk({}, "tool_calls"), usage)
    got, sent = ask(ChatCompletions, streamed, stream=True)
    assert (sent["stream"], sent["stream_options"]) == (True, {"include_usage": True})
    calls = [
        ToolCall(id="a", name="lookup", arguments='{"word": "x"}'),
        ToolCall(id="b", name="lookup", arguments="{}"),
    ]
    assert got.message.model_copy(update={"provider_fields": None}) == Message(
        role="assistant", content="Friday", reasoning="Let me see.", tool_calls=calls
    )
    assert got.finish_reason == "tool_calls"
    assert got.usage == Usage(input_tokens=3, output_tokens=2, source="provider")


def test_streamed_calls_halves_of_letters_and_ends_are_put_together():
    both = {"tool_calls": [call("a", "{}"), call("b", '{"word": "y"}')]}
    got, _ = ask(ChatCompletions, events(chunk(both, "tool_calls")), stream=True)
    assert [each.arguments for each in got.message.tool_calls] == ["{}", '{"word": "y"}']
    error = failure(ChatCompletions, events(chunk({"content": "Fri"})), stream=True)
    assert "ended the stream before the reply was complete" in str(error)
    assert error.retryable
    halves = events(chunk({"content": "\ud83d"}), chunk({"content": "\ude00"}, "stop"))
    got, _ = ask(ChatCompletions, halves, stream=True)
    assert got.message.content == "😀"


@pytest.mark.parametrize("body", [{"choices": []}, {"choices": None}, {}, {"choices": [{}]}])
def test_a_reply_without_a_choice_is_an_error(body):
    error = failure(ChatCompletions, reply(body))
    assert "sent no choice with a message" in str(error)
    assert (error.status, error.retryable) == (200, True)


def test_an_error_inside_a_choice_is_an_error():
    choice = {"message": {"content": ""}, "error": {"code": 502, "message": "upstream died"}}
    error = failure(ChatCompletions, reply({"choices": [choice]}))
    assert "upstream died" in str(error)
    assert (error.status, error.retryable) == (502, True)


@pytest.mark.parametrize(("wished", "named", "tier"), CASES["tiers"])
def test_the_tier_is_the_one_that_the_reply_names(wished, named, tier):
    answer = completion({"content": "Hello"}, usage={"prompt_tokens": 1}, **named)
    wish = Parameters(service_tier=wished or None)
    got, sent = ask(ChatCompletions, answer, parameters=wish)
    assert (got.usage.tier, sent.get("service_tier")) == (tier or None, wished or None)


@pytest.mark.parametrize(
    ("text", "counts", "read"),
    [
        ("x", (0, 0), Usage()),
        ("x", (9, 0), Usage(input_tokens=9, source="provider")),
        ("", (9, 0), Usage(input_tokens=9, output_tokens=0, source="provider")),
    ],
)
def test_counts_of_0_for_a_reply_with_a_text_are_unknown(text, counts, read):
    usage = dict(zip(("prompt_tokens", "completion_tokens"), counts, strict=True))
    got, _ = ask(ChatCompletions, completion({"content": text}, usage=usage))
    assert got.usage == read


@pytest.mark.parametrize("name", CASES["names"])
def test_a_name_with_something_of_a_parser_is_the_tools(name):
    assert read_name(name) == ("lookup", name)


@pytest.mark.parametrize("name", ["lookup", "look", "lookups", "other.lookup"])
def test_another_name_stays_as_it_is(name):
    assert read_name(name) == (name, None)


def read_name(name):
    answer = completion({"tool_calls": [call("a", "{}", name)]})
    (got,) = ask(ChatCompletions, answer, tools=(LOOKUP,))[0].message.tool_calls
    return got.name, got.written_name
