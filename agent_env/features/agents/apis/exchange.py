"""Requests and answers as none of the APIs writes them, and what their codecs share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agent_env.sdk.records import Message, ToolCall, ToolSpec

Json = dict[str, Any]
Object = Mapping[str, Any]
"""An object of foreign JSON."""
KEY_HEADERS = ("x-api-key", "x-goog-api-key")
"""Beside Authorization: Anthropic's and Google's."""
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    """Without the query."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""

    @property
    def keys(self) -> frozenset[str]:
        """The API key, by each of the headers in which an API wants it."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return frozenset([bearer, *(self.headers.get(name, "") for name in KEY_HEADERS)])


@dataclass(frozen=True, slots=True)
class Tokens:
    """A reply's usage."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Tokens | None = None
    """None where none is told."""
    finish: Literal["length", "refused", "paused"] | None = None
    """Why the reply ended, where not for the usual reason."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
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
    tool_texts: tuple[str, ...] = ()
    """The tools as the prompt holds them."""
    schema: Json | None = None
    """The JSON schema that holds the reply's text; None for a free one."""
    stop: tuple[str, ...] = ()
    """Texts at which the reply ends."""


class Refusal(Exception):
    """A request that is answered with an HTTP error."""

    def __init__(
        self, status: int, message: str, field: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.code = code
        """The provider's name of the error; None for the status."""


class ApiCodec(Protocol):
    """One of the model APIs."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterable[bytes]:
        """The reply as server-sent events."""

    def error(self, refusal: Refusal) -> Any:
        """The JSON of the refusal's body, as the provider writes it."""


def tool_call(name: str, arguments: str, id_: str = "") -> ToolCall:
    """A call; with an empty id the server chooses one."""
    return ToolCall(id=id_, name=name, arguments=arguments)


def input_tokens(request: ModelRequest) -> int:
    """The conversation and the tools of the prompt, by our rough count."""
    return count_tokens([*texts_of(request.turns), *request.tool_texts])


def texts_of(turns: Sequence[Message]) -> list[str]:
    """The texts and calls of a conversation."""
    return [part for turn in turns for part in (turn.content, *call_texts(turn.tool_calls))]


def call_texts(calls: Sequence[ToolCall]) -> list[str]:
    return [call.name + call.arguments for call in calls]


def count_tokens(texts: Sequence[str]) -> int:
    """The number of tokens, at four bytes each."""
    return sum(-(-len(text.encode(errors="replace")) // 4) for text in texts)


def slices(text: str, length: int = 16, most: int = 500) -> list[str]:
    """The pieces in which a text is streamed, at most `most`."""
    length = max(length, -(-len(text) // most))
    return [text[start : start + length] for start in range(0, len(text), length)]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def openai_error(refusal: Refusal) -> Json:
    """The refusal in the words of Chat Completions and Responses."""
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    code = refusal.code or refusal.status
    return {"error": {"message": str(refusal), "type": kind, "param": refusal.field, "code": code}}
