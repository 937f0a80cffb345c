"""Which calendar systems there are; each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from agent_env.temporal.systems.base import CalendarError, CalendarSystem, DayNames

_HERE = "agent_env.temporal.systems"

CALENDARS: Mapping[str, str] = MappingProxyType(
    {
        "chinese": f"{_HERE}.chinese.Chinese",
        "coptic": f"{_HERE}.alexandrian.Coptic",
        "ethiopic": f"{_HERE}.alexandrian.Ethiopic",
        "hebrew": f"{_HERE}.hebrew.Hebrew",
        "indian-civil": f"{_HERE}.indian.IndianCivil",
        "islamic": f"{_HERE}.islamic.Islamic",
        "japanese": f"{_HERE}.japanese.Japanese",
        "persian": f"{_HERE}.persian.Persian",
    }
)
"""Calendars that count in months, by name."""

DAY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "easter": f"{_HERE}.easter.EasterDays",
        "solar-terms": f"{_HERE}.solar_terms.SolarTerms",
    }
)
"""Sets of named days that recur every year, by name."""


@cache
def open_calendar(name: str) -> CalendarSystem:
    """The calendar of this name, one per process; CalendarError for an unknown name lists all."""
    calendar: CalendarSystem = _class(CALENDARS, name)()
    return calendar


@cache
def open_day_names(name: str) -> DayNames:
    """The named days of this name, one per process; CalendarError for an unknown name lists all."""
    days: DayNames = _class(DAY_NAMES, name)()
    return days


def _class(paths: Mapping[str, str], name: str) -> Any:
    if name not in paths:
        raise CalendarError(f"unknown calendar {name!r}; known: {', '.join(paths)}")
    module, _, class_name = paths[name].rpartition(".")
    return getattr(import_module(module), class_name)
