"""Stories from interval rows: all facts of one topic and relation, the source of questions."""

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
    """The rows of one topic and relation as a story; `years`: indices of rows with years only."""
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
    """The bounds as a fact's texts, and as months."""
    start, end = row.start, row.end
    length = 4 if by_years else 7
    first = month(start.year, 1 if by_years else start.month)
    texts = start.isoformat()[:length], None if end is None else end.isoformat()[:length]
    last = None if end is None else month(end.year, 12 if by_years else end.month)
    return texts, (first, last)


def stories_of(
    rows: Iterable[IntervalRow], rng: Random, least: int = 3
) -> Iterator[tuple[IntervalRow, ...]]:
    """The rows of each story with at least `least` facts, repeatedly, in random order."""
    groups: dict[tuple[str, str], list[IntervalRow]] = defaultdict(list)
    for row in rows:
        topic = row.object if row.relation in OF_OBJECT else row.subject
        groups[row.relation, topic].append(row)
    long = [tuple(group) for group in groups.values() if len(group) >= least]
    while long:
        yield from rng.sample(long, len(long))


def presidents(tables: FactTables) -> tuple[IntervalRow, ...]:
    """The packaged table of real terms of office as intervals, for closed-book questions."""
    return tuple(
        IntervalRow(row.person, "heads", "the United States", row.start, row.end)
        for row in tables.presidents
    )
