"""What a question is about (the rows that share the values of its key columns), and the query
before it is worded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from agent_env.families.tdbench.sample import (
    NAME,
    Cardinality,
    GoldRow,
    Hop,
    Kind,
    Role,
    TdbenchSample,
    cardinality_of,
)
from agent_env.families.tdbench.wording import Domain, QuestionForm
from agent_env.features.facts.tables.temporal_table import TemporalTable, groups
from agent_env.sdk.records import Proof
from agent_env.temporal.allen import FOREVER, Interval, Relation, relation

MAX_GROUP_ROWS = 60
"""Larger groups would not fit into an open-book prompt and are not asked about."""


@dataclass(frozen=True, slots=True)
class GroupRow:
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
    sharing: Mapping[str, Sequence[Seed]]
    """By `start`, `end` and `both`: groups with those of their rows that have it in common."""
    omissions: Mapping[str, int]
    """Groups that are not asked about, by reason, and rows without an answer."""

    def seed_rows(self, rng: Random, target: Relation, two: bool) -> Seed:
        """A group and one of its rows, or two or three that can stand in the relation to one b, to
        build b around; no row where this draw finds none."""
        if not two:
            group = rng.choice(self.groups)
            return group, [rng.choice(group.rows)]
        if (bound := SHARED_BOUND.get(target)) is not None:
            if not self.sharing[bound]:
                return self.groups[0], []
            group, rows = rng.choice(self.sharing[bound])
            return group, rng.sample(rows, rng.randint(2, min(3, len(rows))))
        group = rng.choice(self.groups)
        one = rng.choice(group.rows)
        others = [
            row
            for row in group.rows
            if row is not one
            and (target not in SHARED_DAYS or one.interval.meet(row.interval) is not None)
        ]
        return group, [one, rng.choice(others)] if others else []


SHARED_BOUND: Mapping[Relation, str] = {
    "equals": "both", "starts": "start", "started-by": "start", "met-by": "start",
    "finishes": "end", "finished-by": "end", "meets": "end",
}  # fmt: skip
"""Which bound two rows that stand in this relation to one b have in common."""
SHARED_DAYS: frozenset[Relation] = frozenset({"overlaps", "overlapped-by", "contains"})


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
    sharing: dict[str, list[Seed]] = {"start": [], "end": [], "both": []}
    for group in askable:
        for bound, shared in _rows_by_bound(group):
            sharing[bound].append((group, shared))
    last = now.toordinal()
    return QueryPool(domain, form, table, tuple(askable), tuple(lone), last, sharing, omissions)


DISTRACTORS = 2
"""Rows of other groups that meet the condition on time, at most."""
IRRELEVANT = (4, 12)
"""How many irrelevant rows are shown, at least and at most, where the table has them."""
BOTH: tuple[Role, ...] = ("start", "end")
ROLES: dict[str, tuple[Role, ...]] = {
    "after": ("start",), "met-by": ("start",), "current": ("start",), "nth": ("start",),
    "count": ("start",), "before": ("end",), "meets": ("end",), "duration": (),
}  # fmt: skip
"""Which dates a time reference must give; both for relations that are not listed. The full
`started-by` and `finished-by` name both bounds, so both are asked for."""


@dataclass(frozen=True, slots=True)
class Query:
    domain: str
    kind: Kind
    relation: str
    tables: tuple[TemporalTable, ...]
    keys: dict[str, str]
    """Key columns and their values."""
    answers: tuple[str, ...]
    """Answer columns."""
    relevant: tuple[tuple[int, ...], ...]
    """Row indices by table."""
    golds: tuple[GroupRow, ...]
    others: tuple[str, ...]
    """Wrong answers of the relevant rows."""
    sql: dict[str, str]
    questions: tuple[str, ...]
    """One for each phrasing."""
    b: tuple[str, str] | None = None
    hops: tuple[Hop, ...] = ()
    number: int | None = None
    """The answer, where it is a number."""
    distractors: tuple[int, ...] = ()
    """Rows of other groups that meet the condition on time: who ignores the entity takes them."""

    @property
    def gold(self) -> tuple[str, ...]:
        """The distinct answers in order."""
        if self.number is not None:
            return (str(self.number),)
        return tuple(dict.fromkeys(row.answer for row in self.golds))

    @property
    def cardinality(self) -> Cardinality:
        """By the number of distinct answers."""
        return cardinality_of(len(self.gold))

    @property
    def roles(self) -> tuple[Role, ...]:
        """Which dates of the gold rows are asked for."""
        return ROLES.get(self.relation, BOTH) if self.golds and self.number is None else ()


def group_query(
    pool: QueryPool,
    group: Group,
    kind: Kind,
    golds: Sequence[GroupRow],
    sql: dict[str, str],
    questions: Iterable[str],
    b: tuple[str, str] | None = None,
    relation: str | None = None,
    distractors: tuple[int, ...] = (),
) -> Query:
    """A query about one group; its relation is the kind where none is named."""
    return Query(
        domain=pool.domain.name,
        kind=kind,
        relation=relation or kind,
        tables=(pool.table,),
        keys=group.keys,
        answers=pool.form.answers,
        relevant=(tuple(row.index for row in group.rows),),
        golds=tuple(golds),
        others=wrong_answers((row.answer for row in group.rows), golds),
        sql=sql,
        questions=tuple(questions),
        b=b,
        distractors=distractors,
    )


def wrong_answers(answers: Iterable[str], golds: Iterable[GroupRow]) -> tuple[str, ...]:
    gold = {row.answer for row in golds}
    return tuple(dict.fromkeys(answer for answer in answers if answer not in gold))


def make_samples(
    query: Query,
    name: str,
    now: str,
    digests: dict[str, str],
    rng: Random,
    version: int,
    proofs: tuple[Proof, ...] = (),
) -> list[TdbenchSample]:
    """One sample for each phrasing; all show the same rows."""
    context = tuple(
        context_rows(rng, indices, len(table.rows), query.distractors)
        for indices, table in zip(query.relevant, query.tables, strict=True)
    )
    common: dict[str, Any] = {
        "gold": query.gold,
        "evidence": tuple(dict.fromkeys(url for proof in proofs for url in proof.urls)),
        "proofs": proofs,
        "materials": tuple(digests[table.name] for table in query.tables),
        "domain": query.domain,
        "kind": query.kind,
        "relation": query.relation,
        "cardinality": query.cardinality,
        "asked": query.keys,
        "answers": query.answers,
        "answer_type": "name" if query.number is None else "number",
        "b_start": query.b[0] if query.b else None,
        "b_end": query.b[1] if query.b else None,
        "granularity": query.tables[0].granularity,
        "now": now,
        "golds": tuple(_gold_row(query.tables[0], row) for row in query.golds),
        "others": query.others,
        "outdated": query.others if query.kind == "current" else (),
        "roles": query.roles,
        "hops": query.hops,
        "sql": query.sql,
        "context": context,
        "relevant": query.relevant,
        "fictional": any(table.fictional for table in query.tables),
        "generator": version,
    }
    return phrased(name, query.questions, **common)


def phrased(name: str, questions: Sequence[str], **common: Any) -> list[TdbenchSample]:
    """A sample of a query for each of its wordings."""
    if not questions:
        return []
    common |= {"task": NAME, "query": name}
    # Everything that varies is a text; the rest is validated with the first sample.
    first = TdbenchSample(id=f"{name}-0", phrasing=0, question=questions[0], **common)
    rest = (
        first.model_copy(update={"id": f"{name}-{n}", "phrasing": n, "question": question})
        for n, question in enumerate(questions)
        if n
    )
    return [first, *rest]


def context_rows(
    rng: Random, relevant: tuple[int, ...], count: int, distractors: Sequence[int] = ()
) -> tuple[int, ...]:
    """The relevant rows of a table of `count` rows with some others, in random order; some of the
    others are distractors, where there are any."""
    indices = list(dict.fromkeys(relevant))
    least, most = IRRELEVANT
    indices += [index for index in distractors[:DISTRACTORS] if index not in indices]
    size = len(indices) + min(count - len(indices), min(most, max(least, len(indices))))
    while len(indices) < size:
        index = rng.randrange(count)
        if index not in indices:
            indices.append(index)
    rng.shuffle(indices)
    return tuple(indices)


def _gold_row(table: TemporalTable, gold: GroupRow) -> GoldRow:
    row = table.rows[gold.index]
    return GoldRow(
        answer=gold.answer,
        start=table.written(row.start),
        end=None if row.end is None else table.written(row.end),
        row=gold.index,
    )
