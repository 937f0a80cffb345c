"""Parsers of the parameters of foreign meta entries, by type; `audit_meta` lists the variants."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agent_env.families.time_puzzles.audit_fields import FieldError, as_int, as_year, display
from agent_env.families.time_puzzles.facts import ANIMALS, MONTHS, SEASONS, SIGNS, WEEKDAYS
from agent_env.families.time_puzzles.texts.vocabulary import OTHER_ANIMALS
from agent_env.temporal.facts.tables import parse_years
from agent_env.temporal.partial import PartialDate

LAST_DECADE = 9890
"""The last decade whose dates are valid."""
DIRECTIONS = {
    **dict.fromkeys(("first", "forward", "forwards", "start", "beginning", "begin"), "first"),
    **dict.fromkeys(("last", "backward", "backwards", "end", "reverse"), "last"),
}
ASPECTS = {
    **dict.fromkeys(("start", "begin", "beginning"), "start"),
    **dict.fromkeys(("end", "finish", "ending"), "end"),
    **dict.fromkeys(("multi_year", "multiyear", "multi-year", "multi year"), "multi_year"),
}


def _take(values: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if values.get(name) is not None:
            return values[name]
    raise FieldError(names[0], "is missing")


def _number(values: Mapping[str, Any], *names: str) -> int:
    return as_int(_take(values, *names), names[0])


def _text(values: Mapping[str, Any], *names: str) -> str:
    value = _take(values, *names)
    if not isinstance(value, str) or not value.strip():
        raise FieldError(names[0], f"{display(value)} is not a text")
    return value.strip()


def _decade(values: dict[str, Any]) -> dict[str, Any]:
    value = _take(values, "decade", "value", "start", "start_year")
    if isinstance(value, str):
        value = re.sub(r"^(?:the\s+)?(\d{4})'?s$", r"\1", value.strip())
    first = as_year(value, "decade")
    if first % 10 or first > LAST_DECADE:
        raise FieldError(
            "decade", f"{first} does not begin a decade; write its first year, as 1990"
        )
    return {"decade": first}


def _year_range(values: dict[str, Any], start: str = "start", end: str = "end") -> dict[str, Any]:
    pair = values.get("value")
    if isinstance(pair, list) and len(pair) == 2:
        values = {"start": pair[0], "end": pair[1]}
    first = as_year(_take(values, "start", "start_year", "from", "min"), start)
    last = as_year(_take(values, "end", "end_year", "to", "max"), end)
    if last < first:
        raise FieldError(end, f"{last} lies before {first}")
    return {"start": first, "end": last}


def _among(
    field: str, values_by_name: Mapping[str, Any], *names: str
) -> Callable[[Any], dict[str, Any]]:
    """A parser of a name, ignoring case, as its value."""

    def parse(values: dict[str, Any]) -> dict[str, Any]:
        return {field: _lookup(_take(values, field, *names, "value"), field, values_by_name)}

    return parse


def _lookup(value: object, field: str, values_by_name: Mapping[str, Any]) -> Any:
    name = str(value).strip().casefold()
    if name not in values_by_name:
        raise FieldError(field, f"{display(value)} is unknown; known: {', '.join(values_by_name)}")
    return values_by_name[name]


def _leap_year(values: dict[str, Any]) -> dict[str, Any]:
    if values.get("value") not in (None, True):
        raise FieldError("value", f"{display(values['value'])}: only leap years can be asked for")
    return {}


def _weekday(value: object, field: str) -> Any:
    return _lookup(value, field, WEEKDAY_NAMES)


def _weekdays(values: dict[str, Any]) -> dict[str, Any]:
    listed = _take(values, "value", "weekdays", "values", "days")
    if isinstance(listed, str):
        listed = re.split(r"[,;/|]", listed)
    if not isinstance(listed, list | tuple):
        raise FieldError("value", f"{display(listed)} is not a list of weekdays")
    return {"value": tuple(dict.fromkeys(_weekday(day, "value") for day in listed))}


def _nth(values: dict[str, Any]) -> dict[str, Any]:
    n = _number(values, "n", "nth", "occurrence", "number")
    direction = "last" if n < 0 and "direction" not in values else None
    direction = direction or _lookup(_take(values, "direction"), "direction", DIRECTIONS)
    return {"direction": direction, "weekday": _weekday(_take(values, "weekday", "day"),
            "weekday"), "n": abs(n)}  # fmt: skip


def _day_range(values: dict[str, Any]) -> dict[str, Any]:
    value = _number(values, "value", "day")
    operator = str(_take(values, "operator", "op")).strip().casefold()
    match operator:
        case "<" | "before" | "lt" | "less than":
            return {"operator": "<", "value": value}
        case ">" | "after" | "gt" | "greater than":
            return {"operator": ">", "value": value}
        case "<=" | "≤":
            return {"operator": "<", "value": value + 1}
        case ">=" | "≥":
            return {"operator": ">", "value": value - 1}
    raise FieldError("operator", f"'{operator}' is unknown; known: <, >, <=, >=, before, after")


def _recurring(values: dict[str, Any]) -> dict[str, Any]:
    name = str(_take(values, "name", "event", "value")).casefold().replace("_", " ")
    if "olympic" in name and "winter" not in name:
        return {"name": "summer_olympics"}
    if re.search(r"world ?cup", name) and "women" not in name:
        return {"name": "world_cup"}
    raise FieldError("name", f"'{name}' is unknown; known: summer_olympics, world_cup")


def _kb_event(values: dict[str, Any]) -> dict[str, Any]:
    aspect = aspect_of(values)
    event = _text(values, "event", "event_name", "name")
    if aspect == "multi_year":
        return {"event": event, "aspect": aspect, "level": "year"}
    level = _lookup(_take(values, "level"), "level", {x: x for x in ("year", "month", "day")})
    value = _part(_take(values, "value", level), level)
    return {"event": event, "aspect": aspect, "level": level, "value": value}


def aspect_of(values: Mapping[str, Any]) -> str:
    return str(_lookup(_take(values, "aspect"), "aspect", ASPECTS))


def _part(value: object, level: str) -> int:
    """The common part of an event's date: a number, a month's name, or from a whole date."""
    if isinstance(value, str) and re.match(r"\d{4}-\d\d", value):
        try:
            part = getattr(PartialDate.parse(value[:10]), level)
        except ValueError as exc:
            raise FieldError("value", str(exc)) from exc
        return as_int(part, "value")
    if level == "month":
        return int(_lookup(value, "value", MONTH_NAMES))
    number = as_year(value, "value")
    if level == "day" and number > 31:
        raise FieldError("value", f"{number} is not a day of a month")
    return number


def event_years_in(value: object) -> tuple[int, ...]:
    """Years of a multi_year event: one, a list, pairs, or spans as text."""
    if value is None:
        return ()
    if isinstance(value, str):
        text = value.replace(",", ";").replace("–", "~").replace("-", "~")
        try:
            return parse_years(text.strip(" []"))
        except ValueError as exc:
            raise FieldError("value", str(exc)) from exc
    if not isinstance(value, list | tuple):
        return (as_year(value, "value"),)
    years: set[int] = set()
    for part in value:
        pair = part if isinstance(part, list | tuple) else None
        if pair is not None and len(pair) == 2:
            ends = _year_range({"value": list(pair)}, "value", "value")
            years |= set(range(ends["start"], ends["end"] + 1))
        else:
            years |= set(event_years_in(part))
    return tuple(sorted(years))


WEEKDAY_NAMES = {
    form: name
    for number, name in enumerate(WEEKDAYS)
    for form in (name.casefold(), name[:3].casefold(), str(number))
}
MONTH_NAMES = {
    form: number
    for number, name in enumerate(MONTHS, start=1)
    for form in (name.casefold(), name[:3].casefold(), str(number), f"{number:02d}")
}
READERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "explicit_year": lambda v: {"year": as_year(_take(v, "year", "value"), "year")},
    "decade": _decade,
    "year_range": _year_range,
    "leap_year": _leap_year,
    "chinese_zodiac": _among(
        "animal", {name.casefold(): name for name in ANIMALS} | OTHER_ANIMALS, "zodiac", "sign"
    ),
    "western_zodiac": _among("sign", {name.casefold(): name for name in SIGNS}, "zodiac"),
    "person_alive": lambda v: {"person": _text(v, "person", "name", "value")},
    "us_president": lambda v: {"person": _text(v, "person", "president", "name", "value")},
    "event": _recurring,
    "month": _among("month", MONTH_NAMES),
    "season": _among("season", {name: name for name in SEASONS} | {"fall": "autumn"}),
    "lunar_month": lambda v: {"month": _number(v, "month", "lunar_month", "value")},
    "weekday": lambda v: {"weekday": _weekday(_take(v, "weekday", "value", "day"), "weekday")},
    "multi_weekday": _weekdays,
    "weekday_in_month": _nth,
    "weekday_in_year": _nth,
    "day_of_month_specific": lambda v: {"day": _number(v, "day", "value", "day_of_month")},
    "first_day_of_month": lambda v: {},
    "last_day_of_month": lambda v: {},
    "day_of_month": _day_range,
    "day_of_year": lambda v: {"day": _number(v, "day", "value", "day_of_year")},
    "kb_event": _kb_event,
}
