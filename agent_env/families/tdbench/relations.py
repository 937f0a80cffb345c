"""Queries over Allen's relations: drawn, checked three ways, worded (Genqueries, Algorithm 1).

Relation and number of answers are drawn independently: every relation has as many queries with
one answer, with several and with none, as far as the tables have rows for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.tdbench.bounds import draw, offset_between, whole_months
from agent_env.families.tdbench.engines import Batch, Engines, GoldError, Rows
from agent_env.families.tdbench.groups import Field, Group, Held
from agent_env.families.tdbench.queries import Text, asked_names, relation_text
from agent_env.families.tdbench.query import Query
from agent_env.families.tdbench.sample import Cardinality
from agent_env.families.tdbench.wording import Offset, condition, sentence
from agent_env.temporal.allen import Interval, Relation

TRIES = 60
FIELDS_TRIED = 6
MEETING = ("meets", "met-by")
TOLD = {"unique": "one answer", "multiple": "several answers", "none": "no answer"}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A query that is not yet checked by the engines."""

    field: Field
    group: Group
    relation: Relation
    b: Interval
    golds: tuple[Held, ...]


def drawn(
    fields: Sequence[Field],
    relations: Sequence[Relation],
    cardinalities: Sequence[Cardinality],
    count: int,
    rng: Random,
    left_out: Counter[str],
) -> Iterator[Drawn]:
    """At most so many different queries, over all relations and numbers of answers in turn; where
    the rows have none for one of these, the next takes its turn, and `left_out` counts it. The
    numbers of answers alternate, so that a few queries hold all of them."""
    seen: set[tuple[int, int, Relation, Interval]] = set()
    orders = [rng.sample(relations, len(relations)) for _ in cardinalities]
    buckets = [
        turn
        for turns in zip(*orders, strict=True)
        for turn in zip(turns, cardinalities, strict=True)
    ]
    left, dry = count, 0
    turn = 0
    while left and dry < len(buckets):
        wanted, size = buckets[turn % len(buckets)]
        turn += 1
        found = _one(fields, wanted, size, rng, seen)
        if found is None:
            dry += 1
            left_out[f"turns of {wanted} with {TOLD[size]} for which no rows were found"] += 1
            continue
        dry = 0
        left -= 1
        yield found


def _one(
    fields: Sequence[Field],
    wanted: Relation,
    size: Cardinality,
    rng: Random,
    seen: set[tuple[int, int, Relation, Interval]],
) -> Drawn | None:
    for field in rng.sample(fields, min(FIELDS_TRIED, len(fields))):
        for _ in range(TRIES):
            found = _try(field, wanted, size, rng)
            if found is None:
                continue
            key = (id(field), id(found.group), wanted, found.b)
            if key not in seen:
                seen.add(key)
                return found
    return None


def _try(field: Field, wanted: Relation, size: Cardinality, rng: Random) -> Drawn | None:
    group, rows = field.seed_rows(rng, wanted, two=size == "multiple")
    if not rows:
        return None
    granularity = field.table.granularity
    b = draw(rng, wanted, rows, granularity, field.last)
    if b is not None and wanted in MEETING:
        b = whole_months(rng, b, wanted == "meets", granularity, field.last)
    if b is not None and size == "none":
        group = _elsewhere(field, group, b, rng)
    if b is None:
        return None
    golds = group.holding(wanted, b)
    answers = {row.answer for row in golds}
    if len(answers) != len(golds):  # one answer twice: which of its dates were asked for?
        return None
    if ("none", "unique", "multiple")[min(2, len(answers))] != size:
        return None
    return Drawn(field, group, wanted, b, golds)


def _elsewhere(field: Field, group: Group, b: Interval, rng: Random) -> Group:
    """Another group that has rows around b, so that nothing but the relation fails."""
    for _ in range(8):
        other = rng.choice(field.groups)
        if other is group:
            continue
        if other.rows[0].interval.start <= b.end and b.start <= other.rows[-1].interval.end:
            return other
    return group


