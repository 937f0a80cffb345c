"""Makes temporal tables of the rows of a file; every defect is named by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from agent_env.errors import DatasetError, DatasetErrors
from agent_env.temporal.allen import Granularity
from agent_env.temporal.facts.table_records import (
    Cells,
    Sheet,
    SheetRow,
    TemporalTableOptions,
    read_sheet,
)
from agent_env.temporal.facts.temporal_table import LENGTHS, TemporalRow, TemporalTable
from agent_env.temporal.facts.writing import write_csv
from agent_env.temporal.partial import PartialDate

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def load_table(
    file: Path,
    options: TemporalTableOptions | None = None,
    end_included: bool = False,
    fictional: bool = False,
) -> TemporalTable:
    """The rows of any table file; `options` state what `read_sheet` cannot find out."""
    sheet = read_sheet(file, options)
    name = (options and options.table) or file.stem
    return make_table(file, name, sheet, end_included=end_included, fictional=fictional)


def make_table(
    file: Path,
    name: str,
    sheet: Sheet,
    granularity: Granularity | None = None,
    end_included: bool = False,
    fictional: bool = False,
    too_short: list[int] | None = None,
) -> TemporalTable:
    """The rows of a sheet as a table; DatasetErrors names each that cannot hold.

    An empty end lasts still. All dates have one precision, or `granularity` cuts them to a coarser
    one. `end_included`: the ends are last days (months, years), not the first ones after. Rows that
    begin and end in one unit of `granularity` are left out; `too_short` takes their lines.
    """
    defects: list[tuple[int, str]] = []
    parsed_rows = [_row(row, defects) for row in sheet.rows]
    precision = granularity or _granularity(parsed_rows, defects)
    short = [] if too_short is None else too_short
    rows = [
        row
        for line, values, start, end in parsed_rows
        if start
        and (row := _cut(line, values, start, end, precision, end_included, defects, short))
    ]
    if defects:
        raise DatasetErrors(file, sorted(set(defects)))
    if not rows:
        raise DatasetError(file, None, "holds no row")
    stem = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    name = stem if NAME.fullmatch(stem) else f"t_{stem}"[:60]
    return TemporalTable(name, sheet.columns, tuple(rows), precision, fictional)


def write_table(table: TemporalTable, out: Path) -> None:
    """As CSV that load_table reads; the same rows give the same bytes."""
    material = table.material()
    cells = (tuple("" if cell is None else str(cell) for cell in row) for row in material.rows)
    write_csv(material.columns, cells, out)


_ParsedRow = tuple[int, Cells, PartialDate | None, PartialDate | None]


def _row(
    row: SheetRow, defects: list[tuple[int, str]]
) -> tuple[int, Cells, PartialDate | None, PartialDate | None]:
    if not row.start:
        defects.append((row.line, "has no start"))
    if empty := next((value for value in row.values if not value.isprintable()), None):
        defects.append((row.line, f"{empty!r} holds a control character"))
    days = (_date(text, row.line, defects) for text in (row.start, row.end))
    return (row.line, row.values, *days)  # type: ignore[return-value]


def _date(text: str, line: int, defects: list[tuple[int, str]]) -> PartialDate | None:
    try:
        return PartialDate.parse(text) if text else None
    except ValueError as exc:
        defects.append((line, str(exc)))
        return None


def _granularity(rows: Sequence[_ParsedRow], defects: list[tuple[int, str]]) -> Granularity:
    """The one precision of all dates; rows that differ from the most frequent one are named."""
    precise = [(line, len(str(day))) for line, _, *days in rows for day in days if day]
    if not precise:
        return "day"
    lengths = [length for _, length in precise]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    names = {length: name for name, length in LENGTHS.items()}
    for line, length in precise:
        if length != usual:
            defects.append((line, f"is by {names[length]}, most rows by {names[usual]}; mixed"))
    return names[usual]


def _cut(
    line: int,
    values: Cells,
    start: PartialDate,
    end: PartialDate | None,
    granularity: Granularity,
    end_included: bool,
    defects: list[tuple[int, str]],
    too_short: list[int],
) -> TemporalRow | None:
    if min(len(str(day)) for day in (start, end) if day) < LENGTHS[granularity]:
        defects.append((line, f"is coarser than the granularity {granularity}"))
        return None
    begins = _cut_to(start, granularity)
    ends = _cut_to(end, granularity) if end else None
    if ends is not None and end_included:
        ends = next_unit(ends, granularity)
    if ends == begins and end is not None and end.first > start.first:
        too_short.append(line)
        return None
    if ends is not None and ends <= begins:
        how = "before its start" if ends < begins else "on its start, so it never held"
        defects.append((line, f"ends {how} {start}"))
        return None
    return TemporalRow(values, begins, ends, line)


def _cut_to(day: PartialDate, granularity: Granularity) -> date:
    return PartialDate.parse(str(day)[: LENGTHS[granularity]]).first


def next_unit(day: date, granularity: Granularity) -> date:
    """The first day of the next year or month, or the next day."""
    if granularity == "year":
        return date(day.year + 1, 1, 1)
    if granularity == "month":
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return date.fromordinal(day.toordinal() + 1)
