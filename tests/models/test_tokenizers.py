import hashlib
from importlib.util import find_spec

import pytest

from agent_env.errors import ConfigError
from agent_env.models import tokenizers
from agent_env.models.tokenizers import Estimate, Tiktoken

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
