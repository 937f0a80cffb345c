"""Reads a user's own event table: every defect is found and named, alone and beside the other rows,
or the table is whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from agent_env.features.facts.tables.articles import event_title
from agent_env.features.facts.tables.event_names import is_point
from agent_env.features.facts.tables.table_files import (
    FileRow,
    TableFile,
    TableOptions,
    cell_text,
    read_table_file,
)
from agent_env.features.facts.tables.table_records import OPEN_ENDS
from agent_env.features.facts.tables.tables import (
    COLUMNS,
    EventRow,
    parse_obscurity,
    parse_spans,
    write_events,
)
from agent_env.sdk.errors import DatasetError, DatasetErrors
from agent_env.temporal.date_text import DateReader, date_reader
from agent_env.temporal.days import PartialDate

T = TypeVar("T")
NEEDED = ("event", "start", "end")
COLUMNS_ALLOWED = (*COLUMNS, "role", "precision", "now", "obscurity")


class EventTableOptions(TableOptions):
    """How an event table is to be read, where its columns have other names."""

    event: str | None = None
    """The column with the names of the events; default: event."""
    start: str | None = None
    """The column with their first days; default: start."""
    end: str | None = None
    """The column with their last days; default: end."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    out: Path
    events: int
    lasting: int
    """Events without an end, which last still at the stated now."""
    notes: tuple[str, ...] = ()
    """What was found out about the file."""


def import_events(
    file: Path, out: Path, now: date, options: EventTableOptions | None = None
) -> ImportSummary:
    """Check a user's table and write it in the full form; nothing is written where any row of it
    is wrong. `now` is the day as of which rows without an end still last."""
    rows, notes = _read(file, now, options or EventTableOptions())
    write_events(rows, out)
    return ImportSummary(out, len(rows), sum(row.now is not None for row in rows), notes)


def read_user_events(file: Path, now: date) -> tuple[EventRow, ...]:
    """The rows of a table in the full or the small form; DatasetErrors names all defects."""
    return _read(file, now, EventTableOptions())[0]


def _read(
    file: Path, now: date, options: EventTableOptions
) -> tuple[tuple[EventRow, ...], tuple[str, ...]]:
    """The rows, and what was found out about the file."""
    source = read_table_file(file, options)
    if not source.columns:
        raise DatasetError(file, None, f"is empty; its first line is {','.join(NEEDED)}")
    columns, notes = _columns(file, source, options)
    texts = [cell_text(row.cells.get(columns[n])) for row in source.rows for n in ("start", "end")]
    dates = date_reader(texts, options.date_format, str(file))
    if dates.form is not None and options.date_format is None:
        notes.append(f"dates are {dates.form}, as some can be nothing else")
    defects: list[tuple[int | None, str]] = []
    entries: list[UserRow] = []
    for row in source.rows:
        entry, wrong = _entry(row, columns, dates, now)
        defects += [(row.line, reason) for reason in wrong]
        if entry is not None:
            entries.append(entry)
    defects += table_defects(entries)
    if defects:
        raise DatasetErrors(file, sorted(defects, key=lambda defect: defect[0] or 0))
    if not entries:
        raise DatasetError(file, None, "holds no event")
    return tuple(entry.row for entry in entries), (*source.notes, *notes)


def _columns(
    file: Path, source: TableFile, options: EventTableOptions
) -> tuple[dict[str, str], list[str]]:
    """The file's columns by what they hold, and a note on those that hold nothing known."""
    own = {name.strip().lower(): name for name in source.columns if name.strip()}
    stated = {role: getattr(options, role) or role for role in NEEDED}
    columns = {n: own[n] for n in COLUMNS_ALLOWED if n in own and n not in stated}
    columns |= {role: own[name.lower()] for role, name in stated.items() if name.lower() in own}
    wrong = [
        f"no column '{name}'; name the {role} by --option {role}=COLUMN"
        for role, name in stated.items()
        if role not in columns
    ]
    unused = [name for name in own if own[name] not in columns.values()]
    for name in unused:
        if likely := get_close_matches(name, COLUMNS_ALLOWED, 1, 0.75):
            wrong.append(f"unknown column '{name}'; write {likely[0]}, or another name")
    if wrong:
        raise DatasetError(file, 1, f"{'; '.join(wrong)}; it has {', '.join(source.columns)}")
    return columns, [f"no event shows the column {name}" for name in unused]


