"""What a server wants of requests is learned from its refusals, once, and kept from then on."""

import pytest

from agent_env.errors import ModelError
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, ToolSpec
from tests.fake_server import FakeServer, ScriptedAnswer, tool_call
from tests.fake_server.modes import MODES
from tests.loops import in_loop

from .raw_server import ChatCompletions, RawServer, reply

SEARCH = ToolSpec(
    name="web_search",
    description="Searches.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}},
)
ANSWERED = reply({"choices": [{"message": {"content": "Friday"}, "finish_reason": "stop"}]})
QUESTION = Message(role="user", content="Which day?")
NOTICE = Message(role="user", content="You have 2 replies left.")
CALLED = Message(
    role="assistant", tool_calls=({"id": "a", "name": "web_search", "arguments": "{}"},)
)
RESULT = Message(role="tool", tool_call_id="a", content="a page")
STOP = ReplyOptions(stop=("```tool_result",))
LIMITED = Parameters(max_output_tokens=400)
REFUSALS = {
    "openai": 2,  # stop, then max_tokens
    "mistral": 1,  # the order; and in streams stream_options
    "no-echo": 1,
    "no-echo-422": 1,
}
"""Of one conversation, by mode; none in the others."""


async def agent(turns, offers):
    spoken = sum(turn.role == "assistant" for turn in turns)
    call = tool_call("web_search", f'{{"query": "{spoken}"}}')
    return ScriptedAnswer("Let me look.", calls=(call,)) if spoken < 3 else ScriptedAnswer("Friday")


async def replied(model, messages, refusals):
    """As a run's caller does it: an error that may pass is asked again."""
    while True:
        try:
            return await model.generate(messages, [SEARCH], STOP)
        except ModelError as error:
            refusals.append(str(error))
            if not error.retryable or len(refusals) > 9:
                raise


@in_loop
async def conversation(mode, stream):
    """A conversation of four replies with a notice behind each tool's output: its messages, the
    refusals, the notes."""
    messages, refusals, notes = [QUESTION], [], []
    async with FakeServer(agent, mode=mode) as server:
        model = ChatCompletions(
            "compatible/fake", "fake", server.url, None, LIMITED, 5.0, stream, note=notes.append
        )
        for _ in range(4):
            messages.append((await replied(model, messages, refusals)).message)
            for call in messages[-1].tool_calls:
                messages += [RESULT.model_copy(update={"tool_call_id": call.id}), NOTICE]
        await model.close()
    return messages, refusals, notes


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_conversation_with_notices_comes_to_its_end_in_every_mode(mode, stream):
    messages, refusals, notes = conversation(mode, stream)
    assert messages[-1].content.endswith("Friday")
    expected = REFUSALS.get(mode, 0) + (mode == "mistral" and stream)
    assert (len(refusals), len(notes)) == (expected, expected)


@in_loop
async def taught(text, messages=(QUESTION,), status="400 Bad Request", **how):
    """The request that was refused with this error, the next one, and the notes."""
    notes = []
    refused = reply({"error": {"message": text}}, status=status)
    async with RawServer(refused, ANSWERED) as server:
        model = ChatCompletions(
            "n", "m-1", server.url, None, LIMITED, 5.0, note=notes.append, **how
        )
        with pytest.raises(ModelError) as caught:
            await model.generate(messages, [SEARCH], STOP)
        assert caught.value.retryable is bool(notes)
        await model.generate(messages, [SEARCH], STOP)
        await model.close()
    before, after = server.bodies
    return before, after, notes


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("400 Bad Request", "Unexpected role 'user' after role 'tool'"),
        (
            "500 Internal Server Error",
            "Jinja Exception: After the optional system message, conversation roles must alternate"
            " user and assistant roles except for tool calls and results.",
        ),
    ],
)
def test_messages_behind_a_tools_output_become_its_end(status, text):
    before, after, _ = taught(text, [QUESTION, CALLED, RESULT, NOTICE, QUESTION], status)
    assert [m["role"] for m in before["messages"]][2:] == ["tool", "user", "user"]
    whole = "a page\n\nYou have 2 replies left.\n\nWhich day?"
    assert after["messages"][2:] == [{"role": "tool", "tool_call_id": "a", "content": whole}]


def test_stop_sequences_and_limits_go_as_the_server_takes_them():
    before, after, notes = taught("Unsupported parameter: 'stop' is not supported with this model.")
    assert (before["stop"], "stop" in after) == (["```tool_result"], False)
    assert notes[0].startswith("stop is not sent any more: ")
    text = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    before, after, _ = taught(text)
    assert before["max_tokens"] == after["max_completion_tokens"] == 400
    assert "max_tokens" not in after
    _, after, notes = taught("max_tokens must be less than 100")
    assert (after["max_tokens"], notes) == (400, [])


def test_a_reasoning_field_that_the_server_misses_is_sent_empty():
    text = "The `reasoning_content` in the thinking mode must be passed back to the API."
    history = [QUESTION, CALLED, RESULT]
    _, after, notes = taught(text, history)
    assert after["messages"][1]["reasoning_content"] == ""
    assert notes[0].startswith("reasoning_content is sent empty where the model gave none: ")
    _, after, notes = taught(text, history, echo="never")
    assert ("reasoning_content" in after["messages"][1], notes) == (False, [])
