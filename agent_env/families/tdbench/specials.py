"""Queries beyond the thirteen relations: as of now, n-th, n-th time, longest, days in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from random import Random

from agent_env.extensions.facts.tables.temporal_table import LENGTHS
from agent_env.families.tdbench import sql as queries
from agent_env.families.tdbench import wording
from agent_env.families.tdbench.query import Group, GroupRow, Query, QueryPool, group_query
from agent_env.families.tdbench.relations import distractors, row_cells
from agent_env.families.tdbench.sample import Cardinality, Kind, cardinality_of
from agent_env.families.tdbench.sql import Engines, GoldError, SqlTemplate, key_marks
from agent_env.temporal.allen import FOREVER

MAX_TRIES = 40
MAX_FAILURES = 4
"""Times in a row that a small table of a user's gives no new query in so many tries."""
Make = Callable[[QueryPool, Group, Random, Engines, int], Query | None]


def special_queries(
    kind: Kind, pools: Sequence[QueryPool], count: int, rng: Random, engines: Engines,
    phrasings: int, max_failures: int | None = None,
) -> Iterator[Query]:  # fmt: skip
    """At most `count` different queries of a kind other than `current`; `max_failures` ends the
    search, which otherwise goes on as long as the count says."""
    make = _MAKERS[kind]
    usable = list(pools)
    if kind == "duration":
        usable = [p for p in usable if not p.form.listed and p.table.granularity == "day"]
    earlier: set[str] = set()
    failures = 0
    for _ in range(count if usable else 0):
        if failures == max_failures:
            return
        failures += 1
        for _ in range(MAX_TRIES):
            pool = rng.choice(usable)
            query = make(pool, rng.choice(pool.groups), rng, engines, phrasings)
            if query is not None and query.sql["sqlite"] not in earlier:
                earlier.add(query.sql["sqlite"])
                failures = 0
                yield query
                break


def current_queries(
    pools: Sequence[QueryPool], cardinalities: Sequence[Cardinality], count: int, rng: Random,
    engines: Engines, phrasings: int, omissions: Counter[str],
) -> Iterator[Query]:  # fmt: skip
    """At most `count` different queries on what holds now, with one answer and with none in turn.
    Where no answer is left, so many questions without any would only reward to say so: that is the
    end. Where none without an answer is left, the rest have one."""
    usable = [pool for pool in pools if pool.form.now_heads]
    heaps = {size: _current_groups(usable, size, rng) for size in dict.fromkeys(cardinalities)}
    made = Counter[Cardinality]()
    for _ in range(count):
        sizes = [size for size in heaps if heaps[size]]
        if not sizes or (sizes == ["none"] and len(heaps) > 1 and made["none"] >= made["unique"]):
            return
        size = min(sizes, key=lambda each: (made[each], sizes.index(each)))
        for missing in set(heaps) - set(sizes) - {"multiple"}:
            omissions[f"turns of current with {missing} for which no group was left"] += 1
        heap = rng.choice(heaps[size])
        pool, group = heap.pop()
        heaps[size] = [each for each in heaps[size] if each]
        made[size] += 1
        yield _current(pool, group, engines, phrasings)


def _current_groups(
    pools: Sequence[QueryPool], size: Cardinality, rng: Random
) -> list[list[tuple[QueryPool, Group]]]:
    """For each pool its groups with so many answers as of now, in random order."""
    heaps = []
    for pool in pools:
        own = [
            (pool, group)
            for group in (*pool.groups, *pool.lone)
            if _current_cardinality(group) == size
        ]
        rng.shuffle(own)
        heaps += [own] if own else []
    return heaps


def _current_cardinality(group: Group) -> Cardinality | None:
    """None where one answer stands in two rows: which of its starts would be asked for?"""
    golds = [row.answer for row in group.rows if row.interval.end == FOREVER]
    return cardinality_of(len(golds)) if len(set(golds)) == len(golds) else None


def _current(pool: QueryPool, group: Group, engines: Engines, n: int) -> Query:
    now = date.fromordinal(pool.last)
    golds = _lasting(group)
    form = pool.form
    sql = queries.current_sql(pool.table.name, form.keys, form.answers).fill(
        {**_key_values(pool, group), "now": pool.table.written(now)}
    )
    texts = [wording.now_sentence(form, group.keys, now, style) for style in range(n)]
    query = _checked_query(pool, group, "current", golds, sql, texts, engines)
    others = distractors(pool, group, _lasting)
    return replace(query, distractors=others)


def _lasting(group: Group) -> list[GroupRow]:
    return [row for row in group.rows if row.interval.end == FOREVER]


