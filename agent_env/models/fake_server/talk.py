"""What is said over either API, in words that belong to neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Object = Mapping[str, Any]
"""An object of foreign JSON."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model wants."""

    name: str
    arguments: str
    """JSON, as written."""
    id: str = ""
    """Empty lets the server choose one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation so far."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    """Which call a tool's turn answers."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the server says it has counted."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class HostedCall:
    """What the provider's own tool did within an answer."""

    kind: Literal["search", "open_page", "find_in_page", "code"]
    about: str
    """The query, the address, or the code."""
    pattern: str = ""
    """What was looked for in the page."""
    gave: tuple[str, ...] = ()
    """Addresses of the sources of a search, or what the code printed."""

    @property
    def tool(self) -> str:
        """The tool's type in a request."""
        return "code_interpreter" if self.kind == "code" else "web_search"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the policy answers."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    usage: Tokens | Literal["counted", "absent"] = "counted"
    """`counted` lets the server report its own rough count, `absent` nothing."""
    finish: Literal["length", "refused"] | None = None
    """Why the reply ended, where it is not the usual reason."""
    hosted: tuple[HostedCall, ...] = ()
    """What the provider's own tools did before the text was written."""
    cited: tuple[str, ...] = ()
    """Addresses that the text cites."""


class Shape(Protocol):
    """One provider's way to write reasoning."""

    def write(self, message: dict[str, Any], reasoning: str, nonce: str) -> dict[str, Any]:
        """The assistant message with its reasoning."""

    def fault(self, message: Object) -> Literal["missing", "altered"] | None:
        """What is wrong with a message that came back."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, once understood."""

    model: str
    turns: tuple[Turn, ...]
    offers: tuple[Offer, ...]
    stream: bool
    wants_usage: bool
    """Whether a stream shall end with the usage."""
    choice: str = "auto"
    """`auto`, `none`, `required`, or the name of the tool that must be called."""
    parallel: bool = True
    """Whether a reply may hold several calls."""
    max_tokens: int | None = None
    """The limit of the reply."""
    copies: int = 1
    """How many choices the reply shall hold."""
    tool_texts: tuple[str, ...] = ()
    """The tools as they reach the prompt."""
    thinks: bool = False
    """Whether each reply has reasoning, given by the policy or not."""
    shape: Shape | None = None
    """How reasoning is written over Chat Completions; None for text in `reasoning`."""
    nonce: str = ""
    """What marks the reply to this request."""
    hosted: frozenset[str] = frozenset()
    """Types of the provider's own tools that are offered."""
    include: frozenset[str] = frozenset()
    """What shall stand in the reply beside the usual."""


def choice_in(body: Object) -> str:
    """The tool choice; raises Refusal where it is no such thing, or is made where no tool is
    offered, or names one that is not."""
    choice, tools = body.get("tool_choice"), body.get("tools") or ()
    if choice is None:
        return "auto"
    if isinstance(choice, Mapping):
        return _named(choice, tools)
    if choice not in ("auto", "required", "none"):
        raise Refusal(400, f"tool_choice {choice!r} is unknown", "tool_choice")
    if not tools:
        raise Refusal(400, "tool_choice is only allowed when tools are specified", "tool_choice")
    return str(choice)


def _named(choice: Object, tools: Sequence[Object]) -> str:
    if choice.get("type", "function") != "function":
        return "auto"  # a hosted tool, or a choice among several
    name = (choice.get("function") or choice).get("name")
    if name not in [(tool.get("function") or tool).get("name") for tool in tools]:
        text = f"Tool choice '{name}' not found in 'tools' parameter."
        raise Refusal(400, text, "tool_choice")
    return str(name)


class Policy(Protocol):
    """Who plays the model."""

    async def __call__(self, turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        """The next thing said; may raise Refusal."""


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
        """The provider's name for the error; the status stands for it where there is none."""
        self.extra = dict(extra or {})
        """More fields of the error."""


def tokens(asked: Asked, answer: Answer) -> Tokens | None:
    """The usage to report: the policy's, or a count of four bytes a token."""
    if answer.usage == "absent":
        return None
    if isinstance(answer.usage, Tokens):
        return answer.usage
    output = count_tokens(output_texts(answer))
    if answer.finish == "length" and asked.max_tokens is not None:
        output = max(output, asked.max_tokens)
    return Tokens(input=input_tokens(asked), output=output * asked.copies)


def input_tokens(asked: Asked) -> int:
    """The conversation and the tools that reach the prompt, by our rough count."""
    return count_tokens([*heard_texts(asked.turns), *asked.tool_texts])


def output_texts(answer: Answer) -> list[str]:
    """Everything that counts as output."""
    return [answer.text, answer.reasoning or "", *_wanted(answer.calls)]


def heard_texts(turns: Sequence[Turn]) -> list[str]:
    """The texts and calls of a conversation."""
    return [part for turn in turns for part in (turn.text, *_wanted(turn.calls))]


def count_tokens(texts: Sequence[str]) -> int:
    """Four bytes of a text are a token."""
    return sum(-(-len(text.encode(errors="replace")) // 4) for text in texts)


def slices(text: str, length: int = 16, most: int = 500) -> list[str]:
    """The text in the pieces in which it is streamed; long texts come in longer ones."""
    length = max(length, -(-len(text) // most))
    return [text[start : start + length] for start in range(0, len(text), length)]


def _wanted(calls: Sequence[Call]) -> list[str]:
    return [call.name + call.arguments for call in calls]
