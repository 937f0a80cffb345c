"""Writes tables whole or not at all; the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.records.escaping import csv_text
from agent_env.records.safe_files import replace_file
from agent_env.temporal.facts.tables import COLUMNS, EventRow


def write_events(rows: Sequence[EventRow], out: Path) -> None:
    """The table in its full form; with rows that still last it has the column `now` too."""
    lasting = any(row.now is not None for row in rows)
    cells = [_cells(row) for row in rows]
    if lasting:
        write_csv((*COLUMNS, "now"), cells, out)
    else:
        write_csv(COLUMNS, (line[:-1] for line in cells), out)


def _cells(row: EventRow) -> tuple[str, ...]:
    start, end, now = (str(day) if day is not None else "" for day in (row.start, row.end, row.now))
    spans = spans_text(row.years)
    return (row.event, row.kind, row.summary, row.hint, start, end, spans, row.source, now)


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
