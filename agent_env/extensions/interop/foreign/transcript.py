"""The conversation of one foreign episode, in our records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agent_env.sdk.records import Message, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was sent to the model and what it wrote, as a run's trace holds it."""

    messages: tuple[Message, ...]
    """System and user texts, the model's messages with their tool calls, the tools' results."""
    tools: tuple[ToolSpec, ...] = ()
    """Offered to the model; () where the source does not tell them."""
    usages: tuple[Usage | None, ...] = ()
    """One for each assistant message after the prompt, None where it is unknown; () where all
    are."""
    question: str | None = None
    """What was asked, without the prompt around it where the source tells them apart."""
    gold: str | tuple[str, ...] | None = None
    """Several: each of them is right."""
    answer: str | None = None
    """As it was scored; None where there is none."""
    output: str | None = None
    """What was given out in the end, where the source says it beside the messages."""
    model: str | None = None
    """As the server named itself."""
    prompt: int | None = None
    """How many of the messages come before the model's first call; None: all before the first
    assistant message."""
    latencies_s: tuple[float | None, ...] = ()
    """Of the model calls, like `usages`."""
    durations_s: Mapping[str, float] = field(default_factory=dict)
    """Of the tool calls whose time is known, by call id."""
    tool_errors: Mapping[str, str] = field(default_factory=dict)
    """Why tool calls failed, by call id."""
    began_at: datetime | None = None
