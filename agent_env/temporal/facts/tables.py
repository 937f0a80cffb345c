"""Fact tables as typed rows, loaded from CSV; every defect is named by file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from agent_env.errors import DatasetError
from agent_env.temporal.facts.table_files import checked_rows, read_table_file
from agent_env.temporal.partial import PartialDate

SHIPPED = Path(__file__).parent

COLUMNS = ("event", "kind", "summary", "hint", "start", "end", "multi_year_spans", "source")
"""Of an event table in full."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class EventRow:
    """Something that happened, from its first to its last day."""

    event: str
    """A noun phrase as it stands in a sentence."""
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


@cache
def shipped_tables() -> FactTables:
    """The tables that come with the package, read once per process."""
    return FactTables(
        events=read_events(SHIPPED / "events.csv"),
        presidents=read_rows(SHIPPED / "presidents.csv", _term),
        people=read_rows(SHIPPED / "people.csv", _life),
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
                file, line, f"'{row.event}' stands on line {first_lines[row.event]} too"
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
            "agent-env facts import YOURS.csv --out events.csv"
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


def parse_obscurity(text: str) -> float | None:
    """A share from 0 to 1; None for an empty text. ValueError for any other."""
    if not text:
        return None
    if re.fullmatch(r"0(?:\.\d{1,6})?|1(?:\.0{1,6})?", text) is None:
        raise ValueError(f"obscurity '{text}' is no share from 0 to 1, such as 0.75")
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
            raise ValueError(f"'{part}' is no span of years; write 1908 or 1948~1950")
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


def _term(raw: dict[str, str]) -> TermRow:
    end = date.fromisoformat(raw["end"]) if raw["end"] else None
    return TermRow(raw["person"], date.fromisoformat(raw["start"]), end, raw["source"])


def _life(raw: dict[str, str]) -> LifeRow:
    return LifeRow(
        raw["person"],
        raw["description"],
        date.fromisoformat(raw["start"]),
        date.fromisoformat(raw["end"]),
        raw["source"],
    )
