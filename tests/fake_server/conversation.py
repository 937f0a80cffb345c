"""What the codecs of the package do not know: reasoning, hosted tools, caches; and policies."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from agent_env.features.agents.apis import exchange
from agent_env.features.agents.apis.exchange import (
    Answer,
    Json,
    call_texts,
    count_tokens,
    input_tokens,
    texts_of,
)
from agent_env.sdk.records import Message, ToolSpec

HostedKind = Literal["search", "open_page", "find_in_page", "code"]


@dataclass(frozen=True, slots=True)
class Tokens(exchange.Tokens):
    """The usage that the server reports."""

    written: int | None = None
    """To the prompt cache."""


@dataclass(frozen=True, slots=True)
class HostedCall:
    """A call of the provider's own tool within an answer."""

    kind: HostedKind
    about: str
    """The query, the address, or the code."""
    pattern: str = ""
    """The text searched for in the page."""
    gave: tuple[str, ...] = ()
    """Addresses of the sources of a search, or what the code printed."""

    @property
    def tool(self):
        return "code_interpreter" if self.kind == "code" else "web_search"


@dataclass(frozen=True, slots=True)
class ScriptedAnswer(Answer):
    """The answer of a policy."""

    usage: Tokens | Literal["counted", "absent"] | None = "counted"
    """`counted`: the server reports its own rough count; `absent`: none."""
    reasoning: str | None = None
    hosted: tuple[HostedCall, ...] = ()
    """What the provider's own tools did before the text was written."""
    cited: tuple[str, ...] = ()
    """Addresses that the text cites."""


@dataclass(frozen=True, slots=True)
class ModelRequest(exchange.ModelRequest):
    """A request, with what modes make of it."""

    thinks: bool = False
    """Whether each reply has reasoning, even where the policy gives none."""
    reasoning_format: Any = None
    """How reasoning is written over Chat Completions; None for text in `reasoning`."""
    nonce: str = ""
    """Identifies the reply to this request."""
    hosted: frozenset[str] = frozenset()
    """Types of the provider's own tools in the request."""
    include: frozenset[str] = frozenset()
    """Optional parts of the reply that the request asks for."""
    empty_reasoning: Json = field(default_factory=dict)
    """What a reply without reasoning has in its place; with some, every second one has none."""
    short_ids: bool = False
    caches: bool = False
    """Whether the usage tells what a prompt cache held and took in."""
    prompt: Tokens | None = None
    """What the prompt takes, where the API counts what its cache holds."""


def with_more(request, **more):
    """The request as a codec of the package reads it, and more."""
    own = {each.name: getattr(request, each.name) for each in fields(request)}
    return ModelRequest(**own | more)


Policy = Callable[[Sequence[Message], Sequence[ToolSpec]], Awaitable[ScriptedAnswer]]
"""Plays the model: gives the next answer; may raise Refusal."""


class Refusal(exchange.Refusal):
    """A request that is answered with an HTTP error, with more fields."""

    def __init__(self, status, message, field=None, code=None, extra=None):
        super().__init__(status, message, field, code)
        self.extra = dict(extra or {})


def usage_of(request, answer):
    """The usage to report: the policy's, or a count of four bytes a token."""
    if answer.usage == "absent":
        return None
    if isinstance(answer.usage, Tokens):
        return answer.usage
    output = count_tokens(output_texts(answer))
    if answer.finish == "length" and request.max_tokens is not None:
        output = max(output, request.max_tokens)
    if request.prompt is not None:
        return replace(request.prompt, output=output)
    tokens = input_tokens(request)
    if not request.caches:
        return Tokens(input=tokens, output=output)
    replies = [n for n, turn in enumerate(request.turns) if turn.role == "assistant"]
    known = request.turns[: replies[-1]] if replies else ()
    cached = count_tokens([*texts_of(known), *request.tool_texts]) if known else 0
    return Tokens(tokens, output, cached, written=tokens - cached)


def output_texts(answer):
    """Everything that counts as output."""
    return [answer.text, answer.reasoning or "", *call_texts(answer.calls)]
