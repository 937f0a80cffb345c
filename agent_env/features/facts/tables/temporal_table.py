"""Temporal tables: rows with values that held from a start up to, and not including, an end; their
natural join, and what still depends on what in its result."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from operator import itemgetter

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import MaterialTable
from agent_env.temporal.allen import Granularity, Interval, cut

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
    """Where the row is in its file; 0 where it comes from none."""

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
        """Where these columns are; KeyError names one that is none."""
        at = {name: place for place, name in enumerate(self.columns)}
        return tuple(at[name] for name in names)

    def written(self, day: date) -> str:
        return day.isoformat()[: LENGTHS[self.granularity]]

    def material(self) -> MaterialTable:
        """As it is stored with samples and given to tools."""
        rows = (
            (*row.values, self.written(row.start), row.end and self.written(row.end))
            for row in self.rows
        )
        return MaterialTable(
            name=self.name, columns=(*self.columns, *("start", "end")), rows=tuple(rows)
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


_NEVER = date.max


@dataclass(frozen=True, slots=True)
class Joined:
    """The table, and for each of its rows the places of the two that it comes from."""

    table: TemporalTable
    parents: tuple[tuple[int, int], ...]


def natural_join(left: TemporalTable, right: TemporalTable, name: str) -> Joined:
    """Rows that agree on all common columns, for the time that both held (Definition A.2).

    Columns are those of the left, then those that only the right has. ConfigError where no column
    is common or the granularities differ.
    """
    common = tuple(column for column in left.columns if column in right.columns)
    if not common:
        raise ConfigError(f"tables {left.name} and {right.name} have no column in common")
    if left.granularity != right.granularity:
        raise ConfigError(
            f"{left.name} is by {left.granularity} and {right.name} by {right.granularity}"
        )
    added = tuple(column for column in right.columns if column not in common)
    places = right.places(added)
    rows, parents = [], []
    for one, other, start, end in _pairs(left, right, common):
        other_values = right.rows[other].values
        values = (*left.rows[one].values, *(other_values[place] for place in places))
        rows.append(TemporalRow(values, start, None if end is _NEVER else end))
        parents.append((one, other))
    invented = left.fictional or right.fictional
    columns = (*left.columns, *added)
    table = TemporalTable(name, columns, tuple(rows), left.granularity, invented)
    return Joined(table, tuple(parents))


_Span = tuple[date, date, int]
"""Start, end, place."""


def _pairs(
    left: TemporalTable, right: TemporalTable, common: Sequence[str]
) -> Iterator[tuple[int, int, date, date]]:
    """Places of the two rows and the bounds of their common time.

    Both sides of a key are sorted by start; each row is joined with those of the other side that
    begin while it lasts, so that the work grows with the result and not with the product.
    """
    ones, others = _spans(left, common), _spans(right, common)
    for key, first in ones.items():
        second = others.get(key)
        if second is None:
            continue
        for start, end, one, other in _beginning_within(first, second, same_day=True):
            yield one, other, start, end
        for start, end, other, one in _beginning_within(second, first, same_day=False):
            yield one, other, start, end


def _spans(table: TemporalTable, names: Sequence[str]) -> dict[tuple[str, ...], list[_Span]]:
    places = table.places(names)
    spans_by_key: dict[tuple[str, ...], list[_Span]] = defaultdict(list)
    for number, row in enumerate(table.rows):
        key = tuple(row.values[place] for place in places)
        spans_by_key[key].append((row.start, row.end or _NEVER, number))
    for spans in spans_by_key.values():
        spans.sort()
    return spans_by_key


def _beginning_within(
    outer: list[_Span], inner: list[_Span], same_day: bool
) -> Iterator[tuple[date, date, int, int]]:
    starts = list(map(itemgetter(0), inner))
    for start, end, number in outer:
        first = bisect_left(starts, start) if same_day else _after(starts, start)
        for place in range(first, len(inner)):
            begins, ends, other = inner[place]
            if begins >= end:
                break
            yield begins, min(end, ends), number, other


def _after(starts: list[date], start: date) -> int:
    return bisect_left(starts, date.fromordinal(start.toordinal() + 1))


def closure(names: Iterable[str], tfds: Iterable[Tfd]) -> frozenset[str]:
    """All attributes that these determine at any time, by Armstrong's axioms."""
    names_reached, rules = set(names), list(tfds)
    while (
        new := {name for rule in rules if rule.left <= names_reached for name in rule.right}
        - names_reached
    ):
        names_reached |= new
    return frozenset(names_reached)


def joined_tfds(
    questions: Iterable[Iterable[str]], answers: Iterable[str], tfds: Sequence[Tfd]
) -> tuple[Tfd, ...]:
    """The dependencies from each of `questions` to `answers` that follow from those of both tables.
    A snapshot of the join is the join of the snapshots, so what held in either holds in it."""
    targets = frozenset(answers)
    return tuple(Tfd.of(names, targets) for names in questions if targets <= closure(names, tfds))
