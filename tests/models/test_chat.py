"""What a server says beside the documented fields comes back to it, whole, and to nobody else."""

import json

import pytest

from agent_env.errors import ModelError
from agent_env.models.chat import unique_id
from agent_env.models.settings import Parameters
from agent_env.records.schema import Message

from .raw_server import LOOKUP, USER, ChatCompletions, RawServer, ask, events, failure, reply

SIGNATURE = {"google": {"thought_signature": "AY89a18"}}
CALL = {"id": "a", "type": "function", "function": {"name": "lookup", "arguments": '{"word": "x"}'}}
ENTRY = Message(role="tool", content="an entry", tool_call_id="a")
THOUGHTS = "".join(f"First the year {n}, then the month. " for n in range(20))


def thought(text):
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


THOUGHT = thought(THOUGHTS)
DETAILS = [
    {"type": "reasoning.text", "format": "x-v1", "index": 0, "text": THOUGHTS, "signature": "s1"},
    {"type": "reasoning.encrypted", "format": "x-v1", "index": 0, "data": "gAAA"},
]
BLOCKS = [
    {"type": "thinking", "thinking": THOUGHTS, "signature": "s1"},
    {"type": "redacted_thinking", "data": "gAAA"},
    {"type": "redacted_thinking", "data": "gBBB"},
    {"type": "thinking", "thinking": "Short.", "signature": "s2"},
]
KEPT = {
    "deepseek, kimi, glm": {"reasoning_content": THOUGHTS},
    "an empty thought": {"reasoning_content": ""},
    "vllm": {"reasoning": THOUGHTS},
    "vllm, both names": {"reasoning": THOUGHTS, "reasoning_content": THOUGHTS},
    "openrouter": {"reasoning": THOUGHTS, "reasoning_details": DETAILS},
    "minimax": {"reasoning_details": DETAILS[:1]},
    "gemini": {"tool_calls": [CALL | {"extra_content": SIGNATURE}]},
    "a function's": {"tool_calls": [CALL | {"function": CALL["function"] | {"sign": "ä\u2028"}}]},
    "another type": {"tool_calls": [CALL | {"type": "builtin_function"}]},
    "mistral": {"content": [THOUGHT | {"closed": None}, {"type": "text", "text": "Friday"}]},
    "deepseek without a thought": {"reasoning_content": None},
    "litellm": {
        "reasoning_content": THOUGHTS + "Short.",
        "thinking_blocks": BLOCKS,
        "provider_specific_fields": {"citations": None, "thinking_blocks": BLOCKS},
    },
    "names of ours": {"provider_items": [1], "reasoning": {"content": [None]}, "tool_call_id": "z"},
    "numbers": {"seen": True, "share": 0.5, "big": 2**70, "nested": {"a/b": [[], {}, {"c": None}]}},
}


WHOLE = {"role": "assistant", "content": "", "tool_calls": [CALL]}


def completion(message):
    choice = {"message": WHOLE | message, "finish_reason": "tool_calls"}
    return reply({"model": "m-1", "choices": [choice]})


def chunk(delta, finish_reason=None):
    return {"model": "m-1", "choices": [{"delta": delta, "finish_reason": finish_reason}]}


HELLO = completion({"content": "Hello", "tool_calls": []})


def sent_after(first, **how):
    _, body = ask(ChatCompletions, HELLO, messages=[USER, first, ENTRY], tools=[LOOKUP], **how)
    return body["messages"][1]


@pytest.mark.parametrize("message", KEPT.values(), ids=KEPT)
def test_the_message_goes_back_as_the_server_sent_it(message):
    got, _ = ask(ChatCompletions, completion(message))
    stored = Message.model_validate_json(got.message.model_dump_json(exclude_unset=True))
    assert stored == got.message
    assert sent_after(stored) == WHOLE | message


@pytest.mark.parametrize(
    "name", ["deepseek, kimi, glm", "vllm, both names", "openrouter", "minimax", "mistral"]
)
def test_reasoning_is_stored_once(name):
    got, _ = ask(ChatCompletions, completion(KEPT[name]))
    assert got.message.reasoning == THOUGHTS
    assert got.message.model_dump_json().count("First the year") == 20


def test_a_field_that_another_one_holds_again_is_stored_once():
    got, _ = ask(ChatCompletions, completion(KEPT["litellm"]))
    stored = got.message.model_dump_json()
    assert [stored.count(words) for words in ("First the year", "gAAA", '"s1"')] == [20, 1, 1]
    parts = [{"index": n, "text": f"{n}. {THOUGHTS}"} for n in range(3)]
    got, _ = ask(ChatCompletions, completion({"reasoning_details": parts}))
    assert got.message.model_dump_json().count("First the year") == 60
    assert sent_after(got.message)["reasoning_details"] == parts


