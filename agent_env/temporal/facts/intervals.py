"""Who stood in which relation to what, from which day to which: rows of a second kind of table."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import get_args

from agent_env.temporal.facts.tables import IntervalRow, Relation, read_rows
from agent_env.temporal.facts.writing import write_csv

ONE_AT_A_TIME: frozenset[Relation] = frozenset({"holds_office", "manages"})
"""Relations in which an object has one subject at a time."""
COLUMNS = ("subject", "relation", "object", "start", "end")


def read_intervals(file: Path) -> tuple[IntervalRow, ...]:
    """The rows of a CSV file with the COLUMNS; DatasetError for the first defect."""
    return read_rows(file, _interval)


def write_intervals(rows: Sequence[IntervalRow], out: Path) -> None:
    """The rows in the order given; the same rows give the same bytes."""
    cells = ((r.subject, r.relation, r.object, str(r.start), str(r.end or "")) for r in rows)
    write_csv(COLUMNS, cells, out)


def _interval(raw: dict[str, str]) -> IntervalRow:
    relation = raw["relation"]
    if relation not in get_args(Relation):
        raise ValueError(f"unknown relation '{relation}'; known: {', '.join(get_args(Relation))}")
    start = date.fromisoformat(raw["start"])
    end = date.fromisoformat(raw["end"]) if raw["end"] else None
    if end is not None and end < start:
        raise ValueError(f"'{raw['subject']}' {relation} until {end}, before the start on {start}")
    return IntervalRow(raw["subject"], relation, raw["object"], start, end)  # type: ignore[arg-type]


def overlaps(rows: Iterable[IntervalRow]) -> Iterator[tuple[IntervalRow, IntervalRow]]:
    """Pairs of rows that give one object two subjects on the same day, where it can have one."""
    rows_by_post: dict[tuple[str, str], list[IntervalRow]] = defaultdict(list)
    for row in rows:
        if row.relation in ONE_AT_A_TIME:
            rows_by_post[row.relation, row.object].append(row)
    for spans in rows_by_post.values():
        spans.sort(key=lambda row: row.start)
        for before, after in itertools.pairwise(spans):
            if before.end is None or after.start <= before.end:
                yield before, after
