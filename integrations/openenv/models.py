"""What goes to the environment and what comes back, in the shapes of chat completions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from openenv.core.env_server.types import Action, Observation


class AgentEnvAction(Action):
    """One reply of the model: text, tool calls, or both."""

    content: str = Field(default="", description="The reply's text; the answer, without calls.")
    tool_calls: list[dict[str, Any]] = Field(
        default_factory=list,
        description="Calls as chat completions have them: id, type, function (name, arguments).",
    )
    finish_reason: str | None = Field(default=None, description="stop, tool_calls, length, …")
    usage: dict[str, Any] | None = Field(
        default=None, description="prompt_tokens and completion_tokens, where they are known."
    )


class AgentEnvObservation(Observation):
    """What the model is asked, or how the episode ended."""

    messages: list[dict[str, Any]] = Field(
        default_factory=list,
        description="To be put at the end of the conversation; the first of a step is the reply.",
    )
    tools: list[dict[str, Any]] = Field(
        default_factory=list, description="Those that may be called now."
    )
    tool_choice: str = Field(default="auto", description="auto, required or none.")
    episode: str = Field(default="", description="CONDITION/SAMPLE.REPEAT, by the server.")
    stop_reason: str | None = Field(default=None, description="Why the episode is over.")
    failure: str | None = Field(default=None, description="Why the episode has no score.")
    metrics: dict[str, float] = Field(
        default_factory=dict,
        description="All of the task's once the episode is over, of a server with --show-metrics.",
    )
