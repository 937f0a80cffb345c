"""Resolves names and dates in a puzzle's facts against tables.

A published file states an event's date itself; a table of events is the second source. Names match
regardless of case, spaces and dots; persons also without their single initials.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from agent_env.extensions.facts.tables.table_files import cell_text, checked_rows, read_table_file
from agent_env.extensions.facts.tables.tables import EventRow, FactTables, LifeRow, parse_years
from agent_env.families.time_puzzles.audit_meta import NameIndex, name_key
from agent_env.families.time_puzzles.day_sets import years_held
from agent_env.families.time_puzzles.facts import Fact, KbEvent, PersonAlive, UsPresident
from agent_env.families.time_puzzles.published import PublishedPuzzle
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.texts.grammar import compile_text
from agent_env.families.time_puzzles.texts.meanings import DateSpans
from agent_env.sdk.errors import DatasetError
from agent_env.temporal.date_text import DateReader
from agent_env.temporal.partial import PartialDate

COLUMNS = ("event", "start", "end", "multi_year_spans")
UNKNOWN_EVENT = "unknown_event"
OPEN_ENDED = ("present", "now", "ongoing", "nan", "none", "null", "-")


@dataclass(slots=True)
class ResolvedFacts:
    """A puzzle's facts by the tables, and their differences in its file."""

    facts: list[Fact] = field(default_factory=list)
    stated: list[Fact] = field(default_factory=list)
    """By the file; they differ from `facts` only in an event's date."""
    event_cause: str | None = None
    """`event_value` or `event_in_several_years`, where the file contradicts the table."""
    years_stated: bool = False
    """Whether the file states the years of a multi_year event."""
    notes: list[str] = field(default_factory=list)
    """Names that no table has."""
    judged: bool = True
    """Whether the days of every fact are known."""


def read_event_dates(path: Path) -> tuple[EventRow, ...]:
    """The rows of a table with the COLUMNS (others are ignored); dates may be partial, spans are
    like `1908;1948~1950`. Raises DatasetError with the line of the first defect."""
    source = read_table_file(path)
    if missing := [name for name in COLUMNS if name not in source.columns]:
        raise DatasetError(path, 1, f"no column {', '.join(missing)}")
    rows: list[EventRow] = []
    for row in checked_rows(path, source):
        try:
            rows.append(_row({name: cell_text(row.cells.get(name)) for name in COLUMNS}))
        except ValueError as exc:
            raise DatasetError(path, row.line, str(exc)) from exc
    return tuple(rows)


def _row(raw: dict[str, str]) -> EventRow:
    if not raw["event"]:
        raise ValueError("the event has no name")
    start, end = _date(raw["start"]), _date(raw["end"])
    if start and end and end.last < start.first:
        raise ValueError(f"'{raw['event']}' ends on {end}, before its start on {start}")
    spans = raw["multi_year_spans"].replace("–", "~").replace(",", ";")
    years = () if spans.casefold() in OPEN_ENDED else parse_years(re.sub(r"\.0\b", "", spans))
    return EventRow(raw["event"], "", "", "", start, end, years, "")


def _date(text: str) -> PartialDate | None:
    if not text or text.casefold() in OPEN_ENDED:
        return None
    return DateReader().read(text)


