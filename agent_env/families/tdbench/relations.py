"""Queries over Allen's relations: an interval b is drawn to which some rows stand in the relation,
and the query is checked three ways and worded (Genqueries, Algorithm 1).

Relation and number of answers are drawn independently: every relation has as many queries with one
answer, with several and with none, as far as the tables have rows for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from random import Random

from agent_env.families.tdbench.query import (
    DISTRACTORS,
    Group,
    GroupRow,
    Query,
    QueryPool,
    group_query,
)
from agent_env.families.tdbench.sample import Cardinality, cardinality_of
from agent_env.families.tdbench.sql import (
    Batch,
    Engines,
    GoldError,
    Rows,
    SqlTemplate,
    key_marks,
    relation_sql,
)
from agent_env.families.tdbench.wording import Offset, condition, sentence
from agent_env.temporal.allen import FOREVER, Granularity, Interval, Relation, cut_day

FIRST = date(1, 1, 1).toordinal() + 400


def draw(
    rng: Random, relation: Relation, rows: Sequence[GroupRow], granularity: Granularity, last: int
) -> Interval | None:
    """An interval that ends on `last` or before; None where this draw finds none.

    Gaps are drawn at all sizes, from a day (month, year) to the length of the rows and beyond.
    """
    starts = [row.interval.start for row in rows]
    ends = [row.interval.end for row in rows]
    low, high = (min(starts), max(starts)), (min(ends), max(ends))
    until = min(high[0], last + 1)  # a row without an end is recorded until now

    def inside(after: int, before: int) -> int | None:
        return _between(rng, after, before, granularity)

    def later(day: int) -> int | None:
        return inside(day, min(last + 1, day + _gap(rng, rows, last)))

    def earlier(day: int) -> int | None:
        return inside(max(FIRST, day - _gap(rng, rows, last)), day)

    one_start = low[0] if low[0] == low[1] else None
    one_end = high[0] if high[0] == high[1] != FOREVER else None
    start: int | None
    end: int | None
    if relation in ("before", "meets"):
        start = later(high[1]) if relation == "before" else one_end
        end = None if start is None else later(start)
    elif relation in ("after", "met-by"):
        end = earlier(low[0]) if relation == "after" else one_start
        start = None if end is None else earlier(end)
    else:
        if relation in ("overlaps", "finished-by", "contains"):
            start = inside(low[1], until)
        elif relation in ("starts", "equals", "started-by"):
            start = one_start
        else:
            start = earlier(low[0])
        if relation in ("overlaps", "starts", "during"):
            end = None if high[1] == FOREVER else later(high[1])
        elif relation in ("finished-by", "equals", "finishes"):
            end = one_end
        else:
            end = None if start is None else inside(max(start, low[1]), until)
    if start is None or end is None or start >= end or end > last:
        return None
    return Interval(start, end)


def _gap(rng: Random, rows: Sequence[GroupRow], last: int) -> int:
    """A number of days; small ones are as frequent as large ones."""
    lengths = [min(row.interval.end, last) - row.interval.start for row in rows]
    most = max(2, *(2 * length for length in lengths))
    return 2 + int(most ** rng.uniform(0.15, 1.0))


def _between(rng: Random, after: int, before: int, granularity: Granularity) -> int | None:
    """A day strictly between two, at the beginning of its month or year where these count."""
    if before - after < 2 or after >= FOREVER:
        return None
    day = cut_day(rng.randrange(after + 1, before), granularity)
    if day <= after and granularity != "day":
        day = cut_day(day + (31 if granularity == "month" else 366), granularity)
    return day if after < day < before else None


def offset_between(b: Interval, granularity: Granularity) -> Offset:
    """The distance between b's bounds in the largest of years, months and days that leads exactly
    from either to the other; a count of months that is clamped on its way does not."""
    start, end = date.fromordinal(b.start), date.fromordinal(b.end)
    months = (end.year - start.year) * 12 + end.month - start.month
    for count, unit in ((months // 12, "year"), (months, "month")):
        if count and (unit == "month" or months % 12 == 0):
            offset = Offset(count, unit)  # type: ignore[arg-type]
            there, back = offset.from_day(start, 1), offset.from_day(end, -1)
            if there == end and back == start:
                return offset
    if granularity != "day":
        raise AssertionError(f"{start} and {end} are whole months apart")
    return Offset(b.end - b.start, "day")


def whole_months(
    rng: Random, b: Interval, keep_start: bool, granularity: Granularity, last: int
) -> Interval:
    """b with its other bound moved by whole months from the first, where that is possible."""
    if granularity == "year":
        return b
    months = rng.choice((1, 2, 3, 4, 6, 8, 9, 12, 18, 24, 36, 60))
    fixed = date.fromordinal(b.start if keep_start else b.end)
    moved = Offset(months, "month").from_day(fixed, 1 if keep_start else -1)
    back = Offset(months, "month").from_day(moved, -1 if keep_start else 1)
    if back != fixed or not FIRST < moved.toordinal() <= last:
        return b
    return (
        Interval(b.start, moved.toordinal()) if keep_start else Interval(moved.toordinal(), b.end)
    )


MAX_TRIES = 60
MAX_GROUPS = 40
"""Groups that are looked through for distractors."""
MAX_POOLS = 6
"""Pools that are tried for one query."""
MEETING = ("meets", "met-by")
ANSWER_COUNTS: Mapping[Cardinality, str] = {
    "unique": "one answer",
    "multiple": "several answers",
    "none": "no answer",
}


@dataclass(frozen=True, slots=True)
class DraftQuery:
    """A query that is not yet checked by the engines."""

    pool: QueryPool
    group: Group
    relation: Relation
    b: Interval
    golds: tuple[GroupRow, ...]

    @property
    def bounds(self) -> tuple[str, str]:
        """Start and end of b as the table writes dates."""
        table = self.pool.table
        return (
            table.written(date.fromordinal(self.b.start)),
            table.written(date.fromordinal(self.b.end)),
        )

    @property
    def offset(self) -> Offset | None:
        """How the bound that meets is described from the other; None for other relations."""
        if self.relation not in MEETING:
            return None
        return offset_between(self.b, self.pool.table.granularity)

    def question(self, style: int) -> str:
        """The query in words."""
        b = (date.fromordinal(self.b.start), date.fromordinal(self.b.end))
        verbs, granularity = self.pool.domain.verbs, self.pool.table.granularity
        text = condition(self.relation, b, self.offset, verbs, granularity, style)
        return sentence(self.pool.form, self.group.keys, text, style)


def draw_queries(
    pools: Sequence[QueryPool],
    relations: Sequence[Relation],
    cardinalities: Sequence[Cardinality],
    count: int,
    rng: Random,
    omissions: Counter[str],
) -> Iterator[DraftQuery]:
    """At most `count` different queries, over all relations and numbers of answers in turn; where
    the rows have none for one of these, it is counted in `omissions` and the next one follows. The
    numbers of answers alternate, so that a few queries cover all of them."""
    earlier: set[tuple[int, int, Relation, Interval]] = set()
    orders = [rng.sample(relations, len(relations)) for _ in cardinalities]
    buckets = [
        bucket
        for turns in zip(*orders, strict=True)
        for bucket in zip(turns, cardinalities, strict=True)
    ]
    remaining, failures, turn = count, 0, 0
    while remaining and failures < len(buckets):
        relation, cardinality = buckets[turn % len(buckets)]
        turn += 1
        draft = _draw_one(pools, relation, cardinality, rng, earlier)
        if draft is None:
            failures += 1
            what = f"{relation} with {ANSWER_COUNTS[cardinality]}"
            omissions[f"turns of {what} for which no rows were found"] += 1
            continue
        failures = 0
        remaining -= 1
        yield draft


def _draw_one(
    pools: Sequence[QueryPool],
    relation: Relation,
    cardinality: Cardinality,
    rng: Random,
    earlier: set[tuple[int, int, Relation, Interval]],
) -> DraftQuery | None:
    for pool in rng.sample(pools, min(MAX_POOLS, len(pools))):
        for _ in range(MAX_TRIES):
            draft = _try(pool, relation, cardinality, rng)
            if draft is None:
                continue
            key = (id(pool), id(draft.group), relation, draft.b)
            if key not in earlier:
                earlier.add(key)
                return draft
    return None


def _try(
    pool: QueryPool, relation: Relation, cardinality: Cardinality, rng: Random
) -> DraftQuery | None:
    group, rows = pool.seed_rows(rng, relation, two=cardinality == "multiple")
    if not rows:
        return None
    granularity = pool.table.granularity
    b = draw(rng, relation, rows, granularity, pool.last)
    if b is None:
        return None
    if relation in MEETING:
        b = whole_months(rng, b, relation == "meets", granularity, pool.last)
    if cardinality == "none":
        group = _other_group(pool, group, b, rng)
    golds = group.matches(relation, b)
    answers = {row.answer for row in golds}
    if len(answers) != len(golds):  # one answer twice: which of its dates would be asked for?
        return None
    if cardinality_of(len(answers)) != cardinality:
        return None
    return DraftQuery(pool, group, relation, b, golds)


def _other_group(pool: QueryPool, group: Group, b: Interval, rng: Random) -> Group:
    """Another group that has rows around b, so that nothing but the relation fails."""
    for _ in range(8):
        other = rng.choice(pool.groups)
        if other is group:
            continue
        if other.rows[0].interval.start <= b.end and b.start <= other.rows[-1].interval.end:
            return other
    return group


def check_queries(
    drafts: Sequence[DraftQuery], engines: Engines, phrasings: int
) -> Iterator[Query]:
    """The queries in the same order, with their SQL run on both engines; GoldError where an engine
    and Allen's relation differ."""
    by_pool: dict[int, list[int]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        by_pool[id(draft.pool)].append(number)
    orders = list(by_pool.values())
    batches = [_batch([drafts[number] for number in order]) for order in orders]
    results: dict[int, Rows] = {}
    for order, rows in zip(orders, engines.run_batches(batches), strict=True):
        results |= zip(order, rows, strict=True)
        pool = drafts[order[0]].pool
        engines.index(pool.table.name, pool.form.keys)
    templates: dict[tuple[int, Relation], SqlTemplate] = {}
    for number, draft in enumerate(drafts):
        key, form = (id(draft.pool), draft.relation), draft.pool.form
        if key not in templates:
            name = draft.pool.table.name
            templates[key] = relation_sql(name, form.keys, form.answers, draft.relation)
        yield _check(draft, templates[key], results[number], engines, phrasings)


def _batch(drafts: Sequence[DraftQuery]) -> Batch:
    pool = drafts[0].pool
    queries = ((d.relation, tuple(d.group.keys.values()), *d.bounds) for d in drafts)
    return Batch(pool.table.name, pool.form.keys, pool.form.answers, tuple(queries))


def _check(
    draft: DraftQuery, template: SqlTemplate, rows: Rows, engines: Engines, phrasings: int
) -> Query:
    pool, bounds = draft.pool, draft.bounds
    values = dict(zip(key_marks(pool.form.keys), draft.group.keys.values(), strict=True))
    sql = template.fill({**values, "b_start": bounds[0], "b_end": bounds[1]})
    by_duckdb = sorted(rows, key=_sort_key)
    by_sqlite = sorted(engines.sqlite(sql["sqlite"]), key=_sort_key)
    by_allen = sorted(row_cells(pool, draft.golds), key=_sort_key)
    if not by_sqlite == by_duckdb == by_allen:
        raise GoldError(
            f"{draft.relation}: Allen {by_allen}, SQLite {by_sqlite}, DuckDB {by_duckdb}: {sql}"
        )
    questions = (draft.question(style) for style in range(phrasings))
    return group_query(
        pool, draft.group, "relation", draft.golds, sql, questions, bounds, draft.relation,
        distractors(pool, draft.group, lambda group: group.matches(draft.relation, draft.b)),
    )  # fmt: skip


def distractors(
    pool: QueryPool, own: Group, fitting: Callable[[Group], Sequence[GroupRow]]
) -> tuple[int, ...]:
    """Rows of other groups that meet the condition on time, and have other answers; a part of the
    groups is looked through."""
    rng = Random("/".join(own.keys.values()))
    others = rng.sample(pool.groups, min(MAX_GROUPS, len(pool.groups)))
    answers = {row.answer for row in own.rows}
    rows = (row for group in others if group is not own for row in fitting(group))
    return tuple(
        row.index for row in islice((r for r in rows if r.answer not in answers), DISTRACTORS)
    )


def row_cells(pool: QueryPool, rows: Sequence[GroupRow]) -> Iterator[tuple[str | None, ...]]:
    """Rows as a query returns them: answers, start, end."""
    table, places = pool.table, pool.table.places(pool.form.answers)
    for row in (table.rows[one.index] for one in rows):
        end = None if row.end is None else table.written(row.end)
        yield (*(row.values[place] for place in places), table.written(row.start), end)


def _sort_key(row: Sequence[str | None]) -> tuple[str, ...]:
    return tuple("" if cell is None else cell for cell in row)
