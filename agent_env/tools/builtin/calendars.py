"""The `calendars` tool: conversion between calendars, weekdays, counting and adding days."""

from __future__ import annotations

import calendar
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_env.errors import ToolError
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.temporal.systems.base import CalendarDate, CalendarError, CalendarSystem
from agent_env.temporal.systems.catalogue import CALENDARS, DAY_NAMES, open_calendar, open_day_names
from agent_env.temporal.systems.chinese import Chinese
from agent_env.tools.toolbox import parse_arguments, tool_spec

T = TypeVar("T")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Operation = Literal["describe", "to_gregorian", "nth_weekday", "add", "difference", "named_day"]
UNITS = ("days", "months", "years")

DATES = ("date", "other_date")
EXAMPLES: Mapping[Operation, Mapping[str, JsonValue]] = {
    "describe": {"date": "1950-06-15", "calendar": "hebrew"},
    "to_gregorian": {"calendar": "japanese", "era": "Showa", "year": 25, "month": 6, "day": 15},
    "nth_weekday": {"n": 2, "weekday": "Sunday", "year": 1950, "month": 6},
    "add": {"date": "1950-06-15", "n": -30, "unit": "days"},
    "difference": {"date": "1950-06-15", "other_date": "1950-12-24"},
    "named_day": {"calendar": "easter", "name": "Palm Sunday", "year": 1950},
}
"""Arguments of one call of each operation, beside `operation`."""
MEANINGS: Mapping[Operation, str] = {
    "describe": "weekday, day of the year, Chinese lunar date, zodiac animal; with calendar: the "
    "date in it",
    "to_gregorian": "the Gregorian date",
    "nth_weekday": "its date; without month: of the year; n -1: the last",
    "add": "the date n days, months or years later",
    "difference": "days from date to other_date",
    "named_day": "its date; of easter or solar-terms",
}


def _example(operation: Operation) -> str:
    return json.dumps({"operation": operation, **EXAMPLES[operation]})


DESCRIPTION = "\n".join(
    (
        "Exact calendar arithmetic. Dates are Gregorian, YYYY-MM-DD. An example of each operation:",
        *(f"{_example(operation)}: {meaning}" for operation, meaning in MEANINGS.items()),
    )
)


def _one_of(names: Iterable[str]) -> Any:
    """An optional text, whose values the specification lists."""
    return Field(default=None, json_schema_extra={"enum": [*names]})


class CalendarArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    # in the order of EXAMPLES: a server that holds calls to the schema holds them to its order, too
    operation: Operation
    date: str | None = None
    other_date: str | None = None
    calendar: str | None = _one_of((*CALENDARS, *DAY_NAMES))
    era: str | None = Field(default=None, description="Japanese era.")
    name: str | None = None
    n: int | None = None
    unit: str | None = _one_of(UNITS)
    weekday: str | None = _one_of(WEEKDAYS)
    year: int | None = None
    month: int | None = None
    day: int | None = None
    leap_month: bool = Field(default=False, description="Chinese leap month of that number.")


class _MissingArgument(Exception):
    """The name of an argument that the operation needs."""


class Calendars:
    """Answers from the calendar systems of `temporal`; a ToolError outside their ranges."""

    def __init__(self, today: date | None = None) -> None:
        """`today`: what the word means as a date; without it, it is none."""
        self._today = today
        text = DESCRIPTION
        if today is not None:
            text = text.replace("YYYY-MM-DD.", "YYYY-MM-DD, or `today`.", 1)
        self.spec = tool_spec("calendars", text, CalendarArguments)

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        if self._today is not None:
            arguments = {
                name: str(self._today) if name in DATES and value == "today" else value
                for name, value in arguments.items()
            }
        query = parse_arguments(CalendarArguments, arguments)
        try:
            return ToolResult(output=_OPERATIONS[query.operation](query))
        except _MissingArgument as exc:
            operation = query.operation
            raise ToolError(f"{operation} needs `{exc}`, as in {_example(operation)}") from exc
        except CalendarError as exc:
            raise ToolError(str(exc)) from exc
        except OverflowError as exc:
            raise ToolError("the result is outside the years 1 to 9999") from exc


TOOL = ToolDeclaration(
    ToolTraits(name="calendars", gives_dates=True), open=lambda supplies: Calendars(supplies.today)
)


@contextmanager
def _hint(text: str) -> Iterator[None]:
    """What a refusal of the calendar adds: the operation that may have been meant."""
    try:
        yield
    except CalendarError as exc:
        raise ToolError(f"{exc}; {text}") from exc


