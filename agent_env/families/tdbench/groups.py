"""The rows that a question is about: those that share the values of its question attributes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.tdbench.domains import Ask, Domain
from agent_env.temporal.allen import FOREVER, Interval, Relation, relation
from agent_env.temporal.facts.temporal_table import TemporalTable, groups

MOST = 60
"""Rows of a group; larger ones would not fit into an open-book prompt and are not asked about."""


@dataclass(frozen=True, slots=True)
class Held:
    """One row of a group."""

    interval: Interval
    answer: str
    place: int
    """In the table."""


@dataclass(frozen=True, slots=True)
class Group:
    """All rows with these values, by start."""

    values: dict[str, str]
    rows: tuple[Held, ...]

    def holding(self, wanted: Relation, b: Interval) -> tuple[Held, ...]:
        """The rows that stand in the relation to b."""
        return tuple(row for row in self.rows if relation(row.interval, b) == wanted)


@dataclass(frozen=True, slots=True)
class Field:
    """A table with one way of asking about it, and its groups in order."""

    domain: Domain
    ask: Ask
    table: TemporalTable
    groups: tuple[Group, ...]
    last: int
    """The day of `now`: no b ends later."""
    pairs: _Pairs
    left_out: Mapping[str, int]
    """Groups that are not asked about, by reason, and rows without an answer."""

    def seed_rows(self, rng: Random, wanted: Relation, two: bool) -> tuple[Group, list[Held]]:
        """A group and one or two of its rows to build b around; none where no two of any group
        can stand in the relation to one b."""
        if not two:
            group = rng.choice(self.groups)
            return group, [rng.choice(group.rows)]
        found = self.pairs.draw(rng, wanted)
        return found if found is not None else (self.groups[0], [])


SAME_START: frozenset[Relation] = frozenset({"starts", "started-by", "met-by"})
SAME_END: frozenset[Relation] = frozenset({"finishes", "finished-by", "meets"})
SHARED_DAYS: frozenset[Relation] = frozenset({"overlaps", "overlapped-by", "contains"})


class _Pairs:
    """Two rows of a group that can stand in one relation to one b."""

    def __init__(self, found: Sequence[Group]) -> None:
        self._groups = [group for group in found if len(group.rows) > 1]
        self._start: list[tuple[Group, list[Held]]] = []
        self._end: list[tuple[Group, list[Held]]] = []
        self._both: list[tuple[Group, list[Held]]] = []
        for group in self._groups:
            for kept, rows in _sharing(group):
                {"start": self._start, "end": self._end, "both": self._both}[kept].append(
                    (group, rows)
                )

    def draw(self, rng: Random, wanted: Relation) -> tuple[Group, list[Held]] | None:
        """Two or three such rows with their group; None where there are none, or no luck."""
        if wanted == "equals":
            return _some(rng, self._both)
        if wanted in SAME_START:
            return _some(rng, self._start)
        if wanted in SAME_END:
            return _some(rng, self._end)
        if not self._groups:
            return None
        group = rng.choice(self._groups)
        one = rng.choice(group.rows)
        others = [row for row in group.rows if row is not one and _fits(one, row, wanted)]
        return (group, [one, rng.choice(others)]) if others else None


def _fits(one: Held, other: Held, wanted: Relation) -> bool:
    return wanted not in SHARED_DAYS or one.interval.meet(other.interval) is not None


def _some(rng: Random, kept: list[tuple[Group, list[Held]]]) -> tuple[Group, list[Held]] | None:
    if not kept:
        return None
    group, rows = rng.choice(kept)
    return group, rng.sample(rows, rng.randint(2, min(3, len(rows))))


def _sharing(group: Group) -> Iterator[tuple[str, list[Held]]]:
    """Rows of the group with one start, one end, or both."""
    for name, keys in (
        ("start", [row.interval.start for row in group.rows]),
        ("end", [row.interval.end for row in group.rows]),
        ("both", [row.interval for row in group.rows]),
    ):
        for key, count in Counter(keys).items():
            if count > 1 and key != FOREVER:
                yield name, [r for r, k in zip(group.rows, keys, strict=True) if k == key]


def make_field(domain: Domain, ask: Ask, table: TemporalTable, now: date) -> Field:
    """The groups of a question; those with one answer only leave nothing to choose."""
    answers = table.places(ask.answers)
    places: dict[int, int] = {id(row): place for place, row in enumerate(table.rows)}
    made = []
    left_out: Counter[str] = Counter()
    about = f"of {table.name} by {' and '.join(ask.asked)}"
    for values, rows in groups(table, ask.asked).items():
        if len(rows) > MOST or not all(values):
            why = f"of more than {MOST} rows" if len(rows) > MOST else "with an empty value"
            left_out[f"groups {about} {why}"] += 1
            continue
        held = [
            Held(row.interval, ", ".join(row.values[at] for at in answers), places[id(row)])
            for row in rows
            if all(row.values[at] for at in answers)
        ]
        held.sort(key=lambda row: (row.interval, row.answer))
        left_out[f"rows {about} without {' or '.join(ask.answers)}"] += len(rows) - len(held)
        if len({row.answer for row in held}) > 1:
            made.append(Group(dict(zip(ask.asked, values, strict=True)), tuple(held)))
        else:
            left_out[f"groups {about} with less than two answers"] += 1
    return Field(domain, ask, table, tuple(made), now.toordinal(), _Pairs(made), left_out)


def by_value(rows: Sequence[Held]) -> dict[str, list[Held]]:
    """The rows by their answer, in the order of the rows."""
    found: dict[str, list[Held]] = defaultdict(list)
    for row in rows:
        found[row.answer].append(row)
    return dict(found)
