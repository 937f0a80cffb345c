"""Finds the JSON object of an answer: fences, text around it, single quotes, trailing commas, bare
keys and Python's None are forgiven. A value is never made up."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_BARE = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_SCALAR = re.compile(r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.:-])|[^\s,\]}\"'{\[]+")
_DEEPEST = 20
"""Brackets inside each other; deeper ones are no answer."""
_MOST = 50
"""Places at which a field may stand; of more no one value can be told."""
_CLOSES = re.compile(r"\s*(?:[,:}\]]|$)")


def find_object(text: str) -> dict[str, Any] | None:
    """The first object in the text that can be read; None where there is none."""
    at = text.find("{")
    tried = 0
    while at >= 0 and tried < 8:
        tried += 1
        for read in (_strict, _loose):
            found = read(text, at)
            if found:
                return found
        at = text.find("{", at + 1)
    return None


def pick_fields(text: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The values of these keys in an object that is broken elsewhere, such as by quotes inside its
    explanation; None unless each key has exactly one value."""
    picked: dict[str, Any] = {}
    for key in keys:
        pattern = rf"[\"']{re.escape(key)}[\"']\s*:\s*(?=\S)"
        places = [m.end() for m in islice(re.finditer(pattern, text), _MOST + 1)]
        if len(places) > _MOST:
            return None
        values = [_value(text, place) for place in places]
        known = {json.dumps(v[0]): v[0] for v in values if v is not None}
        if len(known) != 1 or len(values) == 0:
            return None
        picked[key] = next(iter(known.values()))
    return picked or None


def is_open(text: str) -> bool:
    """Whether an object begins that is never closed, as where a reply was cut."""
    return "{" in text and "}" not in text[text.find("{") :]


def _strict(text: str, at: int) -> dict[str, Any] | None:
    try:
        found, _ = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and is_shallow(found) else None


def is_shallow(value: Any, most: int = _DEEPEST) -> bool:
    """Whether lists and objects are nested in each other so often at most."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [v for values in inner for v in values if isinstance(v, (dict, list))]
        if not level:
            return True
    return False


def _loose(text: str, at: int) -> dict[str, Any] | None:
    read = _value(text, at)
    return read[0] if read is not None and isinstance(read[0], dict) else None


def _value(text: str, at: int, depth: int = 0) -> tuple[Any, int] | None:
    """A value and where it ends."""
    at = _skip(text, at)
    if at >= len(text) or depth > _DEEPEST:
        return None
    if text[at] == "{":
        return _members(text, at + 1, depth)
    if text[at] == "[":
        return _elements(text, at + 1, depth)
    if text[at] in "\"'":
        return _string(text, at)
    if (match := _SCALAR.match(text, at)) is None:
        return None
    word = match[0]
    if word.lower() in _BARE:
        return _BARE[word.lower()], match.end()
    try:
        return json.loads(word), match.end()
    except ValueError:
        return word, match.end()


def _members(text: str, at: int, depth: int) -> tuple[dict[str, Any], int] | None:
    found: dict[str, Any] = {}
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return None
        if text[at] == "}":
            return found, at + 1
        if text[at] == ",":
            at += 1
            continue
        key = _string(text, at) if text[at] in "\"'" else _bare_key(text, at)
        if key is None:
            return None
        at = _skip(text, key[1])
        if at >= len(text) or text[at] != ":":
            return None
        value = _value(text, at + 1, depth + 1)
        if value is None:
            return None
        found[key[0]], at = value


def _elements(text: str, at: int, depth: int) -> tuple[list[Any], int] | None:
    found: list[Any] = []
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return None
        if text[at] == "]":
            return found, at + 1
        if text[at] == ",":
            at += 1
            continue
        value = _value(text, at, depth + 1)
        if value is None:
            return None
        found.append(value[0])
        at = value[1]


def _string(text: str, at: int) -> tuple[str, int] | None:
    """A quoted text; a quote inside it that nothing of JSON follows belongs to it."""
    quote, end = text[at], at + 1
    while True:
        end = text.find(quote, end)
        if end < 0:
            return None
        if text[end - 1] != "\\" and _CLOSES.match(text, end + 1):
            inner = text[at + 1 : end]
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), inner), end + 1
        end += 1


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _bare_key(text: str, at: int) -> tuple[str, int] | None:
    match = re.compile(r"\w+").match(text, at)
    return None if match is None else (match[0], match.end())


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\u00a0":
        at += 1
    return at