def _describe(query: CalendarArguments) -> str:
    day = _date(query.date, "date")
    lines = [f"{day} is a {WEEKDAYS[day.weekday()]}, day {day.timetuple().tm_yday} of the year."]
    if query.calendar is not None:
        other = "`date` is Gregorian; of a date in that calendar, to_gregorian gives it"
        with _hint(other):
            lines.append(_in_calendar(day, open_calendar(query.calendar)))
    chinese = Chinese()
    try:
        when = chinese.from_gregorian(day)
    except CalendarError as exc:
        return "\n".join([*lines, str(exc)])
    lines.append(f"Chinese lunar date: {_lunar_text(when)}, year of the {chinese.animal(day)}.")
    return "\n".join(lines)


def _lunar_text(when: CalendarDate) -> str:
    leap = "leap month" if when.leap_month else "month"
    return f"day {when.day} of {leap} {when.month} of lunar year {when.year}"


def _in_calendar(day: date, system: CalendarSystem) -> str:
    when = system.from_gregorian(day)
    leap = "leap " if when.leap_month else ""
    era = f"{when.era} " if when.era else ""
    month = f"{leap}month {when.month} ({system.month_name(when)})"
    return f"{day} is day {when.day} of {month} of {era}year {when.year} ({system.name})."


def _to_gregorian(query: CalendarArguments) -> str:
    system = _system(query)
    when = CalendarDate(
        _require(query.year, "year"),
        _require(query.month, "month"),
        _require(query.day, "day"),
        query.leap_month,
        query.era,
    )
    with _hint(f"of a Gregorian date, describe with calendar {system.name} gives it there"):
        day = system.to_gregorian(when)
    return f"{day} ({WEEKDAYS[day.weekday()]})"


def _nth_weekday(query: CalendarArguments) -> str:
    year, n = _require(query.year, "year"), _require(query.n, "n")
    first, last = _bounds(year, query.month)
    name = _require(query.weekday, "weekday").capitalize()
    if name not in WEEKDAYS:
        raise ToolError(f"'{query.weekday}' is not a weekday; write one of {', '.join(WEEKDAYS)}")
    weekday = WEEKDAYS.index(name)
    if n == 0:
        raise ToolError("n cannot be 0; count from 1, or from -1 at the end")
    if n > 0:
        day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (n - 1))
    else:
        day = last - timedelta(days=(last.weekday() - weekday) % 7 + 7 * (-n - 1))
    if not first <= day <= last:
        raise ToolError(f"there is no {WEEKDAYS[weekday]} number {n} between {first} and {last}")
    return str(day)


def _bounds(year: int, month: int | None) -> tuple[date, date]:
    if not 1 <= year <= 9998:
        raise ToolError(f"year {year} is outside 1 to 9998")
    if month is None:
        return date(year, 1, 1), date(year, 12, 31)
    if not 1 <= month <= 12:
        raise ToolError(f"month {month} is outside 1 to 12")
    return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])


def _add(query: CalendarArguments) -> str:
    day, n = _date(query.date, "date"), _require(query.n, "n")
    unit = _require(query.unit, "unit")
    if unit not in UNITS:
        raise ToolError(f"'{unit}' is no unit; write one of {', '.join(UNITS)}")
    if unit == "days":
        result = day + timedelta(days=n)
    else:
        months = day.year * 12 + day.month - 1 + n * (12 if unit == "years" else 1)
        year, month = divmod(months, 12)
        _, last = _bounds(year, month + 1)
        result = last.replace(day=min(day.day, last.day))
    return f"{result} ({WEEKDAYS[result.weekday()]})"


def _difference(query: CalendarArguments) -> str:
    start, end = _date(query.date, "date"), _date(query.other_date, "other_date")
    return f"{(end - start).days} days from {start} to {end}"


def _named_day(query: CalendarArguments) -> str:
    names = open_day_names(_require(query.calendar, "calendar"))
    day = names.in_year(_require(query.name, "name"), _require(query.year, "year"))
    return f"{day} ({WEEKDAYS[day.weekday()]})"


_OPERATIONS = {
    "describe": _describe,
    "to_gregorian": _to_gregorian,
    "nth_weekday": _nth_weekday,
    "add": _add,
    "difference": _difference,
    "named_day": _named_day,
}


def _system(query: CalendarArguments) -> CalendarSystem:
    return open_calendar(_require(query.calendar, "calendar"))


def _date(text: str | None, name: str) -> date:
    try:
        return date.fromisoformat(_require(text, name))
    except ValueError as exc:
        raise ToolError(f"{name} '{text}' is not a date ({exc}); write YYYY-MM-DD") from exc


def _require(value: T | None, name: str) -> T:
    if value is None:
        raise _MissingArgument(name)
    return value
