"""Lenient JSON parser for the object of an answer: accepts fences, text around it, single quotes,
trailing commas, bare keys and Python's None. It never invents a value."""

from __future__ import annotations

import json
import re
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_BARE = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_ERA = r"(?:b\.?c\.?(?:e\.?)?|a\.?d\.?|c\.?e\.?)"
_SCALAR = re.compile(
    rf"(?:\d{{1,5}}\s*+{_ERA}|{_ERA}\s*+\d{{1,5}})(?=\s*+[,}}\]])"
    r"|[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.:-])|[^\s,\]}\"'{\[]+",
    re.I,
)
"""A year with its era without quotes (`630 BC`), a number, or a word."""
_DEEPEST = 20
"""Nesting of brackets; deeper ones are no answer."""
_MOST = 50
"""Places at which a value is read; at later ones, as of a model that loops, it must be the same."""
_CLOSES = re.compile(r"\s*(?:[,:}\]]|$)")


def find_object(text: str) -> dict[str, Any] | None:
    """The first object in the text that parses; None without one."""
    at = text.find("{")
    attempts = 0
    while at >= 0 and attempts < 8:
        attempts += 1
        for parse in (_strict, _loose):
            parsed_object = parse(text, at)
            if parsed_object:
                return parsed_object
        at = text.find("{", at + 1)
    return None


def pick_fields(text: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The values of these keys in an object that is broken elsewhere, such as by quotes inside its
    explanation; None unless each key has exactly one value."""
    picked: dict[str, Any] = {}
    for key in keys:
        pattern = rf"[\"']{re.escape(key)}[\"']\s*:\s*(?=\S)"
        places = [m.end() for m in re.finditer(pattern, text)]
        values = [(place, _value(text, place)) for place in places[:_MOST]]
        distinct = {json.dumps(v[0]): (v[0], text[at : v[1]]) for at, v in values if v is not None}
        if len(distinct) != 1:
            return None
        ((value, value_text),) = distinct.values()
        for place in places[_MOST:]:
            if not (
                text.startswith(value_text, place) and _CLOSES.match(text, place + len(value_text))
            ):
                return None
        picked[key] = value
    return picked or None


def is_open(text: str) -> bool:
    """Whether an object is not closed, as in a truncated reply."""
    return "{" in text and "}" not in text[text.find("{") :]


def _strict(text: str, at: int) -> dict[str, Any] | None:
    try:
        value, _ = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_shallow(value) else None


def is_shallow(value: Any, most: int = _DEEPEST) -> bool:
    """Whether lists and objects are nested at most `most` times."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [v for values in inner for v in values if isinstance(v, (dict, list))]
        if not level:
            return True
    return False


def _loose(text: str, at: int) -> dict[str, Any] | None:
    value = _value(text, at)
    return value[0] if value is not None and isinstance(value[0], dict) else None


def _value(text: str, at: int, depth: int = 0) -> tuple[Any, int] | None:
    """A value and its end."""
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
    members: dict[str, Any] = {}
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return None
        if text[at] == "}":
            return members, at + 1
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
        members[key[0]], at = value


def _elements(text: str, at: int, depth: int) -> tuple[list[Any], int] | None:
    elements: list[Any] = []
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return None
        if text[at] == "]":
            return elements, at + 1
        if text[at] == ",":
            at += 1
            continue
        value = _value(text, at, depth + 1)
        if value is None:
            return None
        elements.append(value[0])
        at = value[1]


def _string(text: str, at: int) -> tuple[str, int] | None:
    """A quoted text and its end; an inner quote that no JSON punctuation follows is part of it."""
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
