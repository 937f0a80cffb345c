"""Answer parser of the `v2` mode: an amount in the declared unit, a year, month, date or time.

The answer is parsed by the question's AnswerSpec, never by a guess from its form. An ambiguous
answer is unparsable, and `rule` gives the reason. Nothing is completed from the clock, time zones
are ignored, and keys of an object count by name. The JSON of an object may have fences, text around
it, single quotes, trailing commas, bare keys and Python's None; no value is invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agent_env.families.temp_answers.scoring.answer_spec import (
    Amount,
    AnswerSpec,
    Exact,
    TimeAnswer,
    bounds,
    of_parts,
    parse_unit,
    unparsable,
    whole,
)
from agent_env.families.temp_answers.scoring.time_parser import (
    PLAIN,
    REFUSAL,
    of_number,
    read_clock,
    read_text,
    value_of,
)
from agent_env.features.answers.hedges import takes_back

_DECODER = json.JSONDecoder(strict=False)
_BARE = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_ERA = r"(?:b\.?c\.?(?:e\.?)?|a\.?d\.?|c\.?e\.?)"
_SCALAR = re.compile(
    rf"(?:\d{{1,5}}\s*+{_ERA}|{_ERA}\s*+\d{{1,5}})(?=\s*+[,}}\]])"
    r"|[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.:-])|[^\s,\]}\"'{\[]+",
    re.I,
)
"""A year with its era without quotes (`630 BC`), a number, or a word."""
_BARE_KEY = re.compile(r"\w+")
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


def _strict(text: str, at: int) -> dict[str, Any] | None:
    try:
        value, _ = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_shallow(value) else None


def is_shallow(value: Any) -> bool:
    """Whether lists and objects are nested at most _DEEPEST times."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST + 1):
        inner = (v.values() if isinstance(v, dict) else v for v in level)
        level = [v for values in inner for v in values if isinstance(v, (dict, list))]
        if not level:
            return True
    return False


def _loose(text: str, at: int) -> dict[str, Any] | None:
    value = _value(text, at)
    return value[0] if value is not None and isinstance(value[0], dict) else None


def _value(text: str, at: int, depth: int = 0) -> tuple[Any, int] | None:
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
        key = _string(text, at) if text[at] in "\"'" else None
        if (bare := _BARE_KEY.match(text, at)) is not None:
            key = bare[0], bare.end()
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


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\u00a0":
        at += 1
    return at


PREFILL = '{"explanation":'
"""Prepended to a response that continues an object."""
MOST = 10**40
"""Numbers from here on, and NaN, are no amount of time."""
_MARKER = re.compile(r"final\s+answer[*_`\s]*+(?:is[*_`\s]*+)?[:：](?:[*_`]+(?=\s|$))?", re.I)
_SENTENCE = re.compile(r"\bfinal\s+answer\s+is\b[*_`\s]*+", re.I)
"""Without a colon; counts where no marker has one."""
_DAYS = {"same_day": 0, "previous_day": -1, "next_day": 1, "same": 0, "previous": -1, "next": 1}


def read_response(text: str | None, spec: AnswerSpec, prefilled: bool = False) -> TimeAnswer:
    """The parsed answer of a whole response; `prefilled`: it continues the start of an object."""
    if text is None or not text.strip():
        return TimeAnswer("unparsable", rule="no text")
    if spec.style == "line":
        markers = list(_MARKER.finditer(text))
        if not markers:
            for sentence in list(_SENTENCE.finditer(text))[-1:]:
                answer = read_text(text[sentence.end() :].split("\n", 1)[0].strip(), spec)
                if answer.is_parsed:
                    return answer
            if REFUSAL.search(text[-200:]):
                return TimeAnswer("refused", rule="no Final Answer:")
            cut = text.rstrip()[-1:] not in ".!?:)*}]\"'`"
            return TimeAnswer("truncated" if cut else "unparsable", rule="no Final Answer:")
        rest = text[markers[-1].end() :].strip()
        if not rest:
            return TimeAnswer("truncated", rule="nothing after Final Answer:")
        line, _, behind = rest.partition("\n")
        if why := takes_back(behind):
            return unparsable(why)
        return read_text(line.strip(), spec)
    return _read_object_text(PREFILL + text if prefilled else text, text, spec)


