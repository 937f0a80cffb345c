"""A query before it is worded: what every kind of question has in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from agent_env.families.tdbench.groups import Group, GroupRow, QueryPool
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
from agent_env.records.schema import Proof
from agent_env.temporal.facts.temporal_table import TemporalTable

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
    """A checked query with its gold and its wordings."""

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
    """The distinct answers that are not gold, in order."""
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
        "task": NAME,
        "gold": query.gold,
        "evidence": tuple(dict.fromkeys(url for proof in proofs for url in proof.urls)),
        "proofs": proofs,
        "materials": tuple(digests[table.name] for table in query.tables),
        "query": name,
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
    # Everything that varies is a text; the rest was validated with the first sample.
    first = TdbenchSample(id=f"{name}-0", phrasing=0, question=query.questions[0], **common)
    rest = (
        first.model_copy(update={"id": f"{name}-{n}", "phrasing": n, "question": question})
        for n, question in enumerate(query.questions)
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
