"""Queries beyond the thirteen relations: as of now, n-th, n-th time, longest, days in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from random import Random

from agent_env.families.tdbench import wording
from agent_env.families.tdbench.engines import Engines, GoldError
from agent_env.families.tdbench.groups import Field, Group, Held
from agent_env.families.tdbench.queries import (
    asked_names,
    count_text,
    current_text,
    duration_text,
    longest_text,
    nth_text,
)
from agent_env.families.tdbench.query import Query
from agent_env.families.tdbench.relations import row_cells
from agent_env.families.tdbench.sample import Kind
from agent_env.temporal.allen import FOREVER
from agent_env.temporal.facts.temporal_table import LENGTHS

TRIES = 40
Make = Callable[[Field, Group, Random, Engines, int], Query | None]


def specials(
    kind: Kind, fields: Sequence[Field], count: int, rng: Random, engines: Engines, phrasings: int
) -> Iterator[Query]:
    """At most so many different queries of the kind."""
    make = _MAKERS[kind]
    usable = [field for field in fields if kind != "current" or field.ask.now_heads]
    if kind == "duration":
        usable = [f for f in usable if not f.ask.listed and f.table.granularity == "day"]
    seen: set[str] = set()
    for _ in range(count if usable else 0):
        for _ in range(TRIES):
            field = rng.choice(usable)
            query = make(field, rng.choice(field.groups), rng, engines, phrasings)
            if query is not None and query.sql["sqlite"] not in seen:
                seen.add(query.sql["sqlite"])
                yield query
                break


def _current(field: Field, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    now = date.fromordinal(field.last)
    golds = [row for row in group.rows if row.interval.end == FOREVER]
    if not golds and rng.random() < 0.7:  # else hardly any question would have an answer
        return None
    ask, told = field.ask, field.table.written(now)
    sql = current_text(field.table.name, ask.asked, ask.answers).filled(
        {**_asked(field, group), "now": told}
    )
    questions = [wording.now_sentence(ask, group.values, now, style) for style in range(n)]
    return _query(field, group, "current", golds, sql, questions, engines)


def _nth(field: Field, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    starts = [row.interval.start for row in group.rows]
    if len(set(starts)) < len(starts):
        return None
    nth = rng.randint(1, len(starts) + 1)
    ask = field.ask
    golds = group.rows[nth - 1 : nth]
    sql = nth_text(field.table.name, ask.asked, ask.answers, nth).filled(_asked(field, group))
    verbs = field.domain.verbs
    questions = [wording.nth_sentence(ask, verbs, group.values, nth, s) for s in range(n)]
    return _query(field, group, "nth", golds, sql, questions, engines)


def _count(field: Field, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    most = max(Counter(row.answer for row in group.rows).values())
    if most < 2 and rng.random() < 0.9:
        return None
    times = rng.randint(2, most + (rng.random() < 0.3)) if most > 1 else 2
    golds = [
        row
        for place, row in enumerate(group.rows)
        if [r.answer for r in group.rows[: place + 1]].count(row.answer) == times
    ]
    starts = Counter((row.answer, row.interval.start) for row in group.rows)
    if any(number > 1 for number in starts.values()):
        return None
    ask, verbs = field.ask, field.domain.verbs
    sql = count_text(field.table.name, ask.asked, ask.answers, times).filled(_asked(field, group))
    questions = [wording.count_sentence(ask, verbs, group.values, times, s) for s in range(n)]
    return _query(field, group, "count", golds, sql, questions, engines)


def _longest(field: Field, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    over = [row for row in group.rows if row.interval.end != FOREVER]
    if len(over) < 2:
        return None
    days = [row.interval.end - row.interval.start for row in over]
    golds = [row for row, length in zip(over, days, strict=True) if length == max(days)]
    if len({row.answer for row in golds}) < len(golds):
        return None
    ask, verbs = field.ask, field.domain.verbs
    text = longest_text(field.table.name, ask.asked, ask.answers, LENGTHS[field.table.granularity])
    questions = [wording.longest_sentence(ask, verbs, group.values, style) for style in range(n)]
    sql = text.filled(_asked(field, group))
    return _query(field, group, "longest", golds, sql, questions, engines)


def _duration(field: Field, group: Group, rng: Random, engines: Engines, n: int) -> Query | None:
    """Two rows of different groups, each the only one of its answer in its group."""
    other = rng.choice(field.groups)
    if other is group:
        return None
    one, two = rng.choice(group.rows), rng.choice(other.rows)
    shared = one.interval.meet(two.interval)
    if shared is None or FOREVER in (one.interval.end, two.interval.end):
        return None
    if not _alone(group, one) or not _alone(other, two):
        return None
    ask, table = field.ask, field.table
    values: dict[str, str] = {}
    for side, where, row in (("a", group, one), ("b", other, two)):
        cells = row_cells(field, row, table.places(ask.answers))
        values |= {f"{side}_{name}": text for name, text in _asked(field, where).items()}
        values |= {f"{side}_answer": str(cells[0]), f"{side}_start": str(cells[-2])}
    sql = duration_text(table.name, ask.asked, ask.answers).filled(values)
    days = shared.end - shared.start
    if engines.both(sql) != ((days,),):
        raise GoldError(f"{days} days, not {engines.both(sql)}: {sql}")
    verbs = field.domain.verbs
    first, second = (
        wording.row_text(ask, verbs, where.values, row.answer)
        for row, where in ((one, group), (two, other))
    )
    return Query(
        domain=field.domain.name,
        kind="duration",
        relation="duration",
        tables=(table,),
        asked={f"{name} {side}": value for side, where in ((1, group), (2, other))
               for name, value in where.values.items()},
        answers=ask.answers,
        relevant=(tuple(row.place for where in (group, other) for row in where.rows),),
        golds=(one, two),
        others=(),
        sql=sql,
        questions=tuple(
            wording.duration_sentence(first, second, style) for style in range(n)
        ),
        number=days,
    )  # fmt: skip


def _alone(group: Group, row: Held) -> bool:
    return sum(other.answer == row.answer for other in group.rows) == 1


def _query(
    field: Field,
    group: Group,
    kind: Kind,
    golds: Sequence[Held],
    sql: dict[str, str],
    questions: Sequence[str],
    engines: Engines,
) -> Query:
    """The query, checked on both engines."""
    places = field.table.places(field.ask.answers)
    expected = sorted((row_cells(field, row, places) for row in golds), key=repr)
    found = sorted(engines.both(sql), key=repr)
    if found != expected:
        raise GoldError(f"{kind}: expected {expected}, the engines give {found}: {sql}")
    right = {row.answer for row in golds}
    return Query(
        domain=field.domain.name,
        kind=kind,
        relation=kind,
        tables=(field.table,),
        asked=group.values,
        answers=field.ask.answers,
        relevant=(tuple(row.place for row in group.rows),),
        golds=tuple(golds),
        others=tuple(dict.fromkeys(r.answer for r in group.rows if r.answer not in right)),
        sql=sql,
        questions=tuple(questions),
    )


def _asked(field: Field, group: Group) -> dict[str, str]:
    return dict(zip(asked_names(field.ask.asked), group.values.values(), strict=True))


_MAKERS: dict[Kind, Make] = {
    "current": _current,
    "nth": _nth,
    "count": _count,
    "longest": _longest,
    "duration": _duration,
}
