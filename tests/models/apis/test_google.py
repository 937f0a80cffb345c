from functools import partial

import pytest

from agent_env.errors import ModelError
from agent_env.models.apis import google
from agent_env.models.client import ApiModel
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolCall, ToolSpec, Usage
from agent_env.wiring.trust import own_call
from tests.models.raw_server import KEY, LOOKUP, USER, ask, events, failure, reply
from tests.tables import tables

CASES = tables(__file__)
Gemini = partial(ApiModel, google.API, permit=own_call())
TEXT = {"text": "Friday."}
THOUGHT = {"text": "I look it up.", "thought": True}
CALL = {"id": "c1", "name": "lookup", "args": {"word": "x"}}
SIGNED = {"functionCall": CALL, "thoughtSignature": "c2lnbmVk"}
SECOND = {"functionCall": {"id": "c2", "name": "lookup", "args": {"word": "y"}}}
ABOUT = {"name": "lookup", "description": "Looks a word up."}
DECLARED = {"functionDeclarations": [ABOUT | {"parametersJsonSchema": LOOKUP.parameters}]}


def said(*parts, reason="STOP", **more):
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": reason, "index": 0}]} | more


def result(id_, content):
    return Message(role="tool", content=content, tool_call_id=id_)


def conversation(*parts, model="gemini-3-pro-preview", **more):
    """What goes out after a reply of these parts, as its server heard it."""
    first, _ = ask(Gemini, reply(said(*parts)))
    results = [result(call.id, f"about {call.id}") for call in first.message.tool_calls]
    messages = [USER, first.message, *results]
    return ask(Gemini, reply(said(TEXT)), messages=messages, tools=[LOOKUP], **more)[1]


def test_text_thoughts_usage_and_the_models_version_are_read():
    usage = {"promptTokenCount": 11, "toolUsePromptTokenCount": 5, "cachedContentTokenCount": 4}
    usage |= {"candidatesTokenCount": 2, "thoughtsTokenCount": 7, "totalTokenCount": 25}
    body = said(THOUGHT, TEXT, usageMetadata=usage, modelVersion="m-1-001")
    got, _ = ask(Gemini, reply(body))
    assert (got.message.content, got.message.reasoning) == ("Friday.", "I look it up.")
    assert (got.finish_reason, got.model) == ("stop", "m-1-001")
    assert got.usage == Usage(
        input_tokens=16, cached_tokens=4, output_tokens=9, reasoning_tokens=7, source="provider"
    )
    assert ask(Gemini, reply(said(TEXT)))[0].usage == Usage()


def test_a_request_has_the_fields_that_the_api_documents_and_no_others():
    schema, extra = {"type": "object"}, {"generationConfig": {"topK": 3}}
    how = {
        "parameters": Parameters(temperature=0.0, top_p=0.5, max_output_tokens=9, extra_body=extra),
        "options": ReplyOptions("required", seed=5, schema=schema, stop=("END",)),
    }
    messages = [Message(role="system", content="Be brief."), USER]
    _, sent = ask(Gemini, reply(said({"text": "{}"})), messages=messages, tools=[LOOKUP], **how)
    sampling = {"temperature": 0.0, "topP": 0.5, "seed": 5, "topK": 3}
    assert sent == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Which day?"}]}],
        "tools": [DECLARED],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": sampling
        | {
            "maxOutputTokens": 9,
            "stopSequences": ["END"],
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
        },
    }


@pytest.mark.parametrize(("model", "effort", "config"), CASES["thinking"])
def test_thinking_is_a_budget_or_a_level_by_the_models_generation(model, effort, config):
    assert (google._thinking_config(model, effort or None) or {}) == config


def test_parts_go_back_as_they_were_with_their_ids_or_without():
    sent = conversation(THOUGHT, SIGNED, SECOND)
    responses = [
        {"functionResponse": {"id": id_, "name": "lookup", "response": {"result": f"about {id_}"}}}
        for id_ in ("c1", "c2")
    ]
    assert sent["contents"] == [
        {"role": "user", "parts": [{"text": "Which day?"}]},
        {"role": "model", "parts": [THOUGHT, SIGNED, SECOND]},
        {"role": "user", "parts": responses},
    ]
    bare = {"functionCall": {"name": "lookup", "args": {}}}
    _, said_, heard = conversation(bare, bare)["contents"]
    assert said_["parts"] == [bare, bare]
    assert [[*each["functionResponse"]] for each in heard["parts"]] == [["name", "response"]] * 2


def test_an_id_that_comes_twice_is_changed_in_the_part_too():
    first, _ = ask(Gemini, reply(said(SIGNED)))
    messages = [USER, first.message, result("c1", "nothing")]
    again, _ = ask(Gemini, reply(said(SIGNED)), messages=messages, tools=[LOOKUP])
    assert [call.id for call in again.message.tool_calls] == ["c1_2"]
    assert again.message.provider_items == ({**SIGNED, "functionCall": CALL | {"id": "c1_2"}},)


def test_another_models_call_goes_out_with_the_mark_that_the_documents_name(monkeypatch):
    call = ToolCall(id="a", name="lookup", arguments='{"word": "x"}')
    theirs = Message(role="assistant", content="Wait.", tool_calls=(call,))
    messages = [USER, theirs, result("a", "nothing")]
    own = {"functionCall": CALL | {"id": "a"}}
    mark = {"thoughtSignature": "skip_thought_signature_validator"}
    for expected in (own, own | mark):
        _, sent = ask(Gemini, reply(said(TEXT)), messages=messages, tools=[LOOKUP])
        assert sent["contents"][1]["parts"] == [{"text": "Wait."}, expected]
        monkeypatch.setattr(google, "SIGNING_MODELS", google.re.compile("m-1"))


