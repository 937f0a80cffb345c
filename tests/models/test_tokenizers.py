"""Our own counts: only where the server says nothing, each text once, always marked."""

import asyncio
import hashlib
from importlib.util import find_spec

import pytest

from agent_env.errors import ConfigError
from agent_env.models import tokenizers
from agent_env.models.tokenizers import CountedModel, Estimate, Tiktoken
from agent_env.records.schema import Message, Reply, ToolCall, Usage
from agent_env.testing import ScriptedModel, answer, calls

ranked = pytest.mark.skipif(find_spec("bpe_openai") is None, reason="needs agent-env[tokenizers]")


@pytest.fixture(scope="module")
def o200k() -> Tiktoken:
    return Tiktoken("o200k_base")


@pytest.fixture(scope="module")
def cl100k() -> Tiktoken:
    return Tiktoken("cl100k_base")


def test_the_estimate_is_a_quarter_of_the_bytes_rounded_up():
    assert Estimate().name == "estimate"
    assert [Estimate().count(text) for text in ("", "a", "abcd", "abcde", "漢字")] == [
        0,
        1,
        1,
        2,
        2,
    ]


def test_the_estimate_takes_lone_surrogates():
    assert Estimate().count("\ud800") == 1


@ranked
def test_counts_are_those_that_openai_publishes(o200k, cl100k):
    """The examples of OpenAI's notes on counting tokens."""
    texts = ["antidisestablishmentarianism", "2 + 2 = 4", "お誕生日おめでとう"]
    assert [o200k.count(text) for text in texts] == [6, 7, 8]
    assert [cl100k.count(text) for text in texts] == [6, 7, 9]
    assert (o200k.name, cl100k.name) == ("o200k_base", "cl100k_base")


@ranked
def test_what_looks_like_a_special_token_is_counted_as_text(o200k):
    assert o200k.count("<|endoftext|>") == 7


@ranked
@pytest.mark.parametrize("text", ["", "\ud800", "\x00"])
def test_odd_texts_are_counted(o200k, text):
    assert o200k.count(text) <= 1


@ranked
@pytest.mark.parametrize("letter", [" ", "a", "漢", "\n"])
def test_a_million_of_one_letter_is_counted(o200k, letter):
    """tiktoken itself panics on a million blanks, past any `except Exception`."""
    assert o200k.count(letter * 1_000_000 + "x") > 7_000


@ranked
def test_nothing_is_loaded_before_the_first_count():
    assert Tiktoken("o200k_base")._encoding is None


def test_an_unknown_encoding_lists_the_known_ones():
    with pytest.raises(
        ConfigError, match="no tokenizer 'x'; known: o200k_base, cl100k_base, estimate, server"
    ):
        Tiktoken("x")


def test_without_ranks_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(tokenizers, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'agent-env\[tokenizers\]'"):
        Tiktoken("o200k_base", tmp_path)


def test_ranks_in_a_directory_must_be_the_published_ones(tmp_path):
    address = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    file = tmp_path / hashlib.sha1(address.encode()).hexdigest()
    file.write_bytes(b"IQ== 0\n")
    with pytest.raises(ConfigError, match="is not the rank file it should be"):
        Tiktoken("o200k_base", tmp_path).count("x")


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
