"""Requests, answers and policies, as neither API writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from agent_env.sdk.records import Message, ToolCall, ToolSpec

Json = dict[str, Any]
Object = Mapping[str, Any]
"""An object of foreign JSON."""
HostedKind = Literal["search", "open_page", "find_in_page", "code"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The usage that the server reports."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None
    written: int | None = None
    """To the prompt cache."""
    hour_written: int = 0
    """Those of them that are kept for an hour."""


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
    def tool(self) -> str:
        """The tool's type in a request."""
        return "code_interpreter" if self.kind == "code" else "web_search"


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """The answer of a policy."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    usage: Tokens | Literal["counted", "absent"] = "counted"
    """`counted`: the server reports its own rough count; `absent`: none."""
    finish: Literal["length", "refused", "paused"] | None = None
    """Why the reply ended, where not for the usual reason."""
    hosted: tuple[HostedCall, ...] = ()
    """What the provider's own tools did before the text was written."""
    cited: tuple[str, ...] = ()
    """Addresses that the text cites."""


class ReasoningFormat(Protocol):
    """One provider's way to write reasoning."""

    def write(self, message: Json, reasoning: str, nonce: str) -> Json:
        """The assistant message with its reasoning."""

    def fault(self, message: Object) -> Literal["missing", "altered"] | None:
        """What is wrong with the reasoning of a message that the client sent back."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request of either API."""

    model: str
    turns: tuple[Message, ...]
    offers: tuple[ToolSpec, ...]
    stream: bool
    wants_usage: bool
    """Whether a stream ends with the usage."""
    choice: str = "auto"
    """`auto`, `none`, `required`, or the name of the tool that must be called."""
    parallel: bool = True
    """Whether a reply may hold several calls."""
    max_tokens: int | None = None
    copies: int = 1
    """Number of choices in the reply."""
    tool_texts: tuple[str, ...] = ()
    """The tools as the prompt holds them."""
    thinks: bool = False
    """Whether each reply has reasoning, even where the policy gives none."""
    reasoning_format: ReasoningFormat | None = None
    """How reasoning is written over Chat Completions; None for text in `reasoning`."""
    schema: Json | None = None
    """The JSON schema that holds the reply's text; None for a free one."""
    nonce: str = ""
    """Identifies the reply to this request."""
    hosted: frozenset[str] = frozenset()
    """Types of the provider's own tools in the request."""
    include: frozenset[str] = frozenset()
    """Optional parts of the reply that the request asks for."""
    stop: tuple[str, ...] = ()
    """Texts at which the reply ends."""
    empty_reasoning: Json = field(default_factory=dict)
    """What a reply without reasoning has in its place; with some, every second one has none."""
    short_ids: bool = False
    caches: bool = False
    """Whether the usage tells what a prompt cache held and took in."""
    prompt: Tokens | None = None
    """What the prompt takes, where the API counts what its cache holds."""


def tool_call(name: str, arguments: str, id_: str = "") -> ToolCall:
    """A call that a policy wants; with an empty id the server chooses one."""
    return ToolCall(id=id_, name=name, arguments=arguments)


class Policy(Protocol):
    """Plays the model."""

    async def __call__(
        self, turns: Sequence[Message], offers: Sequence[ToolSpec]
    ) -> ScriptedAnswer:
        """The next answer; may raise Refusal."""


class Refusal(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        code: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.code = code
        """The provider's name of the error; None for the status."""
        self.extra = dict(extra or {})
        """More fields of the error."""


def usage_of(request: ModelRequest, answer: ScriptedAnswer) -> Tokens | None:
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
        return Tokens(input=tokens, output=output * request.copies)
    replies = [n for n, turn in enumerate(request.turns) if turn.role == "assistant"]
    known = request.turns[: replies[-1]] if replies else ()
    cached = count_tokens([*texts_of(known), *request.tool_texts]) if known else 0
    return Tokens(tokens, output * request.copies, cached, written=tokens - cached)


def input_tokens(request: ModelRequest) -> int:
    """The conversation and the tools of the prompt, by our rough count."""
    return count_tokens([*texts_of(request.turns), *request.tool_texts])


def output_texts(answer: ScriptedAnswer) -> list[str]:
    """Everything that counts as output."""
    return [answer.text, answer.reasoning or "", *_call_texts(answer.calls)]


def texts_of(turns: Sequence[Message]) -> list[str]:
    """The texts and calls of a conversation."""
    return [part for turn in turns for part in (turn.content, *_call_texts(turn.tool_calls))]


def count_tokens(texts: Sequence[str]) -> int:
    """The number of tokens, at four bytes each."""
    return sum(-(-len(text.encode(errors="replace")) // 4) for text in texts)


def slices(text: str, length: int = 16, most: int = 500) -> list[str]:
    """The pieces in which a text is streamed, at most `most`."""
    length = max(length, -(-len(text) // most))
    return [text[start : start + length] for start in range(0, len(text), length)]


def _call_texts(calls: Sequence[ToolCall]) -> list[str]:
    return [call.name + call.arguments for call in calls]
