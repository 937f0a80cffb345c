"""The temporal natural join, and what still depends on what in its result."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from operator import itemgetter

from agent_env.errors import ConfigError
from agent_env.temporal.facts.temporal_table import TemporalRow, TemporalTable, Tfd

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
