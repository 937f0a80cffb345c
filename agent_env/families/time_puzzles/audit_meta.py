"""Parses meta entries of foreign puzzle files as facts: a type with its parameters.

Unambiguous variants of our own form are accepted: parameters flat, under
`params`, `parameters` or `args`, or as an object under `value`; a single parameter under `value`;
weekdays and months by name, abbreviation or number (Monday is 0); a decade as 1990 or "1990s";
`<=`, `>=`, `before`, `after` (made strict); directions `forward`, `backward`, `start`, `end`, or a
negative n; "fall"; other English names of the zodiac animals; type names in capitals or with
`Fact` at their end; a number in quotes; a whole date where an event's year, month or day is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.audit_fields import FieldError, display
from agent_env.families.time_puzzles.audit_params import READERS, aspect_of, event_years_in
from agent_env.families.time_puzzles.names import name_key
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names
from agent_env.temporal.systems.japanese import ERAS

FACTS: dict[str, Any] = {
    kind.model_fields["type"].default: kind for kind in get_args(get_args(ft.Fact)[0])
}
"""The record of each type."""

TYPE_ALIASES = {
    "knowledge_base_event": "kb_event",
    "president": "us_president",
    "day_of_month_range": "day_of_month",
    "year": "explicit_year",
}


@dataclass(frozen=True, slots=True)
class MetaEntry:
    """A parsed meta entry."""

    fact: ft.Fact
    event_years: tuple[int, ...] = ()
    """The entry's years of a multi_year event."""


def read_entry(raw: object) -> MetaEntry:
    """The fact of one entry. Raises FieldError with the wrong parameter."""
    if isinstance(raw, str):
        raw = {"type": raw}
    if not isinstance(raw, Mapping):
        raise FieldError("type", f"{display(raw)} is not a meta entry; write an object with a type")
    values = _flat(raw)
    kind = _type_of(raw)
    if kind == "event" and name_key(str(values.get("name", ""))) in ("leap_year", "leap year"):
        kind = "leap_year"  # as the published files write it
    years: tuple[int, ...] = ()
    if kind == "kb_event" and aspect_of(values) == "multi_year":
        years = event_years_in(values.get("value"))
    return MetaEntry(_fact(kind, values), years)


def _type_of(raw: Mapping[str, Any]) -> str:
    name = next((raw[key] for key in ("type", "fact_type", "kind") if key in raw), None)
    if not isinstance(name, str):
        raise FieldError("type", "is missing" if name is None else f"{display(name)} is not a name")
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower().removesuffix("_fact")
    kind = TYPE_ALIASES.get(kind, kind)
    if kind not in FACTS:
        raise FieldError("type", f"'{name}' is unknown; known: {', '.join(sorted(FACTS))}")
    return kind


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, flattened."""
    values = dict(raw)
    for key in ("params", "parameters", "args", "value"):
        if isinstance(values.get(key), Mapping):
            values.update(values.pop(key))
    return values


def _fact(kind: str, values: dict[str, Any]) -> ft.Fact:
    fields = READERS[kind](values) if kind in READERS else _as_written(kind, values)
    try:
        fact: ft.Fact = FACTS[kind].model_validate(fields)
    except ValidationError as exc:
        first = exc.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else kind
        raise FieldError(field, f"{display(first['input'])}: {first['msg']}") from exc
    _require_known(fact)
    return fact


def _as_written(kind: str, values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in FACTS[kind].model_fields if name in values} | {
        "type": kind
    }


def _require_known(fact: ft.Fact) -> None:
    """Raises FieldError for a name that no calendar has."""
    valid_names: tuple[str, ...]
    match fact:
        case ft.ChurchDay(name=name):
            valid_names = open_day_names("easter").names
        case ft.SolarTerm(name=name):
            valid_names = open_day_names("solar-terms").names
        case ft.JapaneseEra(era=name):
            valid_names = tuple(era.name for era in ERAS)
        case ft.CalendarMonth(calendar=calendar, month=month):
            valid_names = tuple(map(str, range(1, len(open_calendar(calendar).months) + 1)))
            name = str(month)
        case _:
            return
    if name not in valid_names:
        raise FieldError("name", f"'{name}' is unknown; known: {', '.join(valid_names)}")
