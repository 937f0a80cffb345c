"""Temporal tables: rows with values that held from a start up to, and not including, an end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from agent_env.records.schema import MaterialTable
from agent_env.temporal.allen import Granularity, Interval, cut

TIME_COLUMNS = ("start", "end")
LENGTHS: dict[Granularity, int] = {"year": 4, "month": 7, "day": 10}


@dataclass(frozen=True, slots=True)
class TemporalRow:
    """Values in the order of the table's columns, and when they held."""

    values: tuple[str, ...]
    start: date
    """The first day, or the first day of the month or year."""
    end: date | None
    """The first day on which they held no more; None while they hold."""
    line: int = 0
    """Where the row stands in its file; 0 where it comes from none."""

    @property
    def interval(self) -> Interval:
        return Interval.of(self.start, self.end)


@dataclass(frozen=True, slots=True)
class TemporalTable:
    """Rows of one kind, all at one granularity."""

    name: str
    columns: tuple[str, ...]
    """Without the two of time."""
    rows: tuple[TemporalRow, ...]
    granularity: Granularity = "day"
    fictional: bool = False

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where these columns stand; KeyError names one that is none."""
        at = {name: place for place, name in enumerate(self.columns)}
        return tuple(at[name] for name in names)

    def written(self, day: date) -> str:
        """The day as the table's granularity writes it."""
        return day.isoformat()[: LENGTHS[self.granularity]]

    def material(self) -> MaterialTable:
        """As it is stored with samples and given to tools."""
        rows = (
            (*row.values, self.written(row.start), row.end and self.written(row.end))
            for row in self.rows
        )
        return MaterialTable(
            name=self.name, columns=(*self.columns, *TIME_COLUMNS), rows=tuple(rows)
        )


@dataclass(frozen=True, slots=True)
class Tfd:
    """At every time the values of `left` determine those of `right` (Definition A.1)."""

    left: frozenset[str]
    right: frozenset[str]

    @classmethod
    def of(cls, left: Iterable[str], right: Iterable[str]) -> Tfd:
        """From any collections of names."""
        return cls(frozenset(left), frozenset(right))

    def __str__(self) -> str:
        return f"{', '.join(sorted(self.left))} → {', '.join(sorted(self.right))}"


@dataclass(frozen=True, slots=True)
class Violation:
    """Two rows that cannot both be right."""

    first: TemporalRow
    second: TemporalRow

    def __str__(self) -> str:
        return f"{_row_text(self.first)} and {_row_text(self.second)} hold at the same time"


def _row_text(row: TemporalRow) -> str:
    where = f"line {row.line}: " if row.line else ""
    return f"{where}{', '.join(row.values)} ({row.start} to {row.end or 'now'})"


def tfd_violations(table: TemporalTable, tfd: Tfd) -> Iterator[Violation]:
    """Pairs of rows that agree on the left, differ on the right, and share a day."""
    right = table.places(sorted(tfd.right))
    for one, other in _sharing_a_day(table, sorted(tfd.left)):
        if any(one.values[place] != other.values[place] for place in right):
            yield Violation(one, other)


def _sharing_a_day(
    table: TemporalTable, names: Sequence[str]
) -> Iterator[tuple[TemporalRow, TemporalRow]]:
    for rows in groups(table, names).values():
        open_rows: list[TemporalRow] = []
        for row in sorted(rows, key=lambda row: row.start):
            open_rows = [old for old in open_rows if old.end is None or old.end > row.start]
            yield from ((old, row) for old in open_rows)
            open_rows.append(row)


def groups(table: TemporalTable, names: Sequence[str]) -> dict[tuple[str, ...], list[TemporalRow]]:
    """The rows by the values of these columns, in the table's order."""
    places = table.places(names)
    rows_by_key: dict[tuple[str, ...], list[TemporalRow]] = defaultdict(list)
    for row in table.rows:
        rows_by_key[tuple(row.values[place] for place in places)].append(row)
    return dict(rows_by_key)


def coalesced(table: TemporalTable) -> TemporalTable:
    """The table with rows of the same values that adjoin or overlap made one, in order."""
    merged: list[TemporalRow] = []
    for rows in groups(table, table.columns).values():
        current: TemporalRow | None = None
        for row in sorted(rows, key=lambda row: row.start):
            if current is not None and (current.end is None or row.start <= current.end):
                current = replace(current, end=_later(current.end, row.end))
                continue
            if current is not None:
                merged.append(current)
            current = row
        if current is not None:
            merged.append(current)
    return replace(table, rows=tuple(sorted(merged, key=lambda row: (row.values, row.start))))


def _later(one: date | None, other: date | None) -> date | None:
    return None if one is None or other is None else max(one, other)


def as_of(table: TemporalTable, now: date) -> TemporalTable:
    """What could be known at the end of that day: later rows are not there yet, and what ends later
    lasts still."""
    rows = (
        replace(row, end=None) if row.end is not None and row.end > now else row
        for row in table.rows
        if row.start <= now
    )
    return replace(table, rows=tuple(rows))


def snapshot(table: TemporalTable, day: date) -> tuple[TemporalRow, ...]:
    """The rows that held on that day."""
    return tuple(r for r in table.rows if r.start <= day and (r.end is None or r.end > day))


def coarser(table: TemporalTable, granularity: Granularity) -> tuple[TemporalTable, int]:
    """The table with its dates cut to months or years, and how many rows began and ended in one
    unit and are not in it."""
    cut_rows = [
        replace(row, start=cut(row.start, granularity), end=row.end and cut(row.end, granularity))
        for row in table.rows
    ]
    rows = tuple(row for row in cut_rows if row.end is None or row.start < row.end)
    return replace(table, rows=rows, granularity=granularity), len(cut_rows) - len(rows)
