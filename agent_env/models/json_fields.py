"""Foreign JSON: read, and made fit for a trace (no key, no lone surrogates, no infinite numbers).

Fields may be absent or of any type. Not covered: a key shorter than eight characters counts as a
placeholder and is not blotted out.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from agent_env.records.schema import Message, Usage

DEEPEST = 64
"""Levels of nesting in a reply; pydantic itself gives up at 255."""

Json = dict[str, JsonValue]


_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')


def loaded(text: str) -> JsonValue:
    """The JSON; where it is nested beyond what Python reads, null for all below DEEPEST levels."""
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        value = json.loads("".join(_less_deep(text)))
    return value


def _less_deep(text: str) -> Iterator[str]:
    depth = start = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                yield text[start : mark.start()] + "null"
        elif mark[0] in "]}":
            if depth == DEEPEST + 1:
                start = mark.end()
            depth -= 1
    if depth <= DEEPEST:
        yield text[start:]


def encoded(body: Json) -> bytes:
    """The JSON of a request, cleaned; RecursionError where it is nested too deep. A quarter of the
    standard library's time: what a thinking model said is sent with every step."""
    try:
        return to_json(body, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate, or too deep
        return to_json(tree(body))


def tree(body: Json, key: str | None = None) -> Json:
    """The object, cleaned at every level; RecursionError where it is nested too deep."""
    return {name: _value(value, key, DEEPEST) for name, value in body.items()}


def _value(value: JsonValue, key: str | None, depth: int) -> JsonValue:
    if depth == 0:
        raise RecursionError
    match value:
        case str():
            return clean(value, key)
        case list():
            return [_value(item, key, depth - 1) for item in value]
        case dict():
            return {clean(k, key): _value(item, key, depth - 1) for k, item in value.items()}
        case float() if not math.isfinite(value):
            return None
    return value


def clean(text: str, key: str | None) -> str:
    """The text without the key and without lone surrogates."""
    if key is not None and len(key) >= 8:
        text = text.replace(key, "***")
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates; halves of one pair are joined on the way
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shallow(error: JsonValue, key: str | None) -> JsonValue:
    """The value, cleaned; None where it is nested too deep."""
    try:
        return _value(error, key, DEEPEST)
    except RecursionError:
        return None


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
