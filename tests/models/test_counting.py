"""Our own counts: only where the server says nothing, each text once, always marked."""

import asyncio

from agent_env.models.counting import CountedModel
from agent_env.models.tokenizers import Estimate, Tiktoken
from agent_env.records.schema import Message, Reply, ToolCall, Usage
from agent_env.testing import ScriptedModel, answer, calls

USER = Message(role="user", content="12345678")


class Counting(Estimate):
    """Remembers what it was asked to count."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return super().count(text)


def usages(tokenizer: Estimate | Tiktoken, *replies: Reply, in_text: bool = False) -> list[Usage]:
    model = CountedModel(ScriptedModel(replies), tokenizer, in_text)
    messages, found = [USER], []
    for _ in replies:
        reply = asyncio.run(model.generate(tuple(messages), ()))
        found.append(reply.usage)
        messages += [reply.message, Message(role="tool", tool_call_id="a", content="abcd")]
    return found


def test_nothing_is_counted_where_the_provider_reports_usage() -> None:
    told = Usage(input_tokens=5, output_tokens=6, source="provider")
    tokenizer = Counting()
    assert usages(tokenizer, answer("Hello", told)) == [told]
    assert tokenizer.texts == []


def test_what_nobody_told_is_counted_and_marked_and_each_text_once() -> None:
    tokenizer = Counting()
    first, second = usages(tokenizer, calls(("find", "{}")), answer("12345678"))
    assert first == Usage(input_tokens=2, output_tokens=2, source="estimate")
    assert second == Usage(input_tokens=2 + 2 + 1, output_tokens=2, source="estimate")
    assert tokenizer.texts == ["12345678", "find{}", "find{}", "abcd", "12345678"]


def test_half_a_usage_is_none() -> None:
    (found,) = usages(Estimate(), answer("1234", Usage(input_tokens=9, source="provider")))
    assert (found.input_tokens, found.output_tokens, found.source) == (2, 1, "estimate")


def test_exact_counts_are_marked_as_such() -> None:
    (found,) = usages(Tiktoken("cl100k_base"), answer("Hello world"))
    assert (found.output_tokens, found.source) == (2, "tokenizer")


def test_calls_that_stand_in_the_text_are_not_counted_twice() -> None:
    call = ToolCall(id="a", name="find", arguments="{}")
    said = Reply(message=Message(role="assistant", content="12345678", tool_calls=(call,)))
    (found,) = usages(Estimate(), said, in_text=True)
    assert found.output_tokens == 2
