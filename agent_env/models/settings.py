"""The settings of a model, from the parameters that a run stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.models.dialect import EchoMode
from agent_env.models.request_fields import Parameters
from agent_env.protocols import Model

CHOICES: dict[str, tuple[str, ...]] = {
    "system_role": ("system", "developer", "user"),
    "tool_protocol": ("native", "text"),
    "text_calls": ("strict", "lenient"),
    "echo_reasoning": ("auto", "always", "never"),
}
OWN = (
    "tool_protocol", "text_calls", "stream", "hosted_tools", "reply_timeout_s", "idle_s",
    "echo_reasoning", "api_key_env",
)  # fmt: skip
"""Our own settings, which are in no request."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The parameters in requests, and our own settings."""

    parameters: Parameters
    tool_protocol: str = "native"
    """`native`, or `text` for models that cannot call tools."""
    text_calls: str = "strict"
    """Under the text protocol, `lenient` takes a call in a fenced block of any name."""
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
        own: dict[str, Any] = {name: parameters[name] for name in parameters if name in OWN}
        names = {field.name for field in fields(Parameters)}
        if unknown := sorted(set(api) - names):
            raise ConfigError(f"no parameter '{unknown[0]}'; there are {', '.join(sorted(names))}")
        for name, choices in CHOICES.items():
            if parameters.get(name, choices[0]) not in choices:
                flag = name.replace("_", "-")
                raise ConfigError(f"--{flag} {parameters[name]}: write {' or '.join(choices)}")
        settings = cls(Parameters(**api), **own)
        if settings.hosted_tools and settings.tool_protocol == "text":
            raise ConfigError("--hosted-tools and --tool-protocol text exclude each other")
        if "text_calls" in parameters and settings.tool_protocol != "text":
            raise ConfigError("--text-calls is for --tool-protocol text; add that, or leave it out")
        return settings

    def with_protocol(self, model: Model) -> Model:
        """The model, behind the text protocol if set."""
        if self.tool_protocol == "native":
            return model
        from agent_env.models.text_protocol import TextProtocol

        return TextProtocol(model, lenient=self.text_calls == "lenient")
