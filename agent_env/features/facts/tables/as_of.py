"""Fact tables and temporal tables as they could be known at the end of a day.

What began later is not there, what ended later lasts still, and what is told of a thing when it is
over (its outcome, what someone became known for) is not told before. Events that are public long
before they begin are kept apart as planned, the next one of a numbered series alone.

Not covered: names that only a later time gave, such as that of a first war, and texts of a user's
own table that look ahead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta

from agent_env.features.facts.tables.articles import time_places
from agent_env.features.facts.tables.event_names import series_of
from agent_env.features.facts.tables.tables import EventRow, FactTables, LivingRow
from agent_env.sdk.records import MaterialTable
from agent_env.temporal.days import PartialDate

LEADS = {
    "games": 900, "tournament": 900, "exposition": 900, "festival": 400, "congress": 400,
    "exhibition": 400, "election": 365, "referendum": 120, "coronation": 120,
}  # fmt: skip
"""Kinds of events that are announced, and how many days before the first one at most."""
GROWN_UP = timedelta(days=16 * 365.25)
"""The age from which a living person has an article."""


def tables_as_of(tables: FactTables, today: date) -> FactTables:
    """The tables as they were known on that day, with what was planned then."""
    return replace(
        tables,
        events=tuple(row for event in tables.events if (row := _event(event, today)) is not None),
        presidents=tuple(
            replace(row, end=_past(row.end, today))
            for row in tables.presidents
            if row.start <= today
        ),
        people=tuple(row for row in tables.people if row.end <= today),
        intervals=tuple(
            replace(row, end=_past(row.end, today))
            for row in tables.intervals
            if row.start <= today
        ),
        today=today,
        planned=tuple(_planned(tables.events, today)),
        living=tuple(
            LivingRow(row.person, row.description if tables.invented else "", row.start, row.source)
            for row in tables.people
            if row.start + GROWN_UP <= today < row.end
        ),
    )


def _event(row: EventRow, today: date) -> EventRow | None:
    """The event as it was known; None where it was not. A month or a year is past when its last
    day is."""
    years = tuple(year for year in row.years if year < today.year)
    is_whole = years == row.years
    row = replace(
        row,
        summary=_told(row.summary, today) if is_whole else "",
        hint=_told(row.hint, today) if is_whole else "",
        years=years,
        source=_told(row.source, today),
    )
    if row.start is None and (row.end is None or row.end.last > today):
        return replace(row, end=None) if years else None
    if row.start is not None and row.start.last > today:
        return None
    if row.end is None or row.end.last <= today:
        return row
    return replace(row, end=None, summary="", hint="")


def _told(text: str, today: date) -> str:
    """The text; nothing where it names a later year."""
    later = (year for year in re.findall(r"(?<!\d)[12]\d{3}(?!\d)", text) if int(year) > today.year)
    return "" if any(later) else text


def _past(day: date | None, today: date) -> date | None:
    return day if day is not None and day <= today else None


def _planned(events: Iterable[EventRow], today: date) -> Iterator[EventRow]:
    """Without what can be said of them only afterwards, by their first days."""
    coming = [
        (row.start.first, row)
        for row in events
        if row.kind in LEADS and row.start is not None and row.start.last > today
    ]
    series: set[str] = set()
    for first, row in sorted(coming, key=lambda pair: pair[0]):
        if (first - today).days <= LEADS[row.kind] and series_of(row.event) not in series:
            series.add(series_of(row.event))
            yield replace(row, years=(), summary="", hint="")


def material_as_of(table: MaterialTable, today: date) -> MaterialTable:
    """A temporal table as it was known on that day; rows whose start is not a date are left out, as
    nothing says that they are of the past."""
    start, end = time_places(table)
    rows = (
        tuple(None if place == end and not _is_past(cell, today) else cell
              for place, cell in enumerate(row))
        for row in table.rows
        if _is_past(row[start], today)
    )  # fmt: skip
    return table.model_copy(update={"rows": tuple(rows)})


def undated_rows(table: MaterialTable) -> int:
    """How many rows `material_as_of` leaves out on any day."""
    start, _ = time_places(table)
    return sum(_first_day(row[start]) is None for row in table.rows)


def _is_past(cell: str | int | float | None, today: date) -> bool:
    day = _first_day(cell)
    return day is not None and day <= today


def _first_day(cell: str | int | float | None) -> date | None:
    try:
        return PartialDate.parse(str(cell)).first
    except ValueError:
        return None