def test_nothing_is_kept_where_nothing_is_said_and_a_moved_server_gets_its_own():
    empty = {"refusal": None, "annotations": [], "audio": None, "function_call": None}
    got, _ = ask(ChatCompletions, completion({"content": "Hello"} | empty))
    assert got.message.provider_fields is None
    assert sent_after(got.message) == WHOLE | {"content": "Hello"}
    got, _ = ask(ChatCompletions, completion(KEPT["vllm"]))
    before = got.message.provider_fields.origin.partition(" at ")[2]
    moved = sent_after(got.message, is_same_server=False, former_urls=[before])
    assert moved["reasoning"] == THOUGHTS


@pytest.mark.parametrize("how", [{"is_same_server": False}, {"echo": "never"}])
def test_nothing_goes_to_another_server_or_where_nothing_shall_go_back(how):
    message = KEPT["openrouter"] | KEPT["gemini"] | {"content": KEPT["mistral"]["content"]}
    got, _ = ask(ChatCompletions, completion(message))
    assert sent_after(got.message, **how) == WHOLE | {"content": "Friday"}


@pytest.mark.parametrize("name", ["gemini", "openrouter", "a function's", "another type"])
def test_a_stream_keeps_what_a_whole_body_keeps(name):
    whole = WHOLE | KEPT[name]
    got, _ = ask(ChatCompletions, completion(KEPT[name]))
    streamed, _ = ask(ChatCompletions, events(*_pieces(whole)), stream=True)
    assert sent_after(streamed.message) == sent_after(got.message) == whole
    assert streamed.message.reasoning == got.message.reasoning


def thinking(text, **more):
    return {"type": "thinking", "thinking": text} | more


IN_PIECES = [
    *map(thinking, (THOUGHTS[:40], THOUGHTS[40:])), thinking("", signature="s1"), *BLOCKS[1:3],
    *map(thinking, ("Sho", "rt.")), thinking("", signature="s2"),
]  # fmt: skip
BARE = [{"content": "", "reasoning_content": None}] * 2
HALVES = [{"content": [thought(half)]} for half in (THOUGHTS[:40], THOUGHTS[40:])]


def of_litellm(block):
    """A piece with a block, which litellm writes three times."""
    again = {"citations": None, "thinking_blocks": [block]}
    fields = {"thinking_blocks": [block], "provider_specific_fields": again}
    return fields | {"reasoning_content": block.get("thinking", "")}


@pytest.mark.parametrize(
    ("kind", "deltas"),
    [
        ("litellm", [*map(of_litellm, IN_PIECES)]),
        ("litellm", [*map(of_litellm, BLOCKS)]),
        ("mistral", [*HALVES, {"content": "Fri"}, {"content": "day"}]),
        ("deepseek without a thought", BARE),
    ],
    ids=["litellm, in pieces", "litellm, block by block", "mistral", "deepseek"],
)
def test_pieces_without_an_index_are_joined_by_their_type(kind, deltas):
    whole = WHOLE | KEPT[kind]
    if kind == "mistral":
        whole["content"] = [THOUGHT, KEPT["mistral"]["content"][1]]
    calls = {"tool_calls": [{"index": 0} | CALL]}
    answer = events(*map(chunk, [*deltas, calls]), chunk({}, "tool_calls"))
    streamed, _ = ask(ChatCompletions, answer, stream=True)
    assert sent_after(streamed.message) == whole
    assert streamed.message.model_dump_json().count("gAAA") == (kind == "litellm")


