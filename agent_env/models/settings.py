"""What a model is made with, as the user may choose it: the fields of its requests, and our own
settings. run.json keeps it as model_parameters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.models.chat import Json
from agent_env.models.dialect import EchoMode
from agent_env.protocols import Model, ReplyOptions
from agent_env.records.options import CALLS, SERVER, Opt
from agent_env.records.schema import Message
from agent_env.records.texts import IN_TEXT

IF_GIVEN = "Sent if given."
SERVICE_TIERS = ("auto", "default", "flex", "priority")


def _object(value: str | Mapping[str, Any]) -> dict[str, Any]:
    """The object that `--extra-body` has as JSON; ConfigError where it has none."""
    try:
        fields = json.loads(value) if isinstance(value, str) else dict(value)
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"--extra-body is not JSON: {exc}") from None
    if not isinstance(fields, dict):
        raise ConfigError('--extra-body must be a JSON object like {"top_k": 20}')
    return fields


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """Those that the command line has; None is left to the server, or to the adapter."""

    reply_timeout_s: Annotated[
        float | None, Opt("Seconds a call may take.", CALLS, min=0.1, shown="600")
    ] = None
    idle_s: Annotated[
        float | None,
        Opt(
            "Seconds for which a stream may stop once it has begun, such as 300.",
            CALLS,
            min=0.1,
            shown="60",
        ),
    ] = None
    tool_protocol: Annotated[
        str,
        Opt(
            "native; text, for models that cannot call tools; schema, text whose form the server "
            "enforces while tools are offered; auto, the first of these that works in the "
            "preflight.",
            SERVER,
        ),
    ] = "native"
    repair_calls: Annotated[
        int | None,
        Opt(
            "Calls per episode that cannot be read, such as one written as text, and are answered "
            "with the right form; counted as tool errors. Default: under native none, else all "
            "that are recognised.",
            SERVER,
            min=0,
        ),
    ] = None
    tool_texts: Annotated[
        str,
        Opt(
            "full, or short for small models: descriptions of one sentence, the arguments that a "
            "call needs, a worked call where calls are text, and windows of pages by the model's "
            "context.",
            SERVER,
        ),
    ] = "full"
    hosted_tools: Annotated[bool, Opt("The provider's search and code.", SERVER)] = False
    stream: Annotated[bool, Opt("Keeps long replies alive.", SERVER)] = False
    echo_reasoning: Annotated[
        str,
        Opt(
            "Send a server back what it said beside the text, reasoning above all: auto (unless "
            "it refuses), always, never.",
            SERVER,
        ),
    ] = "auto"
    temperature: Annotated[float | None, Opt(IF_GIVEN, SERVER, min=0)] = None
    reasoning_effort: Annotated[str | None, Opt(IF_GIVEN, SERVER)] = None
    max_output_tokens: Annotated[int | None, Opt(IF_GIVEN, SERVER, min=1)] = None
    top_p: Annotated[float | None, Opt(IF_GIVEN, SERVER, min=0, max=1)] = None
    seed: Annotated[
        int | None,
        Opt("Each episode's sampling seed is drawn from it.", SERVER, "--model-seed", min=0),
    ] = None
    system_role: Annotated[
        str | None, Opt("system, developer, or user for models without either.", SERVER)
    ] = None
    service_tier: Annotated[
        str | None,
        Opt("auto, default, flex (slower, cheaper) or priority, where the API has it.", SERVER),
    ] = None
    extra_body: Annotated[
        Mapping[str, Any] | None,
        Opt('More request fields, as JSON: {"top_k": 20}', SERVER, typed=str | None, read=_object),
    ] = None


OURS = frozenset(
    "model messages input tools tool_choice stream stream_options contents systemInstruction"
    " toolConfig system".split()
)
"""Fields of a request that follow from the conversation or from other options."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer; None is not sent, so that the server's default holds."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    system_role: Literal["system", "developer", "user"] = "system"
    """The name under which system messages are sent; `user` puts them before the first user's
    text, for models that know no other role."""
    service_tier: str | None = None
    """One of SERVICE_TIERS."""
    extra_body: Mapping[str, JsonValue] = field(default_factory=dict)
    """Fields of the request beside ours, such as vLLM's `top_k`; ours are not overridden."""

    def seed_of(self, options: ReplyOptions) -> int | None:
        """The call's own seed, or the one for all calls."""
        return self.seed if options.seed is None else options.seed

    def __post_init__(self) -> None:
        for name in self.extra_body:
            if name in OURS or getattr(self, name, None) is not None:
                raise ConfigError(f"--extra-body: '{name}' is set otherwise; take it out")

    def body(self, fields: Json) -> Json:
        """The request: the fields that are set, and those that the user adds."""
        body: Json = {name: value for name, value in fields.items() if value is not None}
        for name, value in self.extra_body.items():
            inner = body.get(name)
            if isinstance(inner, dict) and isinstance(value, dict):
                value = {**inner, **value}
            body[name] = value
        return body

    def with_roles(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as they are sent: under `user`, system texts open the first user's text."""
        if self.system_role != "user":
            return messages
        texts = [message.content for message in messages if message.role == "system"]
        rest = [message for message in messages if message.role != "system"]
        first = next((n for n, message in enumerate(rest) if message.role == "user"), None)
        if not texts or first is None:
            return messages
        content = "\n\n".join([*texts, rest[first].content])
        return [*rest[:first], Message(role="user", content=content), *rest[first + 1 :]]


CHOICES: dict[str, tuple[str, ...]] = {
    "service_tier": SERVICE_TIERS,
    "system_role": ("system", "developer", "user"),
    "tool_protocol": ("native", "text", "schema", "auto"),
    "tool_texts": ("full", "short"),
    "echo_reasoning": ("auto", "always", "never"),
}
OWN = (
    "tool_protocol", "text_calls", "tool_texts", "repair_calls", "stream", "hosted_tools",
    "reply_timeout_s", "idle_s", "echo_reasoning", "api_key_env",
)  # fmt: skip
"""Our own settings, which are in no request."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The parameters in requests, and our own settings."""

    parameters: Parameters
    tool_protocol: Literal["native", "text", "schema", "auto"] = "native"
    """`auto` is native until a preflight settles it."""
    text_calls: str = "strict"
    """Under the text protocol, `lenient` takes a call in a fenced block of any name; the preflight
    sets it."""
    tool_texts: str = "full"
    """`short` adds a worked call where calls are text."""
    repair_calls: int | None = None
    """How many unreadable calls of an episode are answered; None as models.repairs says."""
    stream: bool = False
    hosted_tools: bool = False
    """Whether the provider's own tools replace ours."""
    reply_timeout_s: float | None = None
    """The timeout of a call; None for the default."""
    idle_s: float | None = None
    """How long a stream may pause; None for the default."""
    echo_reasoning: EchoMode = "auto"
    """Whether what the server said beside the documented fields goes back to it."""
    api_key_env: str | None = None
    """The environment variable of the key; empty for no key, None for the default one."""

    @classmethod
    def read(cls, parameters: Mapping[str, JsonValue]) -> ModelSettings:
        """The settings; ConfigError for an unknown name or an invalid value."""
        api: dict[str, Any] = {name: parameters[name] for name in parameters if name not in OWN}
        local: dict[str, Any] = {name: parameters[name] for name in parameters if name in OWN}
        names = {field.name for field in fields(Parameters)}
        if unknown := sorted(set(api) - names):
            raise ConfigError(f"no parameter '{unknown[0]}'; there are {', '.join(sorted(names))}")
        for name, choices in CHOICES.items():
            if parameters.get(name, choices[0]) not in choices:
                flag = name.replace("_", "-")
                raise ConfigError(f"--{flag} {parameters[name]}: write {' or '.join(choices)}")
        settings = cls(Parameters(**api), **local)
        if settings.hosted_tools and settings.tool_protocol != "native":
            raise ConfigError(
                f"--hosted-tools and --tool-protocol {settings.tool_protocol} exclude each other"
            )
        return settings

    def with_protocol(self, model: Model) -> Model:
        """The model behind the protocol that is set, its unreadable calls answered if wished."""
        if self.tool_protocol in IN_TEXT:
            from agent_env.models.text_protocol import TextProtocol

            model = TextProtocol(
                model, lenient=self.text_calls == "lenient", held=self.tool_protocol == "schema",
                has_example=self.tool_texts == "short",
            )  # fmt: skip
        if self.repair_calls is None:
            return model
        from agent_env.models.text_protocol import RepairedCalls

        return RepairedCalls(model, self.repair_calls, self.tool_protocol)
