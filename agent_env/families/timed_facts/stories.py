"""From interval rows to the stories that questions are drawn from: one topic, one relation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agent_env.families.timed_facts.facts import Bounds, Fact
from agent_env.temporal.facts.tables import FactTables, IntervalRow, Relation
from agent_env.temporal.fiction.histories import OF_OBJECT
from agent_env.temporal.months import month

KIND_OF: dict[Relation, str] = {
    "holds_office": "position", "plays_for": "team", "works_for": "employer",
    "member_of": "party", "attends": "school", "owns": "owner", "heads": "head",
    "manages": "coach",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Story:
    """All facts of one kind about one topic."""

    topic: str
    kind: str
    facts: tuple[Fact, ...]


def story_of(rows: Sequence[IntervalRow], years: frozenset[int] = frozenset()) -> Story:
    """The rows, of one topic and relation, as a story; the rows at the places in `years` are told
    by years alone."""
    kind = KIND_OF[rows[0].relation]
    of_object = rows[0].relation in OF_OBJECT
    topic = rows[0].object if of_object else rows[0].subject
    facts = []
    for place, row in enumerate(rows):
        value = row.subject if of_object else row.object
        bounds, months = _bounds(row, place in years)
        facts.append(Fact.sound(topic, kind, value, bounds, months))
    return Story(topic, kind, tuple(facts))


def _bounds(row: IntervalRow, by_years: bool) -> tuple[tuple[str, str | None], Bounds]:
    """The bounds as a fact writes them, and the months that they mean."""
    start, end = row.start, row.end
    length = 4 if by_years else 7
    first = month(start.year, 1 if by_years else start.month)
    written = start.isoformat()[:length], None if end is None else end.isoformat()[:length]
    last = None if end is None else month(end.year, 12 if by_years else end.month)
    return written, (first, last)


def stories_of(
    rows: Iterable[IntervalRow], rng: Random, least: int = 3
) -> Iterator[tuple[IntervalRow, ...]]:
    """The rows of a table grouped into stories of at least so many facts, over and over in
    drawn order."""
    groups: dict[tuple[str, str], list[IntervalRow]] = defaultdict(list)
    for row in rows:
        topic = row.object if row.relation in OF_OBJECT else row.subject
        groups[row.relation, topic].append(row)
    long = [tuple(group) for group in groups.values() if len(group) >= least]
    while long:
        yield from rng.sample(long, len(long))


def presidents(tables: FactTables) -> tuple[IntervalRow, ...]:
    """The shipped table of real terms of office as intervals: what a closed book may know."""
    return tuple(
        IntervalRow(row.person, "heads", "the United States", row.start, row.end)
        for row in tables.presidents
    )
