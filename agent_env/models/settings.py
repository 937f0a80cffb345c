"""How a model is made, read from what a run stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.models.echo import EchoMode
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
"""Settings that are ours, beside the parameters that are sent."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The parameters that are sent, and how we talk to the model."""

    parameters: Parameters
    tool_protocol: str = "native"
    """`native`, or `text` for models that cannot call tools."""
    text_calls: str = "strict"
    """Under the text protocol, `lenient` takes a call in a fenced block of any name."""
    stream: bool = False
    hosted_tools: bool = False
    """Whether the provider's own tools stand for ours."""
    reply_timeout_s: float | None = None
    """How long a call may take; None for as long as usual."""
    idle_s: float | None = None
    """How long a stream may stop; None for as long as usual."""
    echo_reasoning: EchoMode = "auto"
    """Whether what the server said beside the documented fields goes back to it."""
    api_key_env: str | None = None
    """The environment variable that holds the key; empty for no key, None for the usual one."""

    @classmethod
    def read(cls, given: Mapping[str, JsonValue]) -> ModelSettings:
        """The settings of these names; ConfigError names what is unknown or cannot be."""
        sent: dict[str, Any] = {name: given[name] for name in given if name not in OWN}
        own: dict[str, Any] = {name: given[name] for name in given if name in OWN}
        known = {field.name for field in fields(Parameters)}
        if unknown := sorted(set(sent) - known):
            raise ConfigError(f"no parameter '{unknown[0]}'; there are {', '.join(sorted(known))}")
        for name, choices in CHOICES.items():
            if given.get(name, choices[0]) not in choices:
                flag = name.replace("_", "-")
                raise ConfigError(f"--{flag} {given[name]}: write {' or '.join(choices)}")
        settings = cls(Parameters(**sent), **own)
        if settings.hosted_tools and settings.tool_protocol == "text":
            raise ConfigError("--hosted-tools and --tool-protocol text exclude each other")
        if "text_calls" in given and settings.tool_protocol != "text":
            raise ConfigError("--text-calls is for --tool-protocol text; add that, or leave it out")
        return settings

    def worded(self, model: Model) -> Model:
        """The model, behind the text protocol where that is wished."""
        if self.tool_protocol == "native":
            return model
        from agent_env.models.text_protocol import TextProtocol

        return TextProtocol(model, lenient=self.text_calls == "lenient")
