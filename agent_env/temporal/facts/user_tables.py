"""Reads a user's own event table: every defect is found and named, or the table is whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from agent_env.errors import DatasetError
from agent_env.records.escaping import unguarded
from agent_env.temporal.facts.event_names import is_point
from agent_env.temporal.facts.rules import (
    Defect,
    Entry,
    precision_defects,
    row_defects,
    table_defects,
)
from agent_env.temporal.facts.tables import COLUMNS, EventRow, parse_obscurity, parse_spans
from agent_env.temporal.facts.writing import write_events
from agent_env.temporal.partial import PartialDate

NEEDED = ("event", "start", "end", "multi_year_spans")
COLUMNS_ALLOWED = (*COLUMNS, "role", "precision", "now", "obscurity")
DEFECTS_LISTED = 20
"""How many defects an error spells out."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What came of an import."""

    out: Path
    events: int
    lasting: int
    """Events without an end, which last still at the stated now."""


def import_events(file: Path, out: Path, now: date) -> ImportSummary:
    """Check a user's table and write it in the full form; nothing is written where any row of it
    is wrong. `now` is the day as of which rows without an end still last."""
    rows = read_user_events(file, now)
    write_events(rows, out)
    return ImportSummary(out, len(rows), sum(row.now is not None for row in rows))


def read_user_events(file: Path, now: date) -> tuple[EventRow, ...]:
    """The rows of a table in the full or the small form; DatasetError names all defects."""
    lines, defects = _lines(file)
    header, body = _header(file, lines)
    entries: list[Entry] = []
    for line in body:
        entry, wrong = _entry(line, header, now)
        defects += [Defect(line.number, reason) for reason in wrong]
        if entry is not None:
            entries.append(entry)
    defects += table_defects(entries)
    if defects:
        raise _error(file, sorted(defects, key=lambda defect: defect.line))
    if not entries:
        raise DatasetError(file, None, "holds no event")
    return tuple(entry.row for entry in entries)


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    """Where the record begins in the file."""
    cells: tuple[str, ...]


def _lines(file: Path) -> tuple[list[_Line], list[Defect]]:
    """All records that are not blank, up to where the file stops being CSV."""
    reader = csv.reader(io.StringIO(_text(file), newline=""), strict=True)
    lines: list[_Line] = []
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append(_Line(begins, tuple(map(unguarded, cells))))
            begins = reader.line_num + 1
    except csv.Error as exc:
        return lines, [Defect(begins, f"is no CSV from here on: {exc}; check its quotes")]
    return lines, []


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as exc:
        raise DatasetError(file, None, f"cannot be read: {exc.strerror}") from exc
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        reason = f"byte 0x{data[exc.start]:02x} is not UTF-8; save the table as CSV in UTF-8"
        raise DatasetError(file, line, reason) from exc


def _header(file: Path, lines: Sequence[_Line]) -> tuple[tuple[str, ...], Sequence[_Line]]:
    """The names of the columns, and the lines below them."""
    if not lines:
        raise DatasetError(file, None, f"is empty; its first line is {','.join(NEEDED)}")
    first = lines[0]
    names = tuple(cell.strip().lower() for cell in first.cells)
    wrong = [f"no column '{name}'" for name in NEEDED if name not in names]
    wrong += [f"unknown column '{name}'" for name in names if name not in COLUMNS_ALLOWED]
    wrong += [f"column '{n}' stands twice" for n in dict.fromkeys(names) if names.count(n) > 1]
    if wrong:
        reason = f"{'; '.join(wrong)}; comma-separated, needed: {', '.join(NEEDED)}; known too: "
        rest = ", ".join(name for name in COLUMNS_ALLOWED if name not in NEEDED)
        raise DatasetError(file, first.number, reason + rest)
    return names, lines[1:]


def _entry(line: _Line, header: tuple[str, ...], now: date) -> tuple[Entry | None, list[str]]:
    """The row, as far as it can be read, and all that is wrong with it."""
    if len(line.cells) != len(header):
        counts = f"{len(line.cells)} cells under {len(header)} columns"
        return None, [f"{counts}; quote cells that hold commas"]
    # Breaks and runs of blanks within a cell would break prompts and pages.
    raw = {k: " ".join(v.split()) for k, v in zip(header, line.cells, strict=True)}
    wrong = [f"{k} holds a control character" for k, v in raw.items() if not v.isprintable()]
    start, end = _day(raw, "start", wrong), _day(raw, "end", wrong)
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
    return Entry(line.number, row, spans, role), wrong


def _day(raw: dict[str, str], name: str, wrong: list[str]) -> PartialDate | None:
    try:
        return PartialDate.parse(raw[name]) if raw[name] else None
    except ValueError as exc:
        hint = ", or nothing while it lasts" if name == "end" else ""
        wrong.append(f"{name} {exc}{hint}")
        return None


def _spans(raw: dict[str, str], wrong: list[str]) -> tuple[range, ...]:
    try:
        return parse_spans(raw["multi_year_spans"])
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


def _error(file: Path, defects: Sequence[Defect]) -> DatasetError:
    """One error for all; each defect is named by file and line."""
    first, *others = defects[:DEFECTS_LISTED]
    texts = [first.reason, *(f"{file.name}:{defect.line}: {defect.reason}" for defect in others)]
    if len(defects) > DEFECTS_LISTED:
        texts.append(f"and {len(defects) - DEFECTS_LISTED} more")
    return DatasetError(file, first.line, "; ".join(texts))
