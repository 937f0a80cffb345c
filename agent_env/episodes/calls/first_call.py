"""Evidence from an episode's first reply that its tools arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_env.records.schema import Reply
from agent_env.records.trace_events import EpisodeStarted

WITH_TOOLS = ("provider", "server tokenizer")
"""Sources of counts that include the tools' descriptions; others count the messages."""


def first_call(start: EpisodeStarted, replies: Sequence[Reply]) -> dict[str, Any]:
    """Fields of an Episode, from its replies in order."""
    models = dict.fromkeys(reply.model for reply in replies if reply.model is not None)
    fields: dict[str, Any] = {"served_models": tuple(models)}
    if replies:
        if replies[0].usage.source in WITH_TOOLS:
            fields["first_input_tokens"] = replies[0].usage.input_tokens
        if _is_required(start):
            has_call = bool(replies[0].message.tool_calls or replies[0].usage.hosted_calls)
            is_cut = replies[0].finish_reason == "length"  # perhaps in the middle of a call
            fields["required_call"] = has_call or (None if is_cut else False)
    return fields


def _is_required(start: EpisodeStarted) -> bool:
    """Whether the first reply had to call a tool; false if no call could be answered."""
    limits = start.limits or {}
    possible = limits.get("tool_calls") != 0 and limits.get("steps") != 1
    offers = bool(start.condition.tools)  # their descriptions may be stored elsewhere
    return offers and possible and start.condition.first_step == "required"
