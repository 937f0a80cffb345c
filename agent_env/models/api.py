"""What a model API is, as data and pure functions; `client` does the rest for all of them.

A new API is one file in `apis/`, named like the prefix of its models' names, with its `API`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from agent_env.models.chat import Json
from agent_env.models.dialect import Dialect
from agent_env.models.settings import Parameters
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, Reply, ToolSpec


@dataclass(frozen=True, slots=True)
class RequestParts:
    """What a request is made of."""

    model: str
    messages: Sequence[Message]
    """With system texts as the parameters want them."""
    tools: Sequence[ToolSpec]
    options: ReplyOptions
    parameters: Parameters
    dialect: Dialect
    """What this server wants of a request."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a reply answers."""

    request: Json
    messages: Sequence[Message]
    origin: str
    """The model and the server, as messages from it say."""
    left_out: Json
    """Fields that were too large to be kept, with the reason."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why no reply can be made of what came: the `error` that the server reports, or else `what` it
    sent instead; neither where a stream ended before its reply did."""

    error: JsonValue = None
    what: str = ""
    answer: Json | None = None
    """The body, which may say what it cost."""


@dataclass(frozen=True, slots=True)
class Api:
    """A model API."""

    path: str
    """Of requests, below the base URL."""
    conversation: Callable[[RequestParts], Json]
    """The fields of a request that hold the messages and what goes with them; None is not sent."""
    tool: Callable[[ToolSpec], Json]
    """A tool as a request names it."""
    settings: Callable[[RequestParts], Json]
    """The fields behind those that all APIs share (tools to top_p); None is not sent."""
    whole: Callable[[Sequence[Json]], Json | Fault]
    """The body that the events of a stream stand for."""
    reply: Callable[[Json, Exchange], Reply | Fault]
    """What a body says; it is clean already."""
    stream_fields: Json = field(default_factory=dict)
    """Fields of a request for a stream, beside `stream`."""
    cut: Callable[[Sequence[Json]], Json] | None = None
    """The event that ends a stream which the client closed after these; None: none is closed."""
    take_excess_out: Callable[[Json], Json] = lambda body: {}
    """Takes out of a body what is too large to be kept; gives its fields, with the reason."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Parameters that the API does not know, with what to say to the user."""
    own_url: str | None = None
    """Where the API is; None where each user says where his server is."""
    url_variable: str | None = None
    """The environment variable that says it is elsewhere."""
    key_variable: str = ""
    """The environment variable of the key."""
    headers: Callable[[str], Mapping[str, str]] | None = None
    """The headers of a request that hold the key, and what else the API wants there; None stands
    for `Authorization: Bearer`."""
    is_openai: bool = False
    """Whether the account that OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS name is
    told; the SDK would tell it to every server."""
    has_hosted_tools: bool = False
    """Whether the provider has tools of its own that can stand for ours."""