def checked(found: Sequence[Drawn], engines: Engines, phrasings: int) -> Iterator[Query]:
    """The queries in the same order, with their SQL run on both engines; GoldError where an engine
    and Allen's relation differ."""
    by_field: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        by_field[id(one.field)].append(number)
    orders = list(by_field.values())
    batches = [_batch([found[number] for number in order]) for order in orders]
    results: dict[int, Rows] = {}
    for order, rows in zip(orders, engines.batches(batches), strict=True):
        results |= zip(order, rows, strict=True)
        field = found[order[0]].field
        engines.index(field.table.name, field.ask.asked)
    texts: dict[tuple[int, Relation], Text] = {}
    for number, one in enumerate(found):
        key, field = (id(one.field), one.relation), one.field
        if key not in texts:
            ask = field.ask
            texts[key] = relation_text(field.table.name, ask.asked, ask.answers, one.relation)
        yield _checked(one, texts[key], results[number], engines, phrasings)


def _batch(found: Sequence[Drawn]) -> Batch:
    field = found[0].field
    queries = ((one.relation, tuple(one.group.values.values()), *_bounds(one)) for one in found)
    return Batch(field.table.name, field.ask.asked, field.ask.answers, tuple(queries))


def _checked(
    one: Drawn,
    text: Text,
    rows: Rows,
    engines: Engines,
    phrasings: int,
) -> Query:
    table, ask = one.field.table, one.field.ask
    bounds = _bounds(one)
    values = dict(zip(asked_names(ask.asked), one.group.values.values(), strict=True))
    sql = text.filled({**values, "b_start": bounds[0], "b_end": bounds[1]})
    by_duckdb = sorted(rows, key=_nulls)
    by_sqlite = sorted(engines.sqlite(sql["sqlite"]), key=_nulls)
    places = table.places(ask.answers)
    by_allen = sorted((row_cells(one.field, row, places) for row in one.golds), key=_nulls)
    if not by_sqlite == by_duckdb == by_allen:
        raise GoldError(
            f"{one.relation}: Allen {by_allen}, SQLite {by_sqlite}, DuckDB {by_duckdb}: {sql}"
        )
    right = {row.answer for row in one.golds}
    return Query(
        domain=one.field.domain.name,
        kind="relation",
        relation=one.relation,
        tables=(table,),
        asked=one.group.values,
        answers=ask.answers,
        relevant=(tuple(row.place for row in one.group.rows),),
        golds=one.golds,
        others=tuple(dict.fromkeys(r.answer for r in one.group.rows if r.answer not in right)),
        sql=sql,
        questions=tuple(_question(one, style) for style in range(phrasings)),
        b=bounds,
    )


def row_cells(field: Field, row: Held, places: Sequence[int]) -> tuple[str | None, ...]:
    """A row as a query gives it: answers, start, end."""
    whole = field.table.rows[row.place]
    end = None if whole.end is None else field.table.written(whole.end)
    return (*(whole.values[place] for place in places), field.table.written(whole.start), end)


def _question(one: Drawn, style: int) -> str:
    start, end = date.fromordinal(one.b.start), date.fromordinal(one.b.end)
    cond = condition(
        one.relation, (start, end), offset_of(one), one.field.domain.verbs,
        one.field.table.granularity, style,
    )  # fmt: skip
    return sentence(one.field.ask, one.group.values, cond, style)


def offset_of(one: Drawn) -> Offset | None:
    """How the bound that meets is told from the other; None for all other relations."""
    if one.relation not in MEETING:
        return None
    return offset_between(one.b, one.field.table.granularity, one.relation == "met-by")


def _bounds(one: Drawn) -> tuple[str, str]:
    table = one.field.table
    return (
        table.written(date.fromordinal(one.b.start)),
        table.written(date.fromordinal(one.b.end)),
    )


def _nulls(row: Sequence[str | None]) -> tuple[str, ...]:
    return tuple("" if cell is None else cell for cell in row)
