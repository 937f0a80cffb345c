"""A query before it is worded: what every kind of question has in common."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from agent_env.families.tdbench.groups import Held
from agent_env.families.tdbench.sample import (
    NAME,
    Cardinality,
    GoldRow,
    Hop,
    Kind,
    Role,
    TdbenchSample,
)
from agent_env.records.schema import Proof
from agent_env.temporal.facts.temporal_table import TemporalTable

IRRELEVANT = (4, 12)
"""How many rows of no relevance are shown, at least and at most, where the table has them."""
BOTH: tuple[Role, ...] = ("start", "end")
ROLES: dict[str, tuple[Role, ...]] = {
    "after": ("start",),
    "met-by": ("start",),
    "current": ("start",),
    "nth": ("start",),
    "count": ("start",),
    "before": ("end",),
    "meets": ("end",),
    "duration": (),
}
"""Which dates a time reference must give; both where nothing else is said. The full `started-by`
and `finished-by` name both bounds, so both are asked for."""


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query with its gold, ready to be worded."""

    domain: str
    kind: Kind
    relation: str
    tables: tuple[TemporalTable, ...]
    asked: dict[str, str]
    answers: tuple[str, ...]
    relevant: tuple[tuple[int, ...], ...]
    """Places by table."""
    golds: tuple[Held, ...]
    others: tuple[str, ...]
    sql: dict[str, str]
    questions: tuple[str, ...]
    """One for each phrasing."""
    b: tuple[str, str] | None = None
    hops: tuple[Hop, ...] = ()
    number: int | None = None
    """The answer, where it is one."""

    @property
    def cardinality(self) -> Cardinality:
        """By the number of distinct answers."""
        if self.number is not None:
            return "unique"
        return ("none", "unique", "multiple")[min(2, len({row.answer for row in self.golds}))]

    @property
    def roles(self) -> tuple[Role, ...]:
        """Which dates of the gold rows are asked for."""
        return ROLES.get(self.relation, BOTH) if self.golds and self.number is None else ()


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
    golds = tuple(_gold(query.tables[0], row) for row in query.golds)
    answers = tuple(dict.fromkeys(row.answer for row in query.golds))
    if query.number is not None:
        answers = (str(query.number),)
    context = tuple(
        shown(rng, places, len(table.rows))
        for places, table in zip(query.relevant, query.tables, strict=True)
    )
    numeric = query.number is not None
    common: dict[str, Any] = {
        "task": NAME,
        "gold": answers,
        "evidence": tuple(dict.fromkeys(url for proof in proofs for url in proof.urls)),
        "proofs": proofs,
        "materials": tuple(digests[table.name] for table in query.tables),
        "query": name,
        "domain": query.domain,
        "kind": query.kind,
        "relation": query.relation,
        "cardinality": query.cardinality,
        "asked": query.asked,
        "answers": query.answers,
        "answer_type": "number" if numeric else "name",
        "b_start": query.b[0] if query.b else None,
        "b_end": query.b[1] if query.b else None,
        "granularity": query.tables[0].granularity,
        "now": now,
        "golds": golds,
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
    # Everything that varies is a text; the rest was checked with the first.
    first = TdbenchSample(id=f"{name}-0", phrasing=0, question=query.questions[0], **common)
    rest = (
        first.model_copy(update={"id": f"{name}-{n}", "phrasing": n, "question": question})
        for n, question in enumerate(query.questions)
        if n
    )
    return [first, *rest]


def shown(rng: Random, relevant: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The relevant rows of a table of so many, with some others, in random order."""
    kept = set(relevant)
    least, most = IRRELEVANT
    wanted = min(count - len(kept), min(most, max(least, len(kept))))
    chosen = list(relevant)
    while wanted > 0:
        place = rng.randrange(count)
        if place not in kept:
            kept.add(place)
            chosen.append(place)
            wanted -= 1
    rng.shuffle(chosen)
    return tuple(chosen)


def _gold(table: TemporalTable, held: Held) -> GoldRow:
    row = table.rows[held.place]
    return GoldRow(
        answer=held.answer,
        start=table.written(row.start),
        end=None if row.end is None else table.written(row.end),
        row=held.place,
    )
