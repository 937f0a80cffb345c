"""Fact tables as typed rows: events, terms, lives, and intervals of relations. Read from CSV, every
defect named by file and line; written whole or not at all, the same rows as the same bytes.

A whole world fits into one event table: lives are its rows of kind `person`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from agent_env.features.facts.tables.table_files import checked_rows, read_table_file
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.records import csv_text, replace_file
from agent_env.temporal.date_text import DateReader
from agent_env.temporal.days import PartialDate

SHIPPED = Path(__file__).parent

COLUMNS = ("event", "kind", "summary", "hint", "start", "end", "multi_year_spans", "source")
"""Of an event table in full."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class EventRow:
    """Something that happened, from its first to its last day."""

    event: str
    """A noun phrase as it is in a sentence."""
    kind: str
    """One noun: war, mission, office, …"""
    summary: str
    """One sentence on what it was, without its dates."""
    hint: str
    """Another noun phrase for it that avoids its title; empty where there is none."""
    start: PartialDate | None
    end: PartialDate | None
    years: tuple[int, ...]
    """All years in which it held, where that is known to be complete; else empty."""
    source: str
    """Title of an encyclopedia article."""
    now: date | None = None
    """For a row without an end: the day on which it is stated to have lasted still."""
    obscurity: float | None = None
    """Share of a panel of models that could not date it, 0 to 1; None where none was asked."""


@dataclass(frozen=True, slots=True)
class TermRow:
    """One uninterrupted term in an office."""

    person: str
    start: date
    end: date | None
    """Last day in office; None while it lasts."""
    source: str


@dataclass(frozen=True, slots=True)
class LifeRow:
    """A person's first and last day."""

    person: str
    description: str
    start: date
    end: date
    source: str


@dataclass(frozen=True, slots=True)
class LivingRow:
    """A person's first day, in tables as of a day before the last one."""

    person: str
    description: str
    """Empty where it says what only a whole life shows."""
    start: date
    source: str


Relation = Literal[
    "holds_office",
    "plays_for",
    "manages",
    "works_for",
    "member_of",
    "attends",
    "owns",
    "heads",
]


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """`subject relation object` held on every day from start to end."""

    subject: str
    """A person; or a company that owns another."""
    relation: Relation
    object: str
    """An office, a club, an employer, a party, a school, or what is owned or headed."""
    start: date
    """First day."""
    end: date | None
    """Last day, included; None while it lasts."""


@dataclass(frozen=True, slots=True)
class FactTables:
    """All tables that puzzles and the sealed web draw on."""

    events: tuple[EventRow, ...]
    presidents: tuple[TermRow, ...]
    people: tuple[LifeRow, ...]
    intervals: tuple[IntervalRow, ...] = ()
    """Who stood in which relation to what; no puzzle is made of them yet."""
    invented: bool = False
    """Whether all of it is made up, so that pages say so."""
    today: date | None = None
    """The day as of which the tables are; None where all that happened is in them."""
    planned: tuple[EventRow, ...] = ()
    """What has not begun and is announced."""
    living: tuple[LivingRow, ...] = ()
    """Grown-ups who have not died."""


@cache
def shipped_tables() -> FactTables:
    """The tables that come with the package, read once per process."""
    return FactTables(
        events=read_events(SHIPPED / "events.csv"),
        presidents=read_rows(SHIPPED / "presidents.csv", lambda raw: TermRow(**_dated(raw))),
        people=read_rows(SHIPPED / "people.csv", lambda raw: LifeRow(**_dated(raw))),
    )


def read_events(file: Path) -> tuple[EventRow, ...]:
    """The events of a CSV file; DatasetError for the first defect."""
    rows = read_rows(file, _event)
    if not rows:
        raise DatasetError(file, None, "holds no event; agent-env docs facts lists the columns")
    first_lines: dict[str, int] = {}
    for line, row in enumerate(rows, start=2):
        if row.event in first_lines:
            raise DatasetError(
                file, line, f"'{row.event}' is also on line {first_lines[row.event]} too"
            )
        first_lines[row.event] = line
    return rows