def _nth(pool: QueryPool, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    starts = [row.interval.start for row in group.rows]
    if len(set(starts)) < len(starts):
        return None
    nth = rng.randint(1, len(starts) + 1)
    form, verbs = pool.form, pool.domain.verbs
    template = queries.nth_sql(pool.table.name, form.keys, form.answers, nth)
    texts = [wording.nth_sentence(form, verbs, group.keys, nth, s) for s in range(n)]
    return _filled_query(pool, group, "nth", group.rows[nth - 1 : nth], template, texts, engines)


def _count(pool: QueryPool, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    most = max(Counter(row.answer for row in group.rows).values())
    if most < 2 and rng.random() < 0.9:
        return None
    times = rng.randint(2, most + (rng.random() < 0.3)) if most > 1 else 2
    golds = [
        row
        for place, row in enumerate(group.rows)
        if [r.answer for r in group.rows[: place + 1]].count(row.answer) == times
    ]
    if len({(row.answer, row.interval.start) for row in group.rows}) < len(group.rows):
        return None
    form, verbs = pool.form, pool.domain.verbs
    template = queries.count_sql(pool.table.name, form.keys, form.answers, times)
    texts = [wording.count_sentence(form, verbs, group.keys, times, s) for s in range(n)]
    return _filled_query(pool, group, "count", golds, template, texts, engines)


def _longest(pool: QueryPool, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    over = [row for row in group.rows if row.interval.end != FOREVER]
    if len(over) < 2:
        return None
    days = [row.interval.end - row.interval.start for row in over]
    golds = [row for row, length in zip(over, days, strict=True) if length == max(days)]
    if len({row.answer for row in golds}) < len(golds):
        return None
    form, verbs = pool.form, pool.domain.verbs
    length = LENGTHS[pool.table.granularity]
    template = queries.longest_sql(pool.table.name, form.keys, form.answers, length)
    texts = [wording.longest_sentence(form, verbs, group.keys, style) for style in range(n)]
    return _filled_query(pool, group, "longest", golds, template, texts, engines)


def _duration(pool: QueryPool, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    """Two rows of different groups, each the only one of its answer in its group."""
    other = rng.choice(pool.groups)
    if other is group:
        return None
    one, two = rng.choice(group.rows), rng.choice(other.rows)
    shared = one.interval.meet(two.interval)
    if shared is None or FOREVER in (one.interval.end, two.interval.end):
        return None
    if not _is_unique(group, one) or not _is_unique(other, two):
        return None
    form, table, verbs = pool.form, pool.table, pool.domain.verbs
    values: dict[str, str] = {}
    for side, own, cells in zip("ab", (group, other), row_cells(pool, (one, two)), strict=True):
        values |= {f"{side}_{mark}": text for mark, text in _key_values(pool, own).items()}
        values |= {f"{side}_answer": str(cells[0]), f"{side}_start": str(cells[-2])}
    sql = queries.duration_sql(table.name, form.keys, form.answers).fill(values)
    days = shared.end - shared.start
    if engines.both(sql) != ((days,),):
        raise GoldError(f"{days} days, not {engines.both(sql)}: {sql}")
    first, second = (
        wording.row_text(form, verbs, own.keys, row.answer)
        for row, own in ((one, group), (two, other))
    )
    return Query(
        domain=pool.domain.name,
        kind="duration",
        relation="duration",
        tables=(table,),
        keys={f"{name} {side}": value for side, own in ((1, group), (2, other))
              for name, value in own.keys.items()},
        answers=form.answers,
        relevant=(tuple(row.index for own in (group, other) for row in own.rows),),
        golds=(one, two),
        others=(),
        sql=sql,
        questions=tuple(wording.duration_sentence(first, second, style) for style in range(n)),
        number=days,
    )  # fmt: skip


def _is_unique(group: Group, row: GroupRow) -> bool:
    return sum(other.answer == row.answer for other in group.rows) == 1


def _filled_query(
    pool: QueryPool, group: Group, kind: Kind, golds: Sequence[GroupRow], template: SqlTemplate,
    texts: Sequence[str], engines: Engines,
) -> Query:  # fmt: skip
    sql = template.fill(_key_values(pool, group))
    return _checked_query(pool, group, kind, golds, sql, texts, engines)


def _checked_query(
    pool: QueryPool, group: Group, kind: Kind, golds: Sequence[GroupRow], sql: dict[str, str],
    texts: Sequence[str], engines: Engines,
) -> Query:  # fmt: skip
    """The query; GoldError where the engines return other rows."""
    expected = sorted(row_cells(pool, golds), key=repr)
    rows = sorted(engines.both(sql), key=repr)
    if rows != expected:
        raise GoldError(f"{kind}: expected {expected}, the engines give {rows}: {sql}")
    return group_query(pool, group, kind, golds, sql, texts)


def _key_values(pool: QueryPool, group: Group) -> dict[str, str]:
    return dict(zip(key_marks(pool.form.keys), group.keys.values(), strict=True))


_MAKERS: dict[Kind, Make] = {
    "nth": _nth,
    "count": _count,
    "longest": _longest,
    "duration": _duration,
}
