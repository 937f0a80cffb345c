"""The conversation of one foreign episode, in our records."""

from __future__ import annotations

from dataclasses import dataclass

from agent_env.records.schema import Message, ToolSpec, Usage


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was sent to the model and what it wrote, as a run's trace holds it."""

    messages: tuple[Message, ...]
    """System and user texts, the model's messages with their tool calls, the tools' results."""
    tools: tuple[ToolSpec, ...] = ()
    """Offered to the model; () where the source does not tell them."""
    usages: tuple[Usage | None, ...] = ()
    """One for each assistant message, None where it is unknown; () where all are."""
    question: str | None = None
    """What was asked, without the prompt around it where the source tells them apart."""
    gold: str | None = None
    answer: str | None = None
    """As it was scored; None where there is none."""
    model: str | None = None
    """As the server named itself."""
