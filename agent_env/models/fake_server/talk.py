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


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, once understood."""

    model: str
    turns: tuple[Turn, ...]
    offers: tuple[Offer, ...]
    stream: bool
    wants_usage: bool
    """Whether a stream shall end with the usage."""
    hosted: frozenset[str] = frozenset()
    """Types of the provider's own tools that are offered."""
    include: frozenset[str] = frozenset()
    """What shall stand in the reply beside the usual."""


def callable_tools(body: Object) -> Sequence[Object]:
    """The tools that the reply may call; raises Refusal where the tool choice is no such thing, or
    is made where no tool is offered."""
    choice, tools = body.get("tool_choice"), body.get("tools") or ()
    if choice is None or isinstance(choice, Mapping):
        return tools
    if choice not in ("auto", "required", "none"):
        raise Refusal(400, f"tool_choice {choice!r} is unknown", "tool_choice")
    if not tools:
        raise Refusal(400, "tool_choice is only allowed when tools are specified", "tool_choice")
    return () if choice == "none" else tools


class Policy(Protocol):
    """Who plays the model."""

    async def __call__(self, turns: Sequence[Turn], offers: Sequence[Offer]) -> Answer:
        """The next thing said; may raise Refusal."""


class Refusal(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.field = field


def tokens(asked: Asked, answer: Answer) -> Tokens | None:
    """The usage to report: the policy's, or a count of four bytes a token."""
    if answer.usage == "absent":
        return None
    if isinstance(answer.usage, Tokens):
        return answer.usage
    said = [answer.text, answer.reasoning or "", *_wanted(answer.calls)]
    return Tokens(input=count_tokens(heard_texts(asked.turns)), output=count_tokens(said))


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
