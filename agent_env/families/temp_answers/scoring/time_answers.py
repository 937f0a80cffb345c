"""Answer parser of the `v2` mode: an amount in the declared unit, a year, month, date or time.

The answer is parsed by the question's AnswerSpec, never by a guess from its form. An ambiguous
answer is unparsable, and `rule` gives the reason. Nothing is completed from the clock, time zones
are ignored, and keys of an object count by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from agent_env.families.temp_answers.scoring.answer_spec import (
    AnswerSpec,
    TimeAnswer,
    of_parts,
    unparsable,
)
from agent_env.families.temp_answers.scoring.loose_json import find_object, is_open, pick_fields
from agent_env.families.temp_answers.scoring.time_numbers import value_of
from agent_env.families.temp_answers.scoring.time_parser import (
    PLAIN,
    REFUSAL,
    of_number,
    read_clock,
    read_text,
)
from agent_env.families.temp_answers.scoring.time_units import (
    Amount,
    Exact,
    bounds,
    parse_unit,
    whole,
)
from agent_env.scoring.hedges import takes_back

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
        return _read_final_line(text, spec)
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
        return unparsable("the value is no number that a time can have")
    return of_number(whole(value), spec)


# The answer's place -------------------------------------------------------------------------------


def _read_final_line(text: str, spec: AnswerSpec) -> TimeAnswer:
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
    if is_open(text):
        return TimeAnswer("truncated", rule="the object is not closed")
    return unparsable("no object that can be read")


def _by_keys(content: Mapping[str, Any], spec: AnswerSpec) -> TimeAnswer:
    """By the names of the keys, in any order."""
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
            return unparsable(f"{key} is {_display(value)}")
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


def _display(value: Any) -> str:
    return "null" if value is None else repr(value)[:40]
