import pytest

from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolCall, Usage
from tests.models.raw_server import LOOKUP, USER, Responses, ask, events, failure, reply

REASONING = {"type": "reasoning", "id": "rs_1", "encrypted_content": "AAAA"}
REASONING |= {"summary": [{"type": "summary_text", "text": "Let me see."}]}
WRITTEN = {"type": "function_call", "call_id": "a", "name": "lookup", "arguments": '{"word": "x"}'}
CALL = WRITTEN | {"id": "fc_1", "status": "completed"}


def said(*parts):
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": list(parts)}


def text(words, *notes):
    return {"type": "output_text", "text": words, "annotations": list(notes)}


def response(*output, **more):
    return {"id": "r", "model": "m-1-2026", "status": "completed", "output": list(output)} | more


HELLO = reply(response(said(text("Hello"))))
SYSTEM = Message(role="system", content="Be brief.")


def test_text_usage_and_the_servers_name_for_the_model_are_read():
    usage = {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}}
    usage |= {"output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5}}
    got, _ = ask(Responses, reply(response(said(text("Hello")), usage=usage)))
    assert (got.message.content, got.finish_reason, got.model) == ("Hello", "stop", "m-1-2026")
    assert got.usage == Usage(
        input_tokens=11, cached_tokens=4, output_tokens=7, reasoning_tokens=5, source="provider"
    )


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": None}, {"input_tokens_details": None}]
)
def test_usage_that_nobody_told_is_none_and_has_no_source(usage):
    got, _ = ask(Responses, reply(response(said(text("Hello")), usage=usage)))
    assert got.usage == Usage()


def test_reasoning_text_and_calls_are_read_and_the_items_kept_as_they_were():
    got, _ = ask(Responses, reply(response(REASONING, said(text("Wait.")), CALL)))
    assert (got.message.content, got.message.reasoning) == ("Wait.", "Let me see.")
    assert got.message.tool_calls == (ToolCall(id="a", name="lookup", arguments='{"word": "x"}'),)
    assert got.message.provider_items == (REASONING, said(text("Wait.")), CALL)
    assert got.finish_reason == "tool_calls"


def test_a_turn_goes_back_as_it_was_or_is_put_into_items():
    first, _ = ask(Responses, reply(response(REASONING, CALL)))
    entry = Message(role="tool", content="an entry", tool_call_id="a")
    _, sent = ask(Responses, HELLO, messages=[SYSTEM, USER, first.message, entry], tools=[LOOKUP])
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}}
    told = {"name": "lookup", "description": "Looks a word up.", "parameters": parameters}
    assert sent == {
        "model": "m-1",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which day?"},
            REASONING,
            CALL,
            {"type": "function_call_output", "call_id": "a", "output": "an entry"},
        ],
        "store": False,
        "tools": [{"type": "function", "strict": False} | told],
    }
    call = ToolCall(id="a", name="lookup", arguments="broken")
    turn = Message(role="assistant", content="Wait.", tool_calls=(call,))
    _, sent = ask(Responses, HELLO, messages=[USER, turn])
    broken = WRITTEN | {"arguments": '{"unreadable": "broken"}'}
    assert sent["input"][1:] == [{"role": "assistant", "content": "Wait."}, broken]


@pytest.mark.parametrize("how", [{"is_same_server": False}, {"echo": "never"}])
def test_items_do_not_go_to_another_server_or_where_nothing_shall_go_back(how):
    first, _ = ask(Responses, reply(response(REASONING, CALL)))
    _, sent = ask(Responses, HELLO, messages=[USER, first.message], **how)
    assert sent["input"][1:] == [WRITTEN]


def test_repeated_and_empty_call_ids_are_made_unique_in_the_items_too():
    got, _ = ask(Responses, reply(response(CALL, CALL, CALL | {"call_id": ""})))
    items = [item["call_id"] for item in got.message.provider_items]
    assert [call.id for call in got.message.tool_calls] == items == ["a", "a_2", "call_1"]


def test_only_parameters_that_are_set_go_out():
    set_ = {"temperature": 0.0, "top_p": 0.9, "max_output_tokens": 100}
    chosen = Parameters(reasoning_effort="low", system_role="developer", **set_)
    how = {"parameters": chosen, "options": ReplyOptions("required")}
    _, sent = ask(Responses, HELLO, messages=[SYSTEM], tools=[LOOKUP], **how)
    sent.pop("tools")
    assert (
        sent
        == {
            "model": "m-1",
            "input": [{"role": "developer", "content": "Be brief."}],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "tool_choice": "required",
            "reasoning": {"effort": "low"},
        }
        | set_
    )


REFUSAL = {"type": "refusal", "refusal": "I will not."}


@pytest.mark.parametrize(
    ("part", "reason", "read"),
    [
        (text("Fri"), "max_output_tokens", ("Fri", "length")),
        (text(""), "content_filter", ("", "refused")),
        (REFUSAL, None, ("I will not.", "refused")),
    ],
)
def test_cut_filtered_and_refused_responses_say_so(part, reason, read):
    details = {"status": "incomplete", "incomplete_details": {"reason": reason}} if reason else {}
    got, _ = ask(Responses, reply(response(said(part), **details)))
    assert (got.message.content, got.finish_reason) == read


def test_cited_urls_are_kept_once_each():
    note = {"type": "url_citation", "url": "https://a.example/", "start_index": 0}
    other = {"type": "file_citation", "file_id": "f"}
    got, _ = ask(Responses, reply(response(said(text("x", note, note, other)))))
    assert got.citations == ("https://a.example/",)


def test_a_stream_gives_the_response_of_its_last_event_or_of_its_items_and_else_was_cut():
    streamed = events(
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.output_text.delta", "delta": "Fri"},
        {"type": "response.completed", "response": response(said(text("Friday")))},
    )
    got, sent = ask(Responses, streamed, stream=True)
    assert sent["stream"] is True
    assert (got.message.content, got.finish_reason) == ("Friday", "stop")
    done = {"type": "response.output_item.done", "item": CALL}
    end = {"type": "response.completed", "response": response()}
    got, _ = ask(Responses, events(done, end), stream=True)
    assert got.message.provider_items == (CALL,)
    error = failure(Responses, events({"type": "response.created", "response": {}}), stream=True)
    assert "ended the stream before the reply was complete" in str(error)
    assert error.retryable


def test_a_failed_response_is_an_error_whole_and_streamed():
    about = {"code": "server_error", "message": "it broke"}
    failed = response(status="failed", error=about)
    for answer, stream in (
        (reply(failed), False),
        (events({"type": "response.failed", "response": failed}), True),
        (events({"type": "error"} | about), True),
    ):
        error = failure(Responses, answer, stream=stream)
        assert ("it broke" in str(error), error.retryable) == (True, True)


@pytest.mark.parametrize("status", ["completed", "queued", "in_progress", "cancelled"])
def test_a_response_without_output_is_an_error(status):
    error = failure(Responses, reply(response(status=status)))
    assert f"sent a response that is {status} and has no output" in str(error)


@pytest.mark.parametrize(
    ("output", "used", "reason"),
    [
        (said(text("Hel")), 16, "length"),
        (said(text("Hello")), 15, "stop"),
        (CALL, 16, "tool_calls"),
        (CALL | {"arguments": '{"word": "'}, 16, "length"),
    ],
)
def test_a_reply_of_the_greatest_length_is_cut_though_called_completed(output, used, reason):
    answer = reply(response(output, usage={"input_tokens": 5, "output_tokens": used}))
    got, _ = ask(Responses, answer, parameters=Parameters(max_output_tokens=16))
    assert got.finish_reason == reason