class Resolver:
    """Looks up names of facts, and collects those that only the puzzles define."""

    def __init__(self, tables: FactTables, events: Sequence[EventRow] | None) -> None:
        self.tables = tables
        self._given = tuple(events or ())
        self._events = {name_key(row.event): row for row in (*tables.events, *self._given)}
        self._people = NameIndex(row.person for row in tables.people)
        self._presidents = NameIndex(row.person for row in tables.presidents)
        self._lives: dict[str, LifeRow] = {}
        self._rows: dict[str, EventRow] = {}

    def extended_tables(self) -> FactTables:
        """The tables with the given events, and the lives and events collected so far."""
        return replace(
            self.tables,
            people=(*self.tables.people, *self._lives.values()),
            events=(*self.tables.events, *self._given, *self._rows.values()),
        )

    def resolve(self, puzzle: TimePuzzle) -> ResolvedFacts:
        """The puzzle's facts with the names and dates of the tables."""
        resolved = ResolvedFacts()
        for index, fact in enumerate(puzzle.facts):
            match fact:
                case KbEvent():
                    self._event(puzzle, fact, resolved)
                    continue
                case PersonAlive():
                    fact = self._person(puzzle, index, fact, resolved)
                case UsPresident():
                    fact = self._president(fact, resolved)
            resolved.facts.append(fact)
            resolved.stated.append(fact)
        return resolved

    def _person(
        self, puzzle: TimePuzzle, index: int, fact: PersonAlive, resolved: ResolvedFacts
    ) -> PersonAlive:
        """The person; an unknown one lived between the two dates of the explicit wording."""
        name = self._people.find(fact.person)
        if name is not None:
            return PersonAlive(person=name)
        resolved.notes.append("unknown_person")
        life = _stated_life(puzzle, index)
        if life is None:
            resolved.judged = False
            return fact
        name = f"{fact.person} ({life[0]} to {life[1]})"
        self._lives[name] = LifeRow(name, "", *life, "the puzzle's explicit wording")
        return PersonAlive(person=name)

    def _president(self, fact: UsPresident, resolved: ResolvedFacts) -> UsPresident:
        name = self._presidents.find(fact.person)
        if name is None:
            resolved.notes.append("unknown_person")
            resolved.judged = False
            return fact
        return UsPresident(person=name)

    def _event(self, puzzle: TimePuzzle, fact: KbEvent, resolved: ResolvedFacts) -> None:
        row = self._events.get(name_key(fact.event))
        if row is None:
            resolved.notes.append(UNKNOWN_EVENT)
        stated = _stated_values(puzzle, fact)
        from_table = _table_values(fact, row) if row else ()
        resolved.years_stated |= fact.aspect == "multi_year" and bool(stated)
        if not stated and not from_table:
            resolved.judged = False
            resolved.facts.append(fact)
            resolved.stated.append(fact)
            return
        stated, from_table = stated or from_table, from_table or stated
        if set(stated) != set(from_table):
            several = set(stated) < set(from_table)
            resolved.event_cause = "event_in_several_years" if several else "event_value"
        resolved.facts.append(self._as_fact(fact, from_table))
        resolved.stated.append(self._as_fact(fact, stated))

    def _as_fact(self, fact: KbEvent, values: tuple[int, ...]) -> KbEvent:
        """The fact with these values; several years need their own row."""
        if fact.aspect != "multi_year" and len(values) == 1:
            return fact.model_copy(update={"value": values[0]})
        name = f"{fact.event} in {', '.join(map(str, values))}"
        self._rows[name] = EventRow(name, "", "", "", None, None, values, "")
        return KbEvent(event=name, aspect="multi_year", level="year")


def _stated_values(puzzle: TimePuzzle, fact: KbEvent) -> tuple[int, ...]:
    """The file's years, month or day of the event."""
    if fact.aspect == "multi_year" and isinstance(puzzle, PublishedPuzzle) and puzzle.event_years:
        return puzzle.event_years
    return () if fact.value is None else (fact.value,)


def _table_values(fact: KbEvent, row: EventRow) -> tuple[int, ...]:
    """The table's values; () where unknown. An event with several years but without a first day
    began in each of them."""
    if fact.aspect == "multi_year":
        return years_held(row)
    bound = row.start if fact.aspect == "start" else row.end
    if bound is not None:
        value = {"year": bound.year, "month": bound.month, "day": bound.day}[fact.level]
        return () if value is None else (value,)
    if fact.level != "year":
        return ()
    step = -1 if fact.aspect == "start" else 1
    return tuple(year for year in row.years if year + step not in row.years)


def _stated_life(puzzle: TimePuzzle, index: int) -> tuple[date, date] | None:
    if len(puzzle.explicit_constraints) != len(puzzle.facts):
        return None
    meaning = compile_text(puzzle.explicit_constraints[index])
    if not isinstance(meaning, DateSpans) or len(meaning.spans) != 1:
        return None
    first, last = meaning.spans[0]
    return (first, last) if first < last else None
