"""Parses meta entries of foreign puzzle files as facts: a type with its parameters.

Unambiguous variants of our own form are accepted: parameters flat, under
`params`, `parameters` or `args`, or as an object under `value`; a single parameter under `value`;
weekdays and months by name, abbreviation or number (Monday is 0); a decade as 1990 or "1990s";
`<=`, `>=`, `before`, `after` (made strict); directions `forward`, `backward`, `start`, `end`, or a
negative n; "fall"; other English names of the zodiac animals; type names in capitals or with
`Fact` at their end; a number in quotes; a whole date where an event's year, month or day is meant.
Names match regardless of case, spaces and dots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, get_args

from pydantic import ValidationError

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.facts import MONTHS, SEASONS, SIGNS, WEEKDAYS
from agent_env.temporal.days import PartialDate
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names


def name_key(name: str) -> str:
    """The same for all spellings of a name."""
    return " ".join(name.replace(".", " ").casefold().split())


class FieldError(ValueError):
    """A defect in one field of a foreign file."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def display(value: object) -> str:
    """A foreign value, shortened for an error."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def as_int(value: object, field: str) -> int:
    """A whole number, also as text or as 3.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?[0-9]{1,6}\s*", value):
        return int(value)
    raise FieldError(field, f"{display(value)} is not a whole number")


def as_year(value: object, field: str) -> int:
    """A valid year of a date."""
    year = as_int(value, field)
    if not 1 <= year <= 9999:
        raise FieldError(field, f"year {year} is not within 1 to 9999")
    return year


def as_identifier(value: object, index: int) -> str | int:
    """A text or a number; `index` if it is missing."""
    if value is None:
        return index
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FieldError("identifier", f"{value!r} is neither a text nor a number")
    return value


def as_dates(value: object, field: str = "solutions") -> tuple[str, ...]:
    """Solutions, sorted and distinct, from a list of dates, a text with commas, "None" or null."""
    if value is None:
        return ()
    if isinstance(value, str):
        bare = value.strip().strip("[]")
        value = [] if bare.casefold() in ("", "none") else bare.split(",")
    if not isinstance(value, list):
        raise FieldError(field, f"{value!r} is not a list of dates")
    return tuple(sorted({_solution(day, f"{field}[{at}]") for at, day in enumerate(value)}))


_DAY = re.compile(r"\s*+'?(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ]\d\d:.*+)?'?\s*+")


def _solution(value: object, field: str) -> str:
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise FieldError(field, f"{value!r} is not a date; write YYYY-MM-DD")
    try:
        return date(*map(int, match.groups())).isoformat()
    except ValueError as exc:
        raise FieldError(field, f"{value!r} is not a date: {exc}") from exc


def as_date_or_nothing(value: object) -> str:
    """A date, or an empty text for anything else."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    return value.strip()[:10] if match and isinstance(value, str) else ""


def as_year_range(value: object) -> str:
    """`1800-2050` from any form of a range."""
    if value is None:
        return "1800-2050"
    if isinstance(value, str):
        value = [part.strip() for part in re.split(r"-|–|~|\bto\b|,", value.strip(" []()"))]
    if isinstance(value, Mapping):
        value = [value.get(a, value.get(b)) for a, b in (("start", "min"), ("end", "max"))]
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError("year_range", f"{value!r} is not a pair of years")
    first, last = (as_year(year, "year_range") for year in value)
    if last < first:
        raise FieldError("year_range", f"{last} lies before {first}")
    return f"{first:04d}-{last:04d}"


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
    fact: ft.Fact
    event_years: tuple[int, ...] = ()
    """The entry's years of a multi_year event."""


def read_entry(raw: object) -> MetaEntry:
    """The fact of one entry. Raises FieldError with the wrong parameter."""
    if isinstance(raw, str):
        raw = {"type": raw}
    if not isinstance(raw, Mapping):
        raise FieldError("type", f"{display(raw)} is not a meta entry; write an object with a type")
    values = dict(raw)
    for key in ("params", "parameters", "args", "value"):
        if isinstance(values.get(key), Mapping):
            values.update(values.pop(key))
    name = next((raw[key] for key in ("type", "fact_type", "kind") if key in raw), None)
    if not isinstance(name, str):
        raise FieldError("type", "is missing" if name is None else f"{display(name)} is not a name")
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower().removesuffix("_fact")
    kind = TYPE_ALIASES.get(kind, kind)
    if kind not in FACTS:
        raise FieldError("type", f"'{name}' is unknown; known: {', '.join(sorted(FACTS))}")
    if kind == "event" and name_key(str(values.get("name", ""))) in ("leap_year", "leap year"):
        kind = "leap_year"  # as the published files write it
    years: tuple[int, ...] = ()
    if kind == "kb_event" and aspect_of(values) == "multi_year":
        years = event_years_in(values.get("value"))
    return MetaEntry(_fact(kind, values), years)


