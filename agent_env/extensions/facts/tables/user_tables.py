"""Reads a user's own event table: every defect is found and named, or the table is whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path

from agent_env.extensions.facts.tables.event_names import is_point
from agent_env.extensions.facts.tables.rules import (
    Entry,
    precision_defects,
    row_defects,
    table_defects,
)
from agent_env.extensions.facts.tables.table_files import (
    FileRow,
    TableFile,
    TableOptions,
    cell_text,
    read_table_file,
)
from agent_env.extensions.facts.tables.table_records import OPEN_ENDS
from agent_env.extensions.facts.tables.tables import (
    COLUMNS,
    EventRow,
    parse_obscurity,
    parse_spans,
    write_events,
)
from agent_env.sdk.errors import DatasetError, DatasetErrors
from agent_env.temporal.date_text import DateReader, date_reader
from agent_env.temporal.partial import PartialDate

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
    """What came of an import."""

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
    entries: list[Entry] = []
    for row in source.rows:
        entry, wrong = _entry(row, columns, dates, now)
        defects += [(row.line, reason) for reason in wrong]
        if entry is not None:
            entries.append(entry)
    defects += [(defect.line, defect.reason) for defect in table_defects(entries)]
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
) -> tuple[Entry | None, list[str]]:
    """The row, as far as it can be read, and all that is wrong with it."""
    if line.problem:
        return None, [line.problem]
    raw = {key: cell_text(line.cells.get(name)) for key, name in columns.items()}
    wrong = [f"{k} holds a control character" for k, v in raw.items() if not v.isprintable()]
    start, end = _day(raw, "start", dates, wrong), _day(raw, "end", dates, wrong)
    spans = _spans(raw, wrong)
    as_of = _now(raw, now, wrong)
    obscurity = _obscurity(raw, wrong)
    if not raw["event"]:
        wrong.append("the event has no name")
    if wrong:
        return None, wrong
    row = EventRow(
        event=raw["event"],
        kind=raw.get("kind") or "event",
        summary=raw.get("summary", ""),
        hint=raw.get("hint", ""),
        start=start,
        end=end,
        years=tuple(sorted(year for span in spans for year in span)),
        source=raw.get("source", ""),
        now=as_of if start is not None and end is None and _may_last(raw) else None,
        obscurity=obscurity,
    )
    wrong += row_defects(row, as_of)
    if raw.get("precision"):
        wrong += precision_defects(row, raw["precision"].lower())
    role = raw.get("role", "")
    if role and start is None and not spans:
        wrong.append(f"'{row.event}' has the role '{role}' and no start")
    return Entry(line.line, row, spans, role), wrong


def _day(raw: dict[str, str], name: str, dates: DateReader, wrong: list[str]) -> PartialDate | None:
    text = raw[name]
    try:
        return dates.read(text) if text and text.casefold() not in OPEN_ENDS else None
    except ValueError as exc:
        hint = ", or nothing while it lasts" if name == "end" else ""
        wrong.append(f"{name} {exc}{hint}")
        return None


def _spans(raw: dict[str, str], wrong: list[str]) -> tuple[range, ...]:
    try:
        return parse_spans(raw.get("multi_year_spans", ""))
    except ValueError as exc:
        wrong.append(f"multi_year_spans {exc}")
        return ()


def _may_last(raw: dict[str, str]) -> bool:
    """Whether a row without an end states that it lasts still: by its role or an earlier import, or
    as its name and kind are not those of a point in time."""
    kind = raw.get("kind", "")
    return bool(raw.get("role") or raw.get("now")) or not is_point(raw["event"], kind)


def _obscurity(raw: dict[str, str], wrong: list[str]) -> float | None:
    try:
        return parse_obscurity(raw.get("obscurity", ""))
    except ValueError as exc:
        wrong.append(str(exc))
        return None


def _now(raw: dict[str, str], now: date, wrong: list[str]) -> date:
    """The row's own now, where an earlier import has written one."""
    text = raw.get("now", "")
    if not text:
        return now
    try:
        own = date.fromisoformat(text)
    except ValueError:
        wrong.append(f"now '{text}' is not a day; write YYYY-MM-DD")
        return now
    if own > now:
        wrong.append(f"now {own} lies after {now}, the stated now")
    return own
