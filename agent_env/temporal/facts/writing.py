"""Writes tables whole or not at all; the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.records.escaping import csv_text
from agent_env.records.safe_files import replace_file
from agent_env.temporal.facts.tables import COLUMNS, EventRow


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