def _fact(kind: str, values: dict[str, Any]) -> ft.Fact:
    own = {name: values[name] for name in FACTS[kind].model_fields if name in values}
    fields = READERS[kind](values) if kind in READERS else own | {"type": kind}
    try:
        fact: ft.Fact = FACTS[kind].model_validate(fields)
    except ValidationError as exc:
        first = exc.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else kind
        raise FieldError(field, f"{display(first['input'])}: {first['msg']}") from exc
    return fact


ANIMALS = {name.casefold(): name for name in ft.ANIMALS} | {
    "mouse": "Rat", "cow": "Ox", "buffalo": "Ox", "hare": "Rabbit", "sheep": "Goat", "ram": "Goat",
    "cock": "Rooster", "chicken": "Rooster", "boar": "Pig",
}  # fmt: skip
CALENDARS = {name: name for name in get_args(ft.CalendarMonth.model_fields["calendar"].annotation)}
CALENDARS |= {"ethiopian": "ethiopic", "indian national": "indian-civil"}
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


def as_text(value: object, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FieldError(field, f"{display(value)} is not a text")
    return value.strip()


Fields = dict[str, Any]
Names = Mapping[str, Any] | Iterable[str]
"""Values by name, or names that are their own values."""


def _one(
    field: str, read: Callable[[Any, str], Any] | Names, *names: str
) -> Callable[[Fields], Fields]:
    """A parser of one field, which may also stand under other names, by a function or as one of
    these names."""

    def parse(values: Fields) -> Fields:
        value = _take(values, field, *names, "value")
        return {field: read(value, field) if callable(read) else _lookup(value, field, read)}

    return parse


def _lookup(value: object, field: str, known: Names) -> Any:
    """The value of a name, ignoring case."""
    by_name = known if isinstance(known, Mapping) else {name: name for name in known}
    by_key = {name.casefold(): own for name, own in by_name.items()}
    if (key := str(value).strip().casefold()) not in by_key:
        raise FieldError(field, f"{display(value)} is unknown; known: {', '.join(by_name)}")
    return by_key[key]


def _decade(values: Fields) -> Fields:
    value = _take(values, "decade", "value", "start", "start_year")
    if isinstance(value, str):
        value = re.sub(r"^(?:the\s+)?(\d{4})'?s$", r"\1", value.strip())
    first = as_year(value, "decade")
    if first % 10 or first > 9890:  # the last decade whose dates are valid
        reason = f"{first} does not begin a decade; write its first year, as 1990"
        raise FieldError("decade", reason)
    return {"decade": first}


def _year_range(values: Fields, start: str = "start", end: str = "end") -> Fields:
    pair = values.get("value")
    if isinstance(pair, list) and len(pair) == 2:
        values = {"start": pair[0], "end": pair[1]}
    first = as_year(_take(values, "start", "start_year", "from", "min"), start)
    last = as_year(_take(values, "end", "end_year", "to", "max"), end)
    if last < first:
        raise FieldError(end, f"{last} lies before {first}")
    return {"start": first, "end": last}


def _leap_year(values: Fields) -> Fields:
    if values.get("value") not in (None, True):
        raise FieldError("value", f"{display(values['value'])}: only leap years can be asked for")
    return {}


def _weekdays(values: Fields) -> Fields:
    listed = _take(values, "value", "weekdays", "values", "days")
    if isinstance(listed, str):
        listed = re.split(r"[,;/|]", listed)
    if not isinstance(listed, list | tuple):
        raise FieldError("value", f"{display(listed)} is not a list of weekdays")
    return {"value": tuple(dict.fromkeys(_lookup(day, "value", WEEKDAY_NAMES) for day in listed))}


def _nth(values: Fields) -> Fields:
    n = as_int(_take(values, "n", "nth", "occurrence", "number"), "n")
    if n < 0:
        values = {"direction": "last", **values}
    direction = _lookup(_take(values, "direction"), "direction", DIRECTIONS)
    return {"direction": direction, "n": abs(n), **_one("weekday", WEEKDAY_NAMES, "day")(values)}


def _day_range(values: Fields) -> Fields:
    value = as_int(_take(values, "value", "day"), "value")
    operator, more = _lookup(_take(values, "operator", "op"), "operator", OPERATORS)
    return {"operator": operator, "value": value + more}


def _calendar_month(values: Fields) -> Fields:
    calendar = _lookup(_take(values, "calendar"), "calendar", CALENDARS)
    names = {name: number for number, name in enumerate(open_calendar(calendar).months, start=1)}
    numbers = {str(number): number for number in names.values()}
    month = _lookup(_take(values, "month"), "month", names | numbers)
    return {"calendar": calendar, "month": month}


def _recurring(values: Fields) -> Fields:
    name = str(_take(values, "name", "event", "value")).casefold().replace("_", " ")
    if "olympic" in name and "winter" not in name:
        return {"name": "summer_olympics"}
    if re.search(r"world ?cup", name) and "women" not in name:
        return {"name": "world_cup"}
    raise FieldError("name", f"'{name}' is unknown; known: summer_olympics, world_cup")


def _kb_event(values: Fields) -> Fields:
    aspect = aspect_of(values)
    event = as_text(_take(values, "event", "event_name", "name"), "event")
    if aspect == "multi_year":
        return {"event": event, "aspect": aspect, "level": "year"}
    level = _lookup(_take(values, "level"), "level", ("year", "month", "day"))
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
    from agent_env.features.facts.tables.tables import parse_years  # texts have no need of it

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
        if isinstance(part, list | tuple) and len(part) == 2:
            ends = _year_range({"value": list(part)}, "value", "value")
            years |= set(range(ends["start"], ends["end"] + 1))
        else:
            years |= set(event_years_in(part))
    return tuple(sorted(years))


OPERATORS = {
    **dict.fromkeys(("<", "before", "earlier", "lt"), ("<", 0)),
    **dict.fromkeys((">", "after", "later", "gt"), (">", 0)),
    **dict.fromkeys(("<=", "≤", "on or before"), ("<", 1)),
    **dict.fromkeys((">=", "≥", "on or after"), (">", -1)),
}
for _than in ("less", "smaller", "lower", "earlier"):
    OPERATORS |= {f"{_than} than": ("<", 0), f"{_than} than or equal to": ("<", 1)}
for _than in ("greater", "larger", "higher", "later"):
    OPERATORS |= {f"{_than} than": (">", 0), f"{_than} than or equal to": (">", -1)}
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
READERS: dict[str, Callable[[Fields], Fields]] = {
    "explicit_year": _one("year", as_year),
    "decade": _decade,
    "year_range": _year_range,
    "leap_year": _leap_year,
    "chinese_zodiac": _one("animal", ANIMALS, "zodiac", "sign"),
    "western_zodiac": _one("sign", {name.casefold(): name for name in SIGNS}, "zodiac"),
    "person_alive": _one("person", as_text, "name"),
    "us_president": _one("person", as_text, "president", "name"),
    "event": _recurring,
    "month": _one("month", MONTH_NAMES),
    "season": _one("season", {name: name for name in SEASONS} | {"fall": "autumn"}),
    "calendar_month": _calendar_month,
    "japanese_era": _one("era", get_args(ft.JapaneseEra.model_fields["era"].annotation)),
    "church_day": lambda values: _one("name", open_day_names("easter").names)(values),
    "solar_term": lambda values: _one("name", open_day_names("solar-terms").names)(values),
    "lunar_month": _one("month", as_int, "lunar_month"),
    "weekday": _one("weekday", WEEKDAY_NAMES, "day"),
    "multi_weekday": _weekdays,
    "weekday_in_month": _nth,
    "weekday_in_year": _nth,
    "day_of_month_specific": _one("day", as_int, "day_of_month"),
    "first_day_of_month": lambda values: {},
    "last_day_of_month": lambda values: {},
    "day_of_month": _day_range,
    "day_of_year": _one("day", as_int, "day_of_year"),
    "kb_event": _kb_event,
}
