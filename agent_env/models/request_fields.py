"""How a model is to answer, and the fields of a request that say so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from agent_env.errors import ConfigError
from agent_env.models.cleaning import Json
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message

OURS = frozenset({"model", "messages", "input", "tools", "tool_choice", "stream", "stream_options"})
"""Fields of a request that follow from the conversation or from other options."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a model is to answer; None is not sent, so that the server's default holds."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None
    """Whether one reply may hold several calls."""
    system_role: Literal["system", "developer", "user"] = "system"
    """The name under which system messages are sent; `user` puts them before the first user's
    text, for models that know no other role."""
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
        ours = {name: value for name, value in fields.items() if value is not None}
        return ours | dict(self.extra_body)

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
