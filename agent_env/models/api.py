"""What a model API is, as data and pure functions; `client` does the rest for all of them.

A new API is one file in `apis/`, named like the prefix of its models' names, with its `API`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

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
    """Of requests, below the base URL, which users write with the API's version (`/v1`) or without;
    `{model}` stands for the model's name."""
    request: Callable[[RequestParts], Json]
    """The fields of a request but for those of a stream; None is not sent. Fields of the user's
    (--extra-body) are added to them, inside an object of ours where both have one."""
    whole: Callable[[Sequence[Json]], Json | Fault]
    """The body that the events of a stream stand for."""
    reply: Callable[[Json, Exchange], Reply | Fault]
    """What a body says; it is clean already."""
    stream_path: str | None = None
    """Of requests for a stream; None for the same path."""
    stream_fields: Json = field(default_factory=lambda: {"stream": True})
    """Fields of a request for a stream, behind the others."""
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
    batches: str | None = None
    """Whose batch API it has, as the feature `batch` names them; None where it has none."""
    tiers: tuple[str, ...] = ()
    """The service tiers that a request may ask for."""
    has_hosted_tools: bool = False
    """Whether the provider has tools of its own that can stand for ours."""
    own_names: str = ""
    """A regular expression for the beginning of its models' names; empty where all can be."""
    own_keys: str = ""
    """A regular expression for the beginning of its keys; empty where all can be."""
    forms: str = ""
    """How its models are named, for users; empty for PREFIX/NAME."""
    without_url: str = ""
    """What is wrong with a model of which nobody says where it is, and what to do; empty for the
    usual."""

    def path_for(self, model: str, base_url: str, stream: bool) -> str:
        """The path of a request to this model; without the API's version where the URL has it."""
        path = self.stream_path if stream and self.stream_path is not None else self.path
        version = path[: path.find("/", 1)]
        if base_url.rstrip("/").endswith(version):
            path = path.removeprefix(version)
        return path.replace("{model}", quote(model))


def openai_request(
    conversation: Callable[[RequestParts], Json],
    tool: Callable[[ToolSpec], Json],
    settings: Callable[[RequestParts], Json],
) -> Callable[[RequestParts], Json]:
    """Requests of an API that names model, tool choice and sampling as OpenAI does: the fields that
    hold the messages, those, and behind them the `settings`."""

    def request(parts: RequestParts) -> Json:
        tools, choice, parameters = parts.tools, parts.options.tool_choice, parts.parameters
        chooses = bool(tools) and choice != "auto"  # auto is what a server does anyway
        return {
            "model": parts.model,
            **conversation(parts),
            "tools": [tool(each) for each in tools] or None,
            "tool_choice": choice if chooses else None,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "service_tier": parameters.service_tier,
            **settings(parts),
        }

    return request
