"""Reading fields of foreign JSON, which may be absent or of any type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_env.models.cleaning import Json
from agent_env.records.schema import Usage

CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
"""Names of input tokens that a cache held: OpenAI and Kimi, DeepSeek, litellm."""
WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
"""Names of input tokens that were written to a cache: OpenRouter, litellm."""


def text(of: Json, *names: str) -> str:
    """The first of the fields that holds text; empty where none does."""
    return next((value for name in names if isinstance(value := of.get(name), str) and value), "")


def record(of: Json, name: str) -> Json:
    """The object in a field; empty where there is none."""
    value = of.get(name)
    return value if isinstance(value, dict) else {}


def records(of: Json, name: str) -> list[Json]:
    """The objects of the list in a field; empty where there is none."""
    value = of.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def usage(of: Json, inputs: str, outputs: str) -> Usage:
    """Tokens as the server counted them, by the names that its API has for input and output."""
    details = record(of, f"{inputs}_details")
    counts = Usage(
        input_tokens=_count(of, inputs),
        cached_tokens=_first_count((details, of), CACHED),
        cache_write_tokens=_first_count((details, of), WRITTEN),
        output_tokens=_count(of, outputs),
        reasoning_tokens=_count(record(of, f"{outputs}_details"), "reasoning_tokens"),
    )
    has_counts = counts.input_tokens is not None or counts.output_tokens is not None
    return counts.model_copy(update={"source": "provider"}) if has_counts else counts


def usage_of(answer: Json) -> Usage | None:
    """The usage of a reply of either API; None where it has none."""
    fields = record(answer, "usage")
    names = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    chat, ours = usage(fields, *names[:2]), usage(fields, *names[2:])
    counts = ours if chat.source is None else chat
    return None if counts.source is None else counts


def _first_count(places: Iterable[Json], names: Sequence[str]) -> int | None:
    counts = (_count(of, name) for of in places for name in names)
    return next((count for count in counts if count is not None), None)


def _count(of: Json, name: str) -> int | None:
    value = of.get(name)
    return value if type(value) is int and value >= 0 else None  # True is an int, but no count
