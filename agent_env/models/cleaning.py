"""Foreign JSON, read and made fit for a trace: no key, no lone surrogates, no numbers that JSON
lacks.

Not covered: a key shorter than eight characters counts as a placeholder and is not blotted out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

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
