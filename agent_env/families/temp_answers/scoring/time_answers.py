"""Reads a time answer to a number of the declared unit, a year, a month, a date or a time of day.

The question declares what is wanted; the answer is read by that, never by a guess at what it looks
like. What could mean two things is unparsable, and the reading says why. Nothing is completed from
the clock, time zones are left aside, keys of an object are read by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent_env.families.temp_answers.scoring.loose_json import find_object, is_open, pick_fields
from agent_env.families.temp_answers.scoring.time_numbers import value_of
from agent_env.families.temp_answers.scoring.time_texts import (
    PLAIN,
    REFUSED,
    of_number,
    read_clock,
    read_text,
)
from agent_env.families.temp_answers.scoring.time_units import Amount, convert, unit_named, whole
from agent_env.families.temp_answers.scoring.time_wanted import TimeAnswer, Wanted, unparsable

PREFILL = '{"explanation":'
"""What stands before a response that continues an object."""
MOST = 10**40
"""Larger numbers, and those that are none, are no amount of time."""
_MARKER = re.compile(r"final\s+answer[*_`\s]*+(?:is[*_`\s]*+)?[:：](?:[*_`]+(?=\s|$))?", re.I)
_DAYS = {"same_day": 0, "previous_day": -1, "next_day": 1, "same": 0, "previous": -1, "next": 1}


def read_response(text: str | None, wanted: Wanted, prefilled: bool = False) -> TimeAnswer:
    """What a model's whole response says; `prefilled`: it continues an object that was begun."""
    if text is None or not text.strip():
        return TimeAnswer("unparsable", rule="no text")
    if wanted.style == "line":
        return _read_final_line(text, wanted)
    return _read_object_text(PREFILL + text if prefilled else text, text, wanted)


def read_value(value: Any, wanted: Wanted) -> TimeAnswer:
    """What a value says: a text, a number, or an object by its keys."""
    while isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        return _by_keys(value, wanted)
    if value is None or isinstance(value, (list, tuple, bool)):
        return unparsable(f"the value is {'null' if value is None else type(value).__name__}")
    if isinstance(value, str):
        return read_text(value, wanted)
    if not abs(value) < MOST:
        return unparsable("the value is no number that a time can have")
    return of_number(whole(value), wanted)


# The answer's place -------------------------------------------------------------------------------


def _read_final_line(text: str, wanted: Wanted) -> TimeAnswer:
    markers = list(_MARKER.finditer(text))
    if not markers:
        if REFUSED.search(text[-200:]):
            return TimeAnswer("refused", rule="no Final Answer:")
        cut = text.rstrip()[-1:] not in ".!?:)*}]\"'`"
        return TimeAnswer("truncated" if cut else "unparsable", rule="no Final Answer:")
    rest = text[markers[-1].end() :].strip()
    if not rest:
        return TimeAnswer("truncated", rule="nothing after Final Answer:")
    line = rest.split("\n", 1)[0].strip()
    return read_text(line, wanted)


def _read_object_text(text: str, raw: str, wanted: Wanted) -> TimeAnswer:
    found = find_object(text)
    if found is None or not (set(found) - {"explanation"}):
        others = None if raw is text else find_object(raw)
        found = others or found
    if found is None or not (set(found) - {"explanation"}):
        found = pick_fields(text, tuple(wanted.names)) or found
    if found is not None:
        return _by_keys(found, wanted)
    if REFUSED.search(raw[-200:]):
        return TimeAnswer("refused", rule="no object")
    if is_open(text):
        return TimeAnswer("truncated", rule="the object is not closed")
    return unparsable("no object that can be read")


def _by_keys(found: Mapping[str, Any], wanted: Wanted) -> TimeAnswer:
    """By the names of the keys, in whatever order they stand."""
    given = {str(k).strip(): v for k, v in found.items() if str(k).lower() != "explanation"}
    if not given:
        return unparsable("the object has no answer")
    if wanted.kind != "duration":
        key = next((k for k in wanted.names if k in given), None)
        if key is not None:
            return read_value(given[key], wanted)
        if all(unit_named(key) for key in given) and wanted.kind == "number":
            return _parts(given, wanted, {})
        if len(given) == 1:
            return read_value(next(iter(given.values())), wanted)
        return unparsable(f"no key {' or '.join(wanted.names) or 'answer'}")
    if len(given) == 1 and not set(given) & set(wanted.names):
        key, value = next(iter(given.items()))
        if unit_named(key) is None or isinstance(value, str):
            return read_value(value, wanted)
    return _parts(given, wanted, wanted.names)


def _parts(given: Mapping[str, Any], wanted: Wanted, names: Mapping[str, str]) -> TimeAnswer:
    """The sum of a duration's named parts; each wanted key must be there."""
    total: Amount = 0
    by_unit = {unit_named(key) for key in given}
    for key, meaning in names.items():
        if key not in given and meaning not in by_unit:
            return unparsable(f"key {key} is missing")
    for key, value in given.items():
        meaning = names.get(key) or unit_named(key) or key.lower()
        part = _part(value, meaning, wanted)
        if part is None:
            return unparsable(f"{key} is {_shown(value)}")
        total += part
    return TimeAnswer("parsed", whole(total), "keys by name")


def _part(value: Any, meaning: str, wanted: Wanted) -> Amount | None:
    """One part in the wanted unit; None where it says nothing."""
    if meaning == "day" or (meaning == "days" and str(value).lower() in _DAYS):
        named = _DAYS.get(str(value).strip().lower().replace(" ", "_"))
        days = _number(value) if named is None else named
        return None if days is None else convert(days, "days", wanted.unit)
    if meaning == "time":
        return read_clock(str(value), wanted)
    if meaning == "answer":
        return read_value(value, Wanted(wanted.kind, wanted.unit, clock=wanted.clock)).amount
    number = _number(value)
    return None if number is None else convert(number, meaning, wanted.unit)


def _number(value: Any) -> Amount | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return whole(value) if abs(value) < MOST else None
    if isinstance(value, str) and (match := PLAIN.match(value.strip())):
        return value_of(match[0]) if match.end() == len(value.strip()) else None
    return None


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)[:40]
