"""Tool calls in a history: ids that are unique in it, and arguments that servers take back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Container, Iterable

from agent_env.records.schema import Message


def unique_id(proposed_id: str, taken: Container[str], step: int) -> str:
    """`proposed_id`, or where it is empty or taken, an id that is not."""
    start = proposed_id or f"call_{step}"
    later = (f"{start}_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([start], later) if name not in taken)


def ids_in(messages: Iterable[Message]) -> set[str]:
    """The ids of all tool calls so far; some servers count anew in each reply."""
    return {call.id for message in messages for call in message.tool_calls}


def arguments_as_object(arguments: str) -> str:
    """What may be sent back: vLLM and llama.cpp refuse a history whose arguments are no object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return (arguments or "{}") if isinstance(value, dict) else json.dumps({"unreadable": arguments})
