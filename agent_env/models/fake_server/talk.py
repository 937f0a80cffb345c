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
class Answer:
    """What the policy answers."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    usage: Tokens | Literal["counted", "absent"] = "counted"
    """`counted` lets the server report its own rough count, `absent` nothing."""
    finish: Literal["length", "refused"] | None = None
    """Why the reply ended, where it is not the usual reason."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, once understood."""

    model: str
    turns: tuple[Turn, ...]
    offers: tuple[Offer, ...]
    stream: bool
    wants_usage: bool
    """Whether a stream shall end with the usage."""


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
    heard = [part for turn in asked.turns for part in (turn.text, *_wanted(turn.calls))]
    return Tokens(input=_count(heard), output=_count(said))


def slices(text: str, length: int = 16) -> list[str]:
    """The text in the pieces in which it is streamed."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def _wanted(calls: Sequence[Call]) -> list[str]:
    return [call.name + call.arguments for call in calls]


def _count(texts: Sequence[str]) -> int:
    return sum(-(-len(text.encode(errors="replace")) // 4) for text in texts)
