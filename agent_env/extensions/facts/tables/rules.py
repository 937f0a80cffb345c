"""What a row of an event table must keep to, alone and beside the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from agent_env.extensions.facts.tables.articles import event_title
from agent_env.extensions.facts.tables.tables import EventRow
from agent_env.temporal.partial import PartialDate

PRECISIONS = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class Entry:
    """A row and what only its table knows of it."""

    line: int
    row: EventRow
    spans: tuple[range, ...] = ()
    """Its spans of years, as written."""
    role: str = ""
    """An office that only one can hold at a time; empty for none."""


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong on which line."""

    line: int
    reason: str


def precision_of(day: PartialDate) -> str:
    """year, month or day."""
    if day.month is None:
        return "year"
    return "month" if day.day is None else "day"


def row_defects(row: EventRow, now: date) -> Iterator[str]:
    """What the row says that cannot be, as of `now`."""
    if row.start is None and row.end is None and not row.years:
        yield f"'{row.event}' has neither start nor end nor years"
    if row.start and row.end and row.end.last < row.start.first:
        yield f"'{row.event}' ends on {row.end}, before its start on {row.start}"
    for name, day in (("starts", row.start), ("ends", row.end)):
        if day and day.first > now:
            yield f"'{row.event}' {name} on {day}, after {now}, the stated now"
    if row.years and row.years[-1] > now.year:
        yield f"'{row.event}' has the year {row.years[-1]}, after {now}, the stated now"
    if row.years and row.start and row.years[0] < row.start.year:
        yield f"'{row.event}' has the year {row.years[0]}, before its start on {row.start}"
    if row.years and row.end and row.years[-1] > row.end.year:
        yield f"'{row.event}' has the year {row.years[-1]}, after its end on {row.end}"


def precision_defects(row: EventRow, precision: str) -> Iterator[str]:
    """Dates that are not written to the stated precision."""
    if precision not in PRECISIONS:
        yield f"unknown precision '{precision}'; write {', '.join(PRECISIONS)}"
        return
    for name, day in (("start", row.start), ("end", row.end)):
        if day is not None and precision_of(day) != precision:
            yield f"{name} {day} is written to the {precision_of(day)}, not to the {precision}"
    if row.start is None and row.end is None and precision != "year":
        yield f"spans of years are known to the year, not to the {precision}"


def table_defects(entries: Sequence[Entry]) -> Iterator[Defect]:
    """Events that stand twice, and spans of one role that overlap."""
    yield from _duplicates(entries)
    roles: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.role:
            roles[entry.role].append(entry)
    for role, entries_of_role in roles.items():
        yield from _overlaps(role, entries_of_role)


def _duplicates(entries: Iterable[Entry]) -> Iterator[Defect]:
    """Names count as one where their articles would, letter case aside."""
    first_lines: dict[str, int] = {}
    for entry in entries:
        name = event_title(entry.row.event).casefold()
        if name in first_lines:
            reason = f"'{entry.row.event}' stands on line {first_lines[name]} too"
            yield Defect(entry.line, reason)
        first_lines.setdefault(name, entry.line)


@dataclass(frozen=True, slots=True)
class _Term:
    """One span of a role; each bound at its earliest and its latest."""

    entry: Entry
    start: tuple[date, date]
    end: tuple[date, date]

    def surely_overlaps(self, other: _Term) -> bool:
        """Whether they share more than the day on which one hands over to the other, whatever
        days their partial dates mean."""
        return self.start[1] < other.end[0] and other.start[1] < self.end[0]


def _overlaps(role: str, entries: Iterable[Entry]) -> Iterator[Defect]:
    terms = sorted((h for e in entries for h in _spans(e)), key=lambda h: h.start)
    for number, first in enumerate(terms):
        for other in terms[number + 1 :]:
            if other.start[0] > first.end[1]:
                break
            if other.entry is not first.entry and first.surely_overlaps(other):
                early, late = sorted((first.entry, other.entry), key=lambda e: e.line)
                reason = (
                    f"'{late.row.event}' overlaps '{early.row.event}' of line {early.line} "
                    f"in the role '{role}'"
                )
                yield Defect(late.line, reason)
                break


def _spans(entry: Entry) -> Iterator[_Term]:
    """Spans of years where the row has them, else from start to end; without an end, for ever."""
    for span in entry.spans:
        first, last = PartialDate(span[0]), PartialDate(span[-1])
        yield _Term(entry, (first.first, first.last), (last.first, last.last))
    start, end = entry.row.start, entry.row.end
    if start is not None and not entry.spans:
        until = (end.first, end.last) if end is not None else (date.max, date.max)
        yield _Term(entry, (start.first, start.last), until)