def _pieces(message):
    """The message as a provider streams it: texts in two halves, the labels in each."""
    deltas = [{"role": "assistant", "content": ""}]
    if thought := message.get("reasoning"):
        deltas += [{"reasoning": thought[:99]}, {"reasoning": thought[99:]}]
    for detail in message.get("reasoning_details", ()):
        name = "text" if "text" in detail else "data"
        first = detail | {name: detail[name][:2]} | dict.fromkeys(detail.keys() & {"signature"})
        deltas.append({"reasoning_details": [first]})
        deltas.append({"reasoning_details": [detail | {name: detail[name][2:]}]})
    for index, call in enumerate(message["tool_calls"]):
        half = call | {"function": call["function"] | {"arguments": '{"word'}}
        deltas.append({"tool_calls": [{"index": index} | half]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": '": "x"}'}}]})
    return [*map(chunk, deltas), chunk({}, "tool_calls")]


@pytest.mark.parametrize(
    ("field", "why", "stream"),
    [
        ("x" * 5_000_000, "5000002 characters", True),
        (["y" * 10] * 500_000, "6500000 characters", False),
        (json.loads("[" * 60 + "]" * 60), "nested more than 48 levels deep", False),
        (json.loads("[" * 60 + "]" * 60), "nested more than 48 levels deep", True),
    ],
    ids=["long", "wide", "deep", "deep stream"],
)
def test_a_field_beyond_bounds_is_left_out_and_that_is_said_once(field, why, stream):
    message = {"content": "Friday", "blob": field, "reasoning_content": "Hm."}
    notes = []
    answer = completion(message | {"tool_calls": [CALL | {"blob": field}]})
    if stream:
        answer = events(chunk(message), chunk({"tool_calls": [CALL | {"blob": field}]}, "stop"))
    got, _ = ask(ChatCompletions, answer, stream=stream, note=notes.append, timeout_s=20.0)
    assert got.message.content == "Friday"
    assert got.message.provider_fields.left_out == {"blob": why, "tool_calls.blob": why}
    assert got.message.provider_fields.message == {"reasoning_content": ""}
    assert notes == [
        f"the server's field blob is not kept and not sent back: {why}",
        f"the server's field tool_calls.blob is not kept and not sent back: {why}",
    ]


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_a_body_that_is_nested_beyond_reading_loses_its_depth_and_is_read(depth):
    deep = '{"role": "assistant", "content": "Friday", "blob": %s}' % ("[" * depth + "]" * depth)
    got, _ = ask(ChatCompletions, reply(f'{{"choices": [{{"message": {deep}}}]}}'))
    assert got.message.content == "Friday"
    assert got.message.provider_fields.left_out == {"blob": "nested more than 48 levels deep"}


def test_a_stream_that_is_nested_beyond_reading_is_an_error_that_says_so():
    deep = 'data: {"choices": [{"delta": {"blob": %s}}]}\n\n' % ("[" * 99_999 + "]" * 99_999)
    error = failure(ChatCompletions, reply(deep, kind="text/event-stream"), stream=True)
    assert "nested" in str(error)


PLACE = ["body", "messages", 1, "assistant", "reasoning_content"]
EXTRA = {"type": "extra_forbidden", "loc": PLACE, "msg": "Extra inputs are not permitted"}
REFUSALS = {
    "groq": {"error": {"message": "property 'reasoning_content' is unsupported"}},
    "mistral": {"detail": [EXTRA]},
}


@pytest.mark.parametrize("said", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize(("echo", "retryable"), [("auto", True), ("always", False)])
async def test_a_field_that_the_server_refuses_is_left_out_from_then_on(said, echo, retryable):
    notes = []
    first = {"reasoning_content": "Hm.", "seen": True}
    refused = reply(said, status="422 Unprocessable Entity")
    async with RawServer(completion(first), refused, HELLO) as server:
        model = ChatCompletions(
            "n", "m-1", server.url, None, Parameters(), 5.0, echo=echo, note=notes.append
        )
        got = await model.generate([USER], [])
        messages = [USER, got.message, ENTRY]
        with pytest.raises(ModelError) as caught:
            await model.generate(messages, [])
        await model.generate(messages, [])
        await model.close()
    before, after = (body["messages"][1] for body in server.bodies[1:])
    assert caught.value.retryable is retryable
    assert before["reasoning_content"] == "Hm."
    assert ("reasoning_content" in after, after["seen"]) == (not retryable, True)
    assert [note.partition(": ")[0] for note in notes] == [
        "reasoning_content is not sent any more"
    ] * retryable


def test_an_error_that_asks_for_the_field_is_no_refusal():
    got, _ = ask(ChatCompletions, completion({"reasoning_content": "Hm."}))
    wanted = "The reasoning_content in the thinking mode must be passed back to the API."
    error = {"error": {"message": wanted, "type": "invalid_request_error"}}
    with pytest.raises(Exception, match="must be passed back") as caught:
        ask(ChatCompletions, reply(error, status="400 Bad Request"), messages=[USER, got.message])
    assert not caught.value.retryable


def test_many_calls_of_one_id_are_told_apart_at_once():
    """5,000 of them kept the run, or everybody whom a server served, for 21 s."""
    taken = set()
    for _ in range(20_000):
        taken.add(unique_id("a", taken, 0))
    assert len(taken) == 20_000
    assert {"a", "a_2", "a_49"} <= taken
