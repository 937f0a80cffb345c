"""Queries about the rows of one table, checked by both engines and worded.

Over Allen's relations: an interval b is drawn to which some rows stand in the relation, and the
query is checked three ways (Genqueries, Algorithm 1). Beyond them: as of now, n-th, n-th time,
longest, days in common.

Relation and number of answers are drawn independently: every relation has as many queries with one
answer, with several and with none, as far as the tables have rows for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from random import Random

from agent_env.families.tdbench import sql as queries
from agent_env.families.tdbench import wording
from agent_env.families.tdbench.completeness import is_complete
from agent_env.families.tdbench.query import (
    DISTRACTORS,
    Group,
    GroupRow,
    Query,
    QueryPool,
    group_query,
)
from agent_env.families.tdbench.sample import Cardinality, Kind, cardinality_of
from agent_env.families.tdbench.sql import (
    Batch,
    Engines,
    GoldError,
    Rows,
    SqlTemplate,
    key_marks,
    relation_sql,
)
from agent_env.families.tdbench.wording import Offset
from agent_env.features.facts.tables.temporal_table import LENGTHS, TemporalTable
from agent_env.temporal.allen import FOREVER, Granularity, Interval, Relation, cut_day


@dataclass(frozen=True, slots=True)
class Making:
    """What all makers of queries share."""

    engines: Engines
    rng: Random
    phrasings: int
    omissions: Counter[str]
    """What could not be made, by reason; filled on the way."""
    is_closed: bool = False
    """Whether the questions show no rows."""

    def must_hold(self, table: TemporalTable) -> bool:
        """Whether golds must hold in the world too, not in the table alone."""
        return self.is_closed and not table.fictional


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
        # a day strictly between two, at the beginning of its month or year where these count
        if before - after < 2 or after >= FOREVER:
            return None
        day = cut_day(rng.randrange(after + 1, before), granularity)
        if day <= after and granularity != "day":
            day = cut_day(day + (31 if granularity == "month" else 366), granularity)
        return day if after < day < before else None

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
        # the distance between b's bounds in the largest of years, months and days that leads
        # exactly from either to the other; a count of months that is clamped on its way does not
        start, end = date.fromordinal(self.b.start), date.fromordinal(self.b.end)
        months = (end.year - start.year) * 12 + end.month - start.month
        for count, unit in ((months // 12, "year"), (months, "month")):
            if count and (unit == "month" or months % 12 == 0):
                offset = Offset(count, unit)  # type: ignore[arg-type]
                there, back = offset.from_day(start, 1), offset.from_day(end, -1)
                if there == end and back == start:
                    return offset
        if self.pool.table.granularity != "day":
            raise AssertionError(f"{start} and {end} are whole months apart")
        return Offset(self.b.end - self.b.start, "day")

    def question(self, style: int) -> str:
        b = (date.fromordinal(self.b.start), date.fromordinal(self.b.end))
        verbs, granularity = self.pool.form.verbs, self.pool.table.granularity
        text = wording.condition(self.relation, b, self.offset, verbs, granularity, style)
        return wording.sentence(self.pool.form, self.group.keys, text, style)


def draw_queries(
    pools: Sequence[QueryPool],
    relations: Sequence[Relation],
    cardinalities: Sequence[Cardinality],
    count: int,
    making: Making,
) -> Iterator[DraftQuery]:
    """At most `count` different queries, over all relations and numbers of answers in turn; where
    the rows have none for one of these, it is counted as omitted and the next one follows. The
    numbers of answers alternate, so that a few queries cover all of them."""
    earlier: set[tuple[int, int, Relation, Interval]] = set()
    orders = [making.rng.sample(relations, len(relations)) for _ in cardinalities]
    buckets = [
        bucket
        for turns in zip(*orders, strict=True)
        for bucket in zip(turns, cardinalities, strict=True)
    ]
    remaining, failures, turn = count, 0, 0
    while remaining and failures < len(buckets):
        relation, cardinality = buckets[turn % len(buckets)]
        turn += 1
        draft = _draw_one(pools, relation, cardinality, making, earlier)
        if draft is None:
            failures += 1
            what = f"{relation} with {ANSWER_COUNTS[cardinality]}"
            where = " in what their tables cover" if making.is_closed else ""
            making.omissions[f"turns of {what} for which no rows were found{where}"] += 1
            continue
        failures = 0
        remaining -= 1
        yield draft


def _draw_one(
    pools: Sequence[QueryPool],
    relation: Relation,
    cardinality: Cardinality,
    making: Making,
    earlier: set[tuple[int, int, Relation, Interval]],
) -> DraftQuery | None:
    rng = making.rng
    for pool in rng.sample(pools, min(MAX_POOLS, len(pools))):
        for _ in range(60):
            group, rows = pool.seed_rows(rng, relation, two=cardinality == "multiple")
            if not rows:
                continue
            granularity = pool.table.granularity
            b = draw(rng, relation, rows, granularity, pool.last)
            if b is None:
                continue
            if relation in MEETING:
                b = whole_months(rng, b, relation == "meets", granularity, pool.last)
            if cardinality == "none":
                group = _other_group(pool, group, b, rng)
            golds = group.matches(relation, b)
            answers = {row.answer for row in golds}
            # one answer twice: which of its dates would be asked for?
            if len(answers) != len(golds) or cardinality_of(len(answers)) != cardinality:
                continue
            intervals = [row.interval for row in group.rows]
            if making.must_hold(pool.table) and not is_complete(intervals, pool.last, relation, b):
                continue
            draft = DraftQuery(pool, group, relation, b, golds)
            key = (id(pool), id(draft.group), relation, draft.b)
            if key not in earlier:
                earlier.add(key)
                return draft
    return None


def _other_group(pool: QueryPool, group: Group, b: Interval, rng: Random) -> Group:
    """Another group that has rows around b, so that nothing but the relation fails."""
    for _ in range(8):
        other = rng.choice(pool.groups)
        if other is group:
            continue
        if other.rows[0].interval.start <= b.end and b.start <= other.rows[-1].interval.end:
            return other
    return group


def check_queries(drafts: Sequence[DraftQuery], making: Making) -> Iterator[Query]:
    """The queries in the same order, with their SQL run on both engines; GoldError where an engine
    and Allen's relation differ."""
    by_pool: dict[int, list[int]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        by_pool[id(draft.pool)].append(number)
    orders = list(by_pool.values())
    batches = []
    for order in orders:
        pool, own = drafts[order[0]].pool, [drafts[number] for number in order]
        asked = ((d.relation, tuple(d.group.keys.values()), *d.bounds) for d in own)
        batches.append(Batch(pool.table.name, pool.form.keys, pool.form.answers, tuple(asked)))
        making.engines.index(pool.table.name, pool.form.keys)
    results: dict[int, Rows] = {}
    for order, rows in zip(orders, making.engines.run_batches(batches), strict=True):
        results |= zip(order, rows, strict=True)
    templates: dict[tuple[int, Relation], SqlTemplate] = {}
    for number, draft in enumerate(drafts):
        key, form = (id(draft.pool), draft.relation), draft.pool.form
        if key not in templates:
            name = draft.pool.table.name
            templates[key] = relation_sql(name, form.keys, form.answers, draft.relation)
        yield _check(draft, templates[key], results[number], making)


def _check(draft: DraftQuery, template: SqlTemplate, rows: Rows, making: Making) -> Query:
    pool, bounds = draft.pool, draft.bounds
    values = _key_values(pool, draft.group)
    sql = template.fill({**values, "b_start": bounds[0], "b_end": bounds[1]})
    by_duckdb = sorted(rows, key=_sort_key)
    by_sqlite = sorted(making.engines.sqlite(sql["sqlite"]), key=_sort_key)
    by_allen = sorted(row_cells(pool, draft.golds), key=_sort_key)
    if not by_sqlite == by_duckdb == by_allen:
        raise GoldError(
            f"{draft.relation}: Allen {by_allen}, SQLite {by_sqlite}, DuckDB {by_duckdb}: {sql}"
        )
    questions = (draft.question(style) for style in range(making.phrasings))
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


def _key_values(pool: QueryPool, group: Group) -> dict[str, str]:
    return dict(zip(key_marks(pool.form.keys), group.keys.values(), strict=True))


# Beyond the thirteen relations --------------------------------------------------------------------

MAX_FAILURES = 4
"""Times in a row that a small table of a user's gives no new query in so many tries."""


def special_queries(
    kind: Kind,
    pools: Sequence[QueryPool],
    count: int,
    making: Making,
    max_failures: int | None = None,
) -> Iterator[Query]:
    """At most `count` different queries of a kind other than `current`; `max_failures` ends the
    search, which otherwise continues as long as the count says."""
    make, usable = _duration if kind == "duration" else _listed(kind), list(pools)
    if kind == "duration":
        usable = [p for p in usable if not p.form.listed and p.table.granularity == "day"]
    earlier: set[str] = set()
    failures = 0
    for _ in range(count if usable else 0):
        if failures == max_failures:
            return
        failures += 1
        for _ in range(40):
            pool = making.rng.choice(usable)
            query = make(pool, making.rng.choice(pool.groups), making)
            if query is not None and query.sql["sqlite"] not in earlier:
                earlier.add(query.sql["sqlite"])
                failures = 0
                yield query
                break


def current_queries(
    pools: Sequence[QueryPool], cardinalities: Sequence[Cardinality], count: int, making: Making
) -> Iterator[Query]:
    """At most `count` different queries on what holds now, with one answer and with none in turn.
    Where no answer is left, so many questions without any would only reward to say so: that is the
    end. Where none without an answer is left, the rest have one."""
    usable = [pool for pool in pools if pool.form.now_heads]
    heaps = {size: _current_groups(usable, size, making) for size in dict.fromkeys(cardinalities)}
    made = Counter[Cardinality]()
    for _ in range(count):
        sizes = [size for size in heaps if heaps[size]]
        if not sizes or (sizes == ["none"] and len(heaps) > 1 and made["none"] >= made["unique"]):
            return
        size = min(sizes, key=lambda each: (made[each], sizes.index(each)))
        for missing in set(heaps) - set(sizes) - {"multiple"}:
            making.omissions[f"turns of current with {missing} for which no group was left"] += 1
        heap = making.rng.choice(heaps[size])
        pool, group = heap.pop()
        heaps[size] = [each for each in heaps[size] if each]
        made[size] += 1
        form, now = pool.form, date.fromordinal(pool.last)
        sql = queries.current_sql(pool.table.name, form.keys, form.answers).fill(
            {**_key_values(pool, group), "now": pool.table.written(now)}
        )
        texts = [wording.now_sentence(form, group.keys, now, s) for s in range(making.phrasings)]
        query = _checked_query(pool, group, "current", _lasting(group), sql, texts, making)
        yield replace(query, distractors=distractors(pool, group, _lasting))


def _current_groups(
    pools: Sequence[QueryPool], size: Cardinality, making: Making
) -> list[list[tuple[QueryPool, Group]]]:
    """For each pool its groups with so many answers as of now, in random order; none in which one
    answer is in two rows: which of its starts would be asked for?"""
    heaps = []
    for pool in pools:
        own = []
        if size == "none" and making.must_hold(pool.table):
            continue
        for group in (*pool.groups, *pool.lone):
            golds = [row.answer for row in _lasting(group)]
            if len(set(golds)) == len(golds) and cardinality_of(len(golds)) == size:
                own.append((pool, group))
        making.rng.shuffle(own)
        heaps += [own] if own else []
    return heaps


def _lasting(group: Group) -> list[GroupRow]:
    return [row for row in group.rows if row.interval.end == FOREVER]


Draw = tuple[int, Sequence[GroupRow]] | None
"""The n of the question, and the rows that answer; None where the group has no such question."""


def _nth(group: Group, rng: Random) -> Draw:
    starts = [row.interval.start for row in group.rows]
    if len(set(starts)) < len(starts):
        return None
    nth = rng.randint(1, len(starts) + 1)
    return nth, group.rows[nth - 1 : nth]


def _count(group: Group, rng: Random) -> Draw:
    most = max(Counter(row.answer for row in group.rows).values())
    if most < 2 and rng.random() < 0.9:
        return None
    times = rng.randint(2, most + (rng.random() < 0.3)) if most > 1 else 2
    if len({(row.answer, row.interval.start) for row in group.rows}) < len(group.rows):
        return None
    earlier: Counter[str] = Counter()
    golds = []
    for row in group.rows:
        earlier[row.answer] += 1
        golds += [row] if earlier[row.answer] == times else []
    return times, golds


def _longest(group: Group, rng: Random) -> Draw:
    over = [row for row in group.rows if row.interval.end != FOREVER]
    if len(over) < 2:
        return None
    days = [row.interval.end - row.interval.start for row in over]
    golds = [row for row, length in zip(over, days, strict=True) if length == max(days)]
    return (0, golds) if len({row.answer for row in golds}) == len(golds) else None


def _listed(kind: Kind) -> Callable[[QueryPool, Group, Making], Query | None]:
    """Makes queries about the rows that a table lists: `nth`, `count` or `longest`."""
    draw_rows = {"nth": _nth, "count": _count, "longest": _longest}[kind]

    def make(pool: QueryPool, group: Group, making: Making) -> Query | None:
        if (drawn := draw_rows(group, making.rng)) is None:
            return None
        (number, golds), form = drawn, pool.form
        columns = (pool.table.name, form.keys, form.answers)
        if kind == "longest":
            template = queries.longest_sql(*columns, LENGTHS[pool.table.granularity])
        else:
            template = queries.ranked_sql(*columns, form.answers if kind == "count" else (), number)
        texts = [
            wording.listed_sentence(kind, form, group.keys, number, style)
            for style in range(making.phrasings)
        ]
        sql = template.fill(_key_values(pool, group))
        return _checked_query(pool, group, kind, golds, sql, texts, making)

    return make


def _duration(pool: QueryPool, group: Group, making: Making) -> Query | None:
    """Two rows of different groups, each the only one of its answer in its group."""
    rng = making.rng
    other = rng.choice(pool.groups)
    if other is group:
        return None
    pairs = tuple((own, rng.choice(own.rows)) for own in (group, other))
    one, two = (row for _, row in pairs)
    shared = one.interval.meet(two.interval)
    if shared is None or FOREVER in (one.interval.end, two.interval.end):
        return None
    if any(sum(r.answer == row.answer for r in own.rows) > 1 for own, row in pairs):
        return None
    form, table = pool.form, pool.table
    values: dict[str, str] = {}
    for side, (own, _), cells in zip("ab", pairs, row_cells(pool, (one, two)), strict=True):
        values |= {f"{side}_{mark}": text for mark, text in _key_values(pool, own).items()}
        *answers, start, _ = map(str, cells)
        values |= {f"{side}_answer_{n}": text for n, text in enumerate(answers)}
        values[f"{side}_start"] = start
    sql = queries.duration_sql(table.name, form.keys, form.answers).fill(values)
    days = shared.end - shared.start
    if making.engines.both(sql) != ((days,),):
        raise GoldError(f"{days} days, not {making.engines.both(sql)}: {sql}")
    rows = [(own.keys, row.answer) for own, row in pairs]
    return Query(
        domain=pool.domain.name,
        kind="duration",
        relation="duration",
        tables=(table,),
        keys={f"{name} {side}": value for side, (own, _) in enumerate(pairs, start=1)
              for name, value in own.keys.items()},
        answers=form.answers,
        relevant=(tuple(row.index for own, _ in pairs for row in own.rows),),
        golds=(one, two),
        others=(),
        sql=sql,
        questions=tuple(
            wording.duration_sentence(form, rows, style) for style in range(making.phrasings)
        ),
        number=days,
    )  # fmt: skip


def _checked_query(
    pool: QueryPool, group: Group, kind: Kind, golds: Sequence[GroupRow], sql: dict[str, str],
    texts: Sequence[str], making: Making,
) -> Query:  # fmt: skip
    """The query; GoldError where the engines return other rows."""
    expected = sorted(row_cells(pool, golds), key=repr)
    rows = sorted(making.engines.both(sql), key=repr)
    if rows != expected:
        raise GoldError(f"{kind}: expected {expected}, the engines give {rows}: {sql}")
    return group_query(pool, group, kind, golds, sql, texts)