def _entry(
    line: FileRow, columns: Mapping[str, str], dates: DateReader, now: date
) -> tuple[UserRow | None, list[str]]:
    """The row, as far as it can be read, and all that is wrong with it."""
    if line.problem:
        return None, [line.problem]
    raw = {key: cell_text(line.cells.get(name)) for key, name in columns.items()}
    wrong = [f"{k} holds a control character" for k, v in raw.items() if not v.isprintable()]

    def read(
        parse: Callable[[str], T], text: str, default: T, before: str = "", hint: str = ""
    ) -> T:
        try:
            return parse(text) if text else default
        except ValueError as exc:
            wrong.append(f"{before}{exc}{hint}")
            return default

    bounds: list[PartialDate | None] = []
    for name, hint in (("start", ""), ("end", ", or nothing while it lasts")):
        text = "" if raw[name].casefold() in OPEN_ENDS else raw[name]
        bounds.append(read(dates.read, text, None, f"{name} ", hint))
    start, end = bounds
    none: tuple[range, ...] = ()
    spans = read(parse_spans, raw.get("multi_year_spans", ""), none, "multi_year_spans ")
    as_of = read(_now, raw.get("now", ""), now)
    if as_of > now:
        wrong.append(f"now {as_of} lies after {now}, the stated now")
    obscurity = read(parse_obscurity, raw.get("obscurity", ""), None)
    if not raw["event"]:
        wrong.append("the event has no name")
    if wrong:
        return None, wrong
    # without an end it lasts still by its role or an earlier import, or as it is no point in time
    may_last = raw.get("role") or raw.get("now") or not is_point(raw["event"], raw.get("kind", ""))
    row = EventRow(
        event=raw["event"],
        kind=raw.get("kind") or "event",
        summary=raw.get("summary", ""),
        hint=raw.get("hint", ""),
        start=start,
        end=end,
        years=tuple(sorted(year for span in spans for year in span)),
        source=raw.get("source", ""),
        now=as_of if start is not None and end is None and may_last else None,
        obscurity=obscurity,
    )
    wrong += row_defects(row, as_of)
    if raw.get("precision"):
        wrong += precision_defects(row, raw["precision"].lower())
    role = raw.get("role", "")
    if role and start is None and not spans:
        wrong.append(f"'{row.event}' has the role '{role}' and no start")
    return UserRow(line.line, row, spans, role), wrong


def _now(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"now '{text}' is not a day; write YYYY-MM-DD") from None


# What a row must keep to --------------------------------------------------------------------------

PRECISIONS = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class UserRow:
    """A row and what only its table knows of it."""

    line: int
    row: EventRow
    spans: tuple[range, ...] = ()
    """Its spans of years, as written."""
    role: str = ""
    """An office that only one can hold at a time; empty for none."""


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


def table_defects(entries: Sequence[UserRow]) -> Iterator[tuple[int, str]]:
    """Events that appear twice, and spans of one role that overlap."""
    yield from _duplicates(entries)
    roles: dict[str, list[UserRow]] = defaultdict(list)
    for entry in entries:
        if entry.role:
            roles[entry.role].append(entry)
    for role, entries_of_role in roles.items():
        terms = sorted((h for e in entries_of_role for h in _spans(e)), key=lambda h: h.start)
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
                    yield late.line, reason
                    break


def _duplicates(entries: Iterable[UserRow]) -> Iterator[tuple[int, str]]:
    """Names count as one where their articles would, letter case aside."""
    first_lines: dict[str, int] = {}
    for entry in entries:
        name = event_title(entry.row.event).casefold()
        if name in first_lines:
            reason = f"'{entry.row.event}' is also on line {first_lines[name]} too"
            yield entry.line, reason
        first_lines.setdefault(name, entry.line)


@dataclass(frozen=True, slots=True)
class _Term:
    """One span of a role; each bound at its earliest and its latest."""

    entry: UserRow
    start: tuple[date, date]
    end: tuple[date, date]

    def surely_overlaps(self, other: _Term) -> bool:
        """Whether they share more than the day on which one hands over to the other, whatever
        days their partial dates mean."""
        return self.start[1] < other.end[0] and other.start[1] < self.end[0]


def _spans(entry: UserRow) -> Iterator[_Term]:
    """Spans of years where the row has them, else from start to end; without an end, for ever."""
    for span in entry.spans:
        first, last = PartialDate(span[0]), PartialDate(span[-1])
        yield _Term(entry, (first.first, first.last), (last.first, last.last))
    start, end = entry.row.start, entry.row.end
    if start is not None and not entry.spans:
        until = (end.first, end.last) if end is not None else (date.max, date.max)
        yield _Term(entry, (start.first, start.last), until)
