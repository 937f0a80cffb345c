"""What an episode's first reply tells of whether its tools arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_env.records.schema import Reply
from agent_env.records.trace_events import EpisodeStarted

WITH_TOOLS = ("provider", "server tokenizer")
"""Sources of counts that hold the tools' descriptions too; others count the messages."""


def first_call(start: EpisodeStarted, replies: Sequence[Reply]) -> dict[str, Any]:
    """Fields of an Episode, by its replies in order."""
    models = dict.fromkeys(reply.model for reply in replies if reply.model is not None)
    found: dict[str, Any] = {"served_models": tuple(models)}
    if replies:
        if replies[0].usage.source in WITH_TOOLS:
            found["first_input_tokens"] = replies[0].usage.input_tokens
        if _is_required(start):
            called = bool(replies[0].message.tool_calls or replies[0].usage.hosted_calls)
            cut = replies[0].finish_reason == "length"  # perhaps in the middle of a call
            found["required_call"] = called or (None if cut else False)
    return found


def _is_required(start: EpisodeStarted) -> bool:
    """Whether the first reply had to call a tool; not so where no call could be answered."""
    limits = start.limits or {}
    possible = limits.get("tool_calls") != 0 and limits.get("steps") != 1
    offers = bool(start.condition.tools)  # their descriptions may stand elsewhere
    return offers and possible and start.condition.first_step == "required"