def read_value(value: Any, spec: AnswerSpec) -> TimeAnswer:
    """The parsed answer of a JSON value: a text, a number, or an object by its keys."""
    while isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        return _by_keys(value, spec)
    if value is None or isinstance(value, (list, tuple, bool)):
        return unparsable(f"the value is {'null' if value is None else type(value).__name__}")
    if isinstance(value, str):
        return read_text(value, spec)
    if not abs(value) < MOST:
        return unparsable("the value is not a number that a time can have")
    return of_number(whole(value), spec)


# The answer's place -------------------------------------------------------------------------------


def _read_object_text(text: str, raw: str, spec: AnswerSpec) -> TimeAnswer:
    content = find_object(text)
    if content is None or not (set(content) - {"explanation"}):
        others = None if raw is text else find_object(raw)
        content = others or content
    if content is None or not (set(content) - {"explanation"}):
        content = pick_fields(text, tuple(spec.names)) or content
    if content is not None:
        return _by_keys(content, spec)
    if REFUSAL.search(raw[-200:]):
        return TimeAnswer("refused", rule="no object")
    if "{" in text and "}" not in text[text.find("{") :]:
        return TimeAnswer("truncated", rule="the object is not closed")
    return unparsable("no object that can be read")


def _by_keys(content: Mapping[str, Any], spec: AnswerSpec) -> TimeAnswer:
    values = {str(k).strip(): v for k, v in content.items() if str(k).lower() != "explanation"}
    if not values:
        return unparsable("the object has no answer")
    if spec.kind != "duration":
        key = next((k for k in spec.names if k in values), None)
        if key is not None:
            return read_value(values[key], spec)
        if all(parse_unit(key) for key in values) and spec.kind == "number":
            return _parts(values, spec, {})
        if len(values) == 1:
            return read_value(next(iter(values.values())), spec)
        return unparsable(f"no key {' or '.join(spec.names) or 'answer'}")
    if len(values) == 1 and not set(values) & set(spec.names):
        key, value = next(iter(values.items()))
        if parse_unit(key) is None or isinstance(value, str):
            return read_value(value, spec)
    return _parts(values, spec, spec.names)


def _parts(values: Mapping[str, Any], spec: AnswerSpec, names: Mapping[str, str]) -> TimeAnswer:
    """The sum of a duration's named parts; every specified key is required."""
    low: Exact = 0
    high: Exact = 0
    by_unit = {parse_unit(key) for key in values}
    for key, meaning in names.items():
        if key not in values and meaning not in by_unit:
            return unparsable(f"key {key} is missing")
    units = []
    for key, value in values.items():
        meaning = names.get(key) or parse_unit(key) or key.lower()
        units.append({"day": "days", "time": "seconds", "answer": spec.unit}.get(meaning, meaning))
        part = _part(value, meaning, spec)
        if part is None:
            shown = "null" if value is None else repr(value)[:40]
            return unparsable(f"{key} is {shown}")
        low, high = low + part[0], high + part[1]
    return of_parts(low, high, units, spec)


def _part(value: Any, meaning: str, spec: AnswerSpec) -> tuple[Exact, Exact] | None:
    """The least and the greatest amount of one part in the specified unit; None where it is
    unparsable."""
    if meaning == "day" or (meaning == "days" and str(value).lower() in _DAYS):
        relative_day = _DAYS.get(str(value).strip().lower().replace(" ", "_"))
        days = _number(value) if relative_day is None else relative_day
        return None if days is None else bounds(days, "days", spec.unit)
    if meaning == "time":
        seconds = read_clock(str(value), spec)
        return None if seconds is None else bounds(seconds, "seconds", spec.unit)
    if meaning == "answer":
        inner = read_value(value, AnswerSpec(spec.kind, spec.unit, clock=spec.clock))
        ends = inner.interval if inner.is_parsed else None
        return None if ends is None else (Fraction(ends[0]), Fraction(ends[1]))
    number = _number(value)
    return None if number is None else bounds(number, meaning, spec.unit)


def _number(value: Any) -> Amount | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return whole(value) if abs(value) < MOST else None
    if isinstance(value, str) and (match := PLAIN.match(value.strip())):
        return value_of(match[0]) if match.end() == len(value.strip()) else None
    return None