def read_rows(file: Path, parse: Callable[[dict[str, str]], Row]) -> tuple[Row, ...]:
    """What `parse` makes of each row; its KeyError and ValueError become DatasetErrors."""
    return tuple(_rows(file, parse))


def _rows(file: Path, parse: Callable[[dict[str, str]], Row]) -> Iterator[Row]:
    for row in checked_rows(file, read_table_file(file)):
        try:
            yield parse({name: str(cell or "").strip() for name, cell in row.cells.items()})
        except KeyError as exc:
            raise DatasetError(file, row.line, f"no column {exc}") from exc
        except ValueError as exc:
            raise DatasetError(file, row.line, str(exc)) from exc


def _event(raw: dict[str, str]) -> EventRow:
    if missing := [name for name in COLUMNS if name not in raw]:
        raise ValueError(
            f"no column '{missing[0]}'; first make the full form of it: "
            "agent-env web facts import YOURS.csv --out events.csv"
        )
    start = PartialDate.parse(raw["start"]) if raw["start"] else None
    end = PartialDate.parse(raw["end"]) if raw["end"] else None
    if not raw["event"]:
        raise ValueError("the event has no name")
    if start and end and end.last < start.first:
        raise ValueError(f"'{raw['event']}' ends on {end}, before its start on {start}")
    return EventRow(
        event=raw["event"],
        kind=raw["kind"],
        summary=raw["summary"],
        hint=raw["hint"],
        start=start,
        end=end,
        years=parse_years(raw["multi_year_spans"]),
        source=raw["source"],
        now=date.fromisoformat(raw["now"]) if raw.get("now") else None,
        obscurity=parse_obscurity(raw.get("obscurity", "")),
    )


def _dated(raw: dict[str, str]) -> dict[str, Any]:
    """The cells with start and end as days: of a month its first and its last one. A date may be
    written in any form that has one meaning."""
    if not raw["start"]:
        raise ValueError("start is empty")
    days: dict[str, date | None] = {"end": None}
    for name in ("start", "end") if raw["end"] else ("start",):
        try:
            day = DateReader().read(raw[name])
        except ValueError as exc:
            raise ValueError(f"{name}: {str(exc).replace('YYYY, ', '')}") from None
        if day.month is None:
            raise ValueError(f"{name}: '{day}' is a year; write YYYY-MM or YYYY-MM-DD")
        days[name] = day.first if name == "start" else day.last
    return raw | days


def parse_obscurity(text: str) -> float | None:
    """A share from 0 to 1; None for an empty text. ValueError for any other."""
    if not text:
        return None
    if re.fullmatch(r"0(?:\.\d{1,6})?|1(?:\.0{1,6})?", text) is None:
        raise ValueError(f"obscurity '{text}' is not a share from 0 to 1, such as 0.75")
    return float(text)


def parse_years(text: str) -> tuple[int, ...]:
    """Years from spans such as `1908;1948~1950`, in order."""
    return tuple(sorted(year for span in parse_spans(text) for year in span))


_SPAN = re.compile(r"([0-9]{1,4})(?:\s*~\s*([0-9]{1,4}))?")


def parse_spans(text: str) -> tuple[range, ...]:
    """The spans of years in `1908;1948~1950`, as written; ValueError says what is wrong."""
    if not text:
        return ()
    spans: list[range] = []
    years: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = _SPAN.fullmatch(part)
        if match is None:
            raise ValueError(f"'{part}' is not a span of years; write 1908 or 1948~1950")
        span = range(int(match[1]), int(match[2] or match[1]) + 1)
        if not span:
            raise ValueError(f"'{part}' ends before it begins")
        if span[0] < 1:
            raise ValueError(f"'{part}': years go from 1 to 9999")
        if not years.isdisjoint(span):
            raise ValueError(f"'{part}' overlaps another span")
        years.update(span)
        spans.append(span)
    return tuple(spans)


INTERVAL_COLUMNS = ("subject", "relation", "object", "start", "end")


