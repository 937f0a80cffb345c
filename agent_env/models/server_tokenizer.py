"""Counts by the tokenizer of the model's own server: vLLM and llama.cpp let others ask for it.

Both serve POST /tokenize, beside /v1 and not below it. vLLM takes `prompt`, or a conversation as
`messages` with its `tools`, and gives a `count`; llama.cpp takes `content` and gives the `tokens`,
and words a conversation by POST /apply-template.

Guarantees: a conversation is counted as the server words it, frames and tool schemas included; a
count that the server fails to give in the middle of a run is an estimate, marked as one, and said.
Not covered: of a reply only its texts are counted, not the marks around calls and reasoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent_env.errors import ConfigError, ModelError
from agent_env.models.client import ApiModel
from agent_env.models.endpoint import Endpoint
from agent_env.models.json_fields import Json, text
from agent_env.models.tokenizers import Estimate, texts_of
from agent_env.permits import Permit
from agent_env.protocols import Count, ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec, Usage

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
        """Closes the connections."""
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
        """Of a piece of text; of a `whole` prompt with the special tokens that stand in it."""
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
