"""The rows that a question is about: those that share the values of its key columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.tdbench.domains import Domain, QuestionForm
from agent_env.temporal.allen import FOREVER, Interval, Relation, relation
from agent_env.temporal.facts.temporal_table import TemporalTable, groups

MAX_GROUP_ROWS = 60
"""Larger groups would not fit into an open-book prompt and are not asked about."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One row of a group."""

    interval: Interval
    answer: str
    index: int
    """In the table."""


@dataclass(frozen=True, slots=True)
class Group:
    """All rows with these values in the key columns, by start."""

    keys: dict[str, str]
    rows: tuple[GroupRow, ...]

    def matches(self, expected: Relation, b: Interval) -> tuple[GroupRow, ...]:
        """The rows that stand in the relation to b."""
        return tuple(row for row in self.rows if relation(row.interval, b) == expected)


Seed = tuple[Group, list[GroupRow]]
"""A group, and those of its rows around which b is drawn."""


@dataclass(frozen=True, slots=True)
class QueryPool:
    """A table with one form of question, and its groups in order: what queries are drawn from."""

    domain: Domain
    form: QuestionForm
    table: TemporalTable
    groups: tuple[Group, ...]
    """Those with two answers at least."""
    lone: tuple[Group, ...]
    """Those with one answer, of which only what holds now can be asked."""
    last: int
    """The day of `now`: no b ends later."""
    pairs: _Pairs
    omissions: Mapping[str, int]
    """Groups that are not asked about, by reason, and rows without an answer."""

    def seed_rows(self, rng: Random, target: Relation, two: bool) -> Seed:
        """A group and one or two of its rows to build b around; no row where no two of any group
        can stand in the relation to one b."""
        if not two:
            group = rng.choice(self.groups)
            return group, [rng.choice(group.rows)]
        return self.pairs.draw(rng, target) or (self.groups[0], [])


SHARED_BOUND: Mapping[Relation, str] = {
    "equals": "both", "starts": "start", "started-by": "start", "met-by": "start",
    "finishes": "end", "finished-by": "end", "meets": "end",
}  # fmt: skip
"""Which bound two rows that stand in this relation to one b have in common."""
SHARED_DAYS: frozenset[Relation] = frozenset({"overlaps", "overlapped-by", "contains"})


class _Pairs:
    """Two rows of a group that can stand in one relation to one b."""

    def __init__(self, some: list[Group]) -> None:
        self._groups = [group for group in some if len(group.rows) > 1]
        self._sharing: dict[str, list[Seed]] = {"start": [], "end": [], "both": []}
        for group in self._groups:
            for bound, rows in _rows_by_bound(group):
                self._sharing[bound].append((group, rows))

    def draw(self, rng: Random, target: Relation) -> Seed | None:
        """Two or three such rows with their group; None where this draw finds none."""
        if (bound := SHARED_BOUND.get(target)) is not None:
            if not self._sharing[bound]:
                return None
            group, rows = rng.choice(self._sharing[bound])
            return group, rng.sample(rows, rng.randint(2, min(3, len(rows))))
        if not self._groups:
            return None
        group = rng.choice(self._groups)
        one = rng.choice(group.rows)
        others = [
            row
            for row in group.rows
            if row is not one
            and (target not in SHARED_DAYS or one.interval.meet(row.interval) is not None)
        ]
        return (group, [one, rng.choice(others)]) if others else None


def _rows_by_bound(group: Group) -> Iterator[tuple[str, list[GroupRow]]]:
    """Rows of the group with one start, one end, or both."""
    for bound, values in (
        ("start", [row.interval.start for row in group.rows]),
        ("end", [row.interval.end for row in group.rows]),
        ("both", [row.interval for row in group.rows]),
    ):
        for value, count in Counter(values).items():
            if count > 1 and value != FOREVER:
                yield bound, [r for r, v in zip(group.rows, values, strict=True) if v == value]


def make_pool(domain: Domain, form: QuestionForm, table: TemporalTable, now: date) -> QueryPool:
    """The groups of a question form; a group with a single answer leaves no choice and is
    omitted."""
    answers = table.places(form.answers)
    indices = {id(row): index for index, row in enumerate(table.rows)}
    askable, lone = [], []
    omissions: Counter[str] = Counter()
    about = f"of {table.name} by {' and '.join(form.keys)}"
    for values, rows in groups(table, form.keys).items():
        if len(rows) > MAX_GROUP_ROWS or not all(values):
            large = len(rows) > MAX_GROUP_ROWS
            why = f"of more than {MAX_GROUP_ROWS} rows" if large else "with an empty value"
            omissions[f"groups {about} {why}"] += 1
            continue
        members = [
            GroupRow(row.interval, ", ".join(row.values[at] for at in answers), indices[id(row)])
            for row in rows
            if all(row.values[at] for at in answers)
        ]
        members.sort(key=lambda row: (row.interval, row.answer))
        omissions[f"rows {about} without {' or '.join(form.answers)}"] += len(rows) - len(members)
        if len({row.answer for row in members}) > 1:
            askable.append(Group(dict(zip(form.keys, values, strict=True)), tuple(members)))
        else:
            omissions[f"groups {about} with less than two answers"] += 1
            if members:
                lone.append(Group(dict(zip(form.keys, values, strict=True)), tuple(members)))
    return QueryPool(
        domain,
        form,
        table,
        tuple(askable),
        tuple(lone),
        now.toordinal(),
        _Pairs(askable),
        omissions,
    )