def piece(*parts):
    return {"candidates": [{"content": {"parts": list(parts)}}]}


def test_a_streams_texts_are_joined_but_never_across_a_signature():
    end = {"text": "", "thoughtSignature": "ZW5k"}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    stream = events(
        piece(THOUGHT),
        piece({"text": " More.", "thought": True}),
        piece({"text": "Fri"}),
        piece({"text": "day."}, SIGNED, SECOND),
        said(end, usageMetadata=usage, modelVersion="m-1"),
    )
    got, sent = ask(Gemini, stream, stream=True)
    assert "stream" not in sent
    thought = {"text": "I look it up. More.", "thought": True}
    assert got.message.provider_items == (thought, TEXT, SIGNED, SECOND, end)
    assert got.message.content == "Friday."
    assert (got.finish_reason, got.usage.output_tokens, got.model) == ("tool_calls", 2, "m-1")


def test_a_stream_that_ends_early_reports_an_error_or_loops():
    begun = piece({"text": "Fri"}, SIGNED)
    error = failure(Gemini, events(begun), stream=True)
    assert (error.retryable, error.partial) == (True, 'Frilookup{"word": "x"}')
    status = {"error": {"code": 503, "message": "Overloaded.", "status": "UNAVAILABLE"}}
    assert failure(Gemini, events(begun, status), stream=True).kind == "server"
    pieces = [piece({"text": "and so it goes on "})] * 400
    got, _ = ask(Gemini, events(*pieces, said(TEXT)), stream=True)
    assert got.finish_reason == "repetition"


@pytest.mark.parametrize(("reason", "ours"), CASES["reasons"])
def test_reasons_to_stop_are_ours(reason, ours):
    got, _ = ask(Gemini, reply(said(TEXT, reason=reason)))
    assert got.finish_reason == (ours or None)
    kept = got.message.provider_fields.message
    assert kept.get("finishReason") == (None if ours == "length" else reason)


def test_a_prompt_that_is_blocked_is_refused_with_its_reason():
    got, _ = ask(Gemini, reply({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))
    assert (got.finish_reason, got.message.content) == ("refused", "")
    assert got.message.provider_fields.message == {
        "finishReason": "PROMPT_BLOCKED", "finishMessage": "PROHIBITED_CONTENT"
    }  # fmt: skip


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_a_call_that_the_server_could_not_read_may_be_made_again_and_its_tokens_count(reason):
    usage = {"promptTokenCount": 30, "candidatesTokenCount": 5}
    body = said(reason=reason, usageMetadata=usage)
    error = failure(Gemini, reply(body))
    assert error.retryable
    assert reason in str(error)
    assert (error.usage.input_tokens, error.usage.output_tokens) == (30, 5)
    assert "sent no candidate" in str(failure(Gemini, reply({"usageMetadata": usage})))


def status(code, name, message, details=()):
    error = {"code": code, "message": message, "status": name, "details": list(details)}
    return reply({"error": error}, status=f"{code} {name}")


@pytest.mark.parametrize("case", CASES["errors"])
def test_errors_say_what_they_are_and_when_to_ask_again(case):
    *answer, kind, retryable, wait_s = case
    error = failure(Gemini, status(*answer))
    assert (error.kind, error.retryable, error.retry_after_s) == (kind, retryable, wait_s or None)


def test_a_conversation_that_is_too_long_has_its_figures():
    text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    error = failure(Gemini, status(400, "INVALID_ARGUMENT", text))
    assert error.kind == "context_overflow"
    assert (error.request_tokens, error.context_tokens) == (1_200_000, 1_048_576)


@pytest.mark.parametrize(("text", "advice"), CASES["advice"])
def test_a_refused_field_is_named_by_its_option(text, advice):
    answer = status(400, "INVALID_ARGUMENT", text)
    parameters = Parameters(reasoning_effort="low")
    options = ReplyOptions(schema={"type": "object"})
    with pytest.raises(ModelError, match=advice):
        ask(Gemini, answer, tools=[LOOKUP], parameters=parameters, options=options)


def test_hosted_tools_are_googles_and_what_the_api_has_no_switch_for_is_said():
    hosted = ToolSpec(name="web_search", description="", parameters={}, hosted="web_search")
    code = ToolSpec(name="python", description="", parameters={}, hosted="code_interpreter")
    ran = {"executableCode": {"language": "PYTHON", "code": "1"}}
    chunk = {"web": {"uri": "https://vertexaisearch.cloud.google.com/r/1", "title": "example.org"}}
    body = said(ran, TEXT)
    body["candidates"][0]["groundingMetadata"] = {
        "webSearchQueries": ["a", "b"], "groundingChunks": [chunk],
        "searchEntryPoint": {"renderedContent": "<div>"},
    }  # fmt: skip
    got, sent = ask(Gemini, reply(body), tools=[hosted, code])
    assert (sent["tools"], "toolConfig" in sent) == (
        [{"googleSearch": {}}, {"codeExecution": {}}],
        0,
    )
    assert got.usage.hosted_calls == {"search": 2, "code_interpreter": 1}
    assert "vertexaisearch" not in got.model_dump_json()
    _, sent = ask(Gemini, reply(said(TEXT)), tools=[hosted, LOOKUP])
    assert sent["tools"] == [DECLARED, {"googleSearch": {}}]
    assert sent["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert google.API.headers(KEY) == {"x-goog-api-key": KEY}