def read_intervals(file: Path) -> tuple[IntervalRow, ...]:
    """The rows of a CSV file with the INTERVAL_COLUMNS; DatasetError for the first defect."""
    return read_rows(file, _interval)


def write_intervals(rows: Sequence[IntervalRow], out: Path) -> None:
    """The rows in the order given; the same rows give the same bytes."""
    cells = ((r.subject, r.relation, r.object, str(r.start), str(r.end or "")) for r in rows)
    write_csv(INTERVAL_COLUMNS, cells, out)


def _interval(raw: dict[str, str]) -> IntervalRow:
    if missing := [name for name in INTERVAL_COLUMNS if name not in raw]:
        raise ValueError(f"no column '{missing[0]}'; wanted are {', '.join(INTERVAL_COLUMNS)}")
    if empty := [name for name in ("subject", "object") if not raw[name]]:
        raise ValueError(f"{empty[0]} is empty")
    relation = raw["relation"]
    if relation not in get_args(Relation):
        raise ValueError(f"unknown relation '{relation}'; known: {', '.join(get_args(Relation))}")
    own = _dated(raw)
    start, end = own["start"], own["end"]
    if end is not None and end < start:
        raise ValueError(f"'{raw['subject']}' {relation} until {end}, before the start on {start}")
    return IntervalRow(**{name: own[name] for name in INTERVAL_COLUMNS})


PERSON = "person"


def write_world(tables: FactTables, out: Path) -> None:
    """Events and lives as one event table; the same tables give the same bytes."""
    write_events([*tables.events, *map(_as_event, tables.people)], out)


def read_world(file: Path, others: FactTables) -> FactTables:
    """The table's events; its people where it has any, else the people and presidents of
    `others`. DatasetError for the first defect."""
    rows = read_events(file)
    events = tuple(row for row in rows if row.kind != PERSON)
    lives = tuple(
        LifeRow(
            row.event, row.summary, _day(row.start, row, file), _day(row.end, row, file), row.source
        )
        for row in rows
        if row.kind == PERSON
    )
    if not lives:
        return FactTables(events, others.presidents, others.people)
    return FactTables(events, (), lives)


def _as_event(row: LifeRow) -> EventRow:
    first, last = (PartialDate(d.year, d.month, d.day) for d in (row.start, row.end))
    return EventRow(row.person, PERSON, row.description, "", first, last, (), row.source)


def _day(bound: PartialDate | None, row: EventRow, file: Path) -> date:
    if bound is None or bound.day is None:
        reason = f"'{row.event}' is a person without a full day of birth and of death"
        raise DatasetError(file, None, reason)
    return bound.first


def write_events(rows: Sequence[EventRow], out: Path) -> None:
    """The table in its full form; with the columns `now` and `obscurity` where a row has one."""
    more = [
        name for name in ("now", "obscurity") if any(getattr(row, name) is not None for row in rows)
    ]
    lines = ((*_cells(row), *(_text(getattr(row, name)) for name in more)) for row in rows)
    write_csv((*COLUMNS, *more), lines, out)


def _cells(row: EventRow) -> tuple[str, ...]:
    spans = spans_text(row.years)
    start, end = _text(row.start), _text(row.end)
    return (row.event, row.kind, row.summary, row.hint, start, end, spans, row.source)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


def spans_text(years: Sequence[int]) -> str:
    """Years as spans such as `1908;1948~1950`; the opposite of `parse_years`."""
    spans: list[list[int]] = []
    for year in years:
        if spans and year == spans[-1][1] + 1:
            spans[-1][1] = year
        else:
            spans.append([year, year])
    return ";".join(f"{a:04d}" if a == b else f"{a:04d}~{b:04d}" for a, b in spans)


def write_csv(header: Sequence[str], lines: Iterable[Sequence[str]], out: Path) -> None:
    """A CSV file for readers that know `unguarded`, whole or not at all."""
    try:
        replace_file(out, csv_text((header, *lines)).encode())
    except OSError as exc:
        raise ConfigError(f"cannot write {out}: {exc.strerror}") from exc
