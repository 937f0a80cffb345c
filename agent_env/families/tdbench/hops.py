"""Questions over a temporal join, of two or three hops.

Of the packaged tables: who held an office of a host country during its games. The join keeps the
dependencies of both tables, so that `games, role → name` and `round, role → name` follow.
Of a user's own tables: they are ordered so that each is reached from the question by what those
before it determine (`X → Y` at every time, checked on their rows); the last holds the answer.
What the join determines follows by Armstrong's axioms and is checked on the joined rows. Gold is
computed by this package's temporal natural join and by SQL on both engines.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent_env.families.tdbench.completeness import covers
from agent_env.families.tdbench.queries import Making
from agent_env.families.tdbench.query import MAX_GROUP_ROWS, GroupRow, Query, wrong_answers
from agent_env.families.tdbench.sample import Hop
from agent_env.families.tdbench.sql import (
    Engines,
    GoldError,
    SqlTemplate,
    chain_sql,
    hops_sql,
    key_marks,
)
from agent_env.families.tdbench.wording import GAMES, OFFICES, THREE_HOPS, TWO_HOPS, with_article
from agent_env.features.facts.tables.temporal_table import (
    TemporalTable,
    Tfd,
    groups,
    joined_tfds,
    natural_join,
    snapshot,
    tfd_violations,
)
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.allen import Interval


def hop_queries(
    offices: TemporalTable, games: TemporalTable, count: int, making: Making
) -> Iterator[Query]:
    """At most `count` different queries, two and three hops in turn."""
    tfds = (*OFFICES.tfds, *GAMES.tfds)
    if len(joined_tfds([("games", "role"), ("round", "role")], ("name",), tfds)) < 2:
        raise GoldError("the join does not keep its dependencies")
    holders: dict[tuple[int, str], set[int]] = defaultdict(set)
    role_column = offices.places(("role",))[0]
    for office, game in natural_join(offices, games, "joined").parents:
        holders[game, offices.rows[office].values[role_column]].add(office)
    roles = sorted({row.values[role_column] for row in offices.rows})
    pairs = [(game, role) for game in range(len(games.rows)) for role in roles]
    making.rng.shuffle(pairs)
    queries = 0
    must_hold = making.must_hold(offices)
    for game, role in pairs:
        if queries >= count:
            return
        golds = tuple(sorted(holders.get((game, role), ())))
        country = games.rows[game].values[3]
        relevant = tuple(
            n for n, row in enumerate(offices.rows) if row.values[:2] == (country, role)
        )
        if must_hold and not _is_covered(offices, relevant, games.rows[game].interval):
            continue
        large = len(relevant) > MAX_GROUP_ROWS
        if large or not relevant or (not golds and making.rng.random() < 0.5):
            continue
        three = queries % 2 == 1
        query = _query(offices, games, game, role, golds, relevant, three, making.phrasings)
        _check(query, making.engines)
        queries += 1
        yield query


def _is_covered(table: TemporalTable, indices: Iterable[int], period: Interval) -> bool:
    """Whether one of these rows holds on every day of the period, so that none can be missing."""
    rows = (table.rows[index].interval for index in indices)
    return covers(rows, period.end - 1, period)


def _query(
    offices: TemporalTable, games: TemporalTable, game: int, role: str, holders: tuple[int, ...],
    relevant: tuple[int, ...], three: bool, phrasings: int,
) -> Query:  # fmt: skip
    row = games.rows[game]
    title, number, _, country = row.values
    golds = tuple(GroupRow(offices.rows[n].interval, offices.rows[n].values[2], n) for n in holders)
    keys = {"round" if three else "games": number if three else title, "role": role}
    columns = [("b", next(iter(keys))), ("a", "role")]
    template = hops_sql(offices.name, games.name, "country", columns, "name")
    sentences, name = (THREE_HOPS, number) if three else (TWO_HOPS, title)
    first = (Hop(asks=f"which games the {number} games are", gold=(title,)),) if three else ()
    assert row.end is not None
    host = Hop(
        asks=f"the host country of the {title} and when they took place",
        gold=(country,),
        start=games.written(row.start),
        end=games.written(row.end),
    )
    questions = (
        sentences[style % len(sentences)].format_map({"role": role, "game": name})
        for style in range(phrasings)
    )
    others = (offices.rows[n].values[2] for n in relevant)
    last = f"the {role} of {with_article(country)} at that time"
    return _hop_query(
        (offices, games), keys, ("name",), (relevant, (game,)), golds, others, template, questions,
        (*first, host), last,
    )  # fmt: skip


def _hop_query(
    tables: tuple[TemporalTable, ...],
    keys: dict[str, str],
    answers: tuple[str, ...],
    relevant: tuple[tuple[int, ...], ...],
    golds: tuple[GroupRow, ...],
    every: Iterable[str],
    template: SqlTemplate,
    questions: Iterable[str],
    hops: tuple[Hop, ...],
    last: str,
) -> Query:
    """`every`: the answers of the relevant rows; `hops`: those before the last, which asks for
    `last`."""
    gold = tuple(dict.fromkeys(row.answer for row in golds))
    return Query(
        domain="hops",
        kind="hops",
        relation=f"{len(hops) + 1}-hop",
        tables=tables,
        keys=keys,
        answers=answers,
        relevant=relevant,
        golds=golds,
        others=wrong_answers(every, golds),
        sql=template.fill(dict(zip(key_marks(list(keys)), keys.values(), strict=True))),
        questions=tuple(questions),
        hops=(*hops, Hop(asks=last, gold=gold)),
    )


def _check(query: Query, engines: Engines) -> None:
    """GoldError unless the joined rows, both engines and a day-by-day search agree."""
    joined = sorted(gold.answer for gold in query.golds)
    by_engines = sorted(str(row[0]) for row in engines.both(query.sql))
    offices, games = query.tables
    row = games.rows[query.relevant[1][0]]
    relevant = {offices.rows[index] for index in query.relevant[0]}
    assert row.end is not None
    days = (row.start.fromordinal(n) for n in range(row.start.toordinal(), row.end.toordinal()))
    daily = {term.values[2] for day in days for term in snapshot(offices, day) if term in relevant}
    if not joined == by_engines == sorted(daily):
        raise GoldError(f"join {joined}, engines {by_engines}, days {sorted(daily)}: {query.sql}")


HOPS = (2, 3)


@dataclass(frozen=True, slots=True)
class Link:
    """One table on the way to the answer: the columns that it is entered by, and those that follow
    from them at any time."""

    table: TemporalTable
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def tfd(self) -> Tfd:
        return Tfd.of(self.inputs, self.outputs)


@dataclass(frozen=True, slots=True)
class Chain:
    """Links in order; the last gives the answer."""

    links: tuple[Link, ...]
    keys: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def tables(self) -> tuple[TemporalTable, ...]:
        return tuple(link.table for link in self.links)

    def answer(self, index: int) -> str:
        """The answer of a row of the last table."""
        table = self.links[-1].table
        return ", ".join(table.rows[index].values[at] for at in table.places(self.answers))

    def joined(self, count: int) -> tuple[TemporalTable, list[tuple[int, ...]]]:
        """The temporal natural join of the first `count` tables (Definition A.2), and for each of
        its rows the indices of its parents."""
        table = self.tables[0]
        parents: list[tuple[int, ...]] = [(index,) for index in range(len(table.rows))]
        for other in self.tables[1:count]:
            join = natural_join(table, other, "joined")
            parents = [(*parents[one], two) for one, two in join.parents]
            table = join.table
        return table, parents


def make_chain(
    tables: Sequence[TemporalTable], keys: tuple[str, ...], answers: tuple[str, ...], unique: bool
) -> Chain:
    """The order in which the question reaches the answer; ConfigError says why there is none.
    `unique`: the last table's answer, too, has to depend on what it is entered by."""
    if len(tables) not in HOPS:
        raise ConfigError(f"hops need two or three tables, not {len(tables)}")
    if len({table.name for table in tables}) < len(tables):
        raise ConfigError("two tables bear one name; rename a file")
    if both := set(keys) & set(answers):
        raise ConfigError(f"column '{min(both)}' is asked and answered")
    columns = {name for table in tables for name in table.columns}
    for name in (*keys, *answers):
        if name not in columns:
            raise ConfigError(
                f"no table has a column '{name}'; there are {', '.join(sorted(columns))}"
            )
    if any(set(answers) <= set(t.columns) >= set(keys) for t in tables):
        raise ConfigError(
            f"{', '.join((*keys, *answers))} stand in one table; hops ask by a column of another"
        )
    granularities = {table.granularity for table in tables}
    if len(granularities) > 1:
        raise ConfigError(
            f"the tables are by {' and '.join(sorted(granularities))}; "
            "cut them with --option granularity="
        )
    violation = ""
    for order in itertools.permutations(tables):
        links = _links(order, keys, answers)
        if links is None:
            continue
        for link in links if unique else links[:-1]:
            first = next(tfd_violations(link.table, link.tfd), None)
            if first is not None:
                violation = f"{link.tfd} does not hold in {link.table.name}: {first}"
                break
        else:
            return Chain(links, keys, answers)
    way = f"from {', '.join(keys)} to {', '.join(answers)}"
    names = ", ".join(table.name for table in tables)
    why = violation or "in no order does each table share a column with those behind it"
    raise ConfigError(f"no question of several hops leads {way} through {names}: {why}")


def _links(
    order: Sequence[TemporalTable], keys: tuple[str, ...], answers: tuple[str, ...]
) -> tuple[Link, ...] | None:
    """The links of the tables in this order; None where one cannot be reached."""
    if not set(answers) <= set(order[-1].columns):
        return None
    reached = set(keys)
    links = []
    for number, table in enumerate(order):
        inputs = tuple(name for name in table.columns if name in reached)
        later = {name for other in order[number + 1 :] for name in other.columns}
        outputs = tuple(n for n in table.columns if n in later and n not in reached)
        if number == len(order) - 1:
            outputs = answers
        if not inputs or not outputs:
            return None
        links.append(Link(table, inputs, outputs))
        reached |= set(outputs)
    if not all(any(name in link.inputs for link in links) for name in keys):
        return None
    return tuple(links) if set(links[-1].inputs) - set(keys) else None


# Queries ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Path:
    """A row of each table but the last, by indices, with the values of their join."""

    indices: tuple[int, ...]
    values: dict[str, str]
    period: Interval
    """The days on which all its rows hold."""


def user_hop_queries(chain: Chain, making: Making) -> Iterator[Query]:
    """All different queries, in random order."""
    last, omissions = chain.links[-1], making.omissions
    rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    at = last.table.places(last.inputs)
    for index, row in enumerate(last.table.rows):
        rows[tuple(row.values[n] for n in at)].append(index)
    paths = _paths(chain, omissions)
    # Indices of all rows that hold together; the join's dependency is derived, and checked on its
    # rows.
    table, parents = chain.joined(len(chain.links))
    tfds = [link.tfd for link in chain.links]
    derived = joined_tfds([chain.keys], chain.answers, tfds)
    all_hold = all(not any(tfd_violations(link.table, link.tfd)) for link in chain.links)
    if all_hold and (not derived or any(tfd_violations(table, derived[0]))):
        raise GoldError(f"the join does not keep {', '.join(map(str, tfds))}")
    joined = set(parents)
    entries = [(path, values) for path in paths for values in _last_inputs(last, path, rows)]
    making.rng.shuffle(entries)
    template = chain_sql(chain.tables, chain.keys, chain.answers)
    for path, values in entries:
        relevant = rows[tuple(values[name] for name in last.inputs)]
        golds = tuple(
            GroupRow(last.table.rows[index].interval, chain.answer(index), index)
            for index in sorted(relevant)
            if (*path.indices, index) in joined
        )
        if making.must_hold(last.table) and not _is_covered(last.table, relevant, path.period):
            omissions[f"hops to a time that {last.table.name} does not cover"] += 1
        elif len(relevant) > MAX_GROUP_ROWS:
            omissions[f"hops to more than {MAX_GROUP_ROWS} rows of {last.table.name}"] += 1
        elif len({gold.answer for gold in golds}) < len(golds):
            omissions[f"hops to one answer twice in {last.table.name}"] += 1
        else:
            query = _chain_query(chain, path, values, relevant, golds, template, making.phrasings)
            _check_sql(query, making.engines)
            yield query


def _paths(chain: Chain, omissions: Counter[str]) -> list[_Path]:
    """All that the question's values lead to before the last table; values that lead to several
    rows are omitted, as the first hops would not have one answer."""
    prefix, parents = chain.joined(len(chain.links) - 1)
    keys = [name for name in chain.keys if name in prefix.columns]
    tables = " joined with ".join(table.name for table in chain.tables[:-1])
    indices = {id(row): index for index, row in enumerate(prefix.rows)}
    paths = []
    for rows in groups(prefix, keys).values():
        if len(rows) > 1:
            what = f"values of {', '.join(keys)} that lead to several rows"
            omissions[f"{what} (each needs one row in {tables})"] += 1
            continue
        values = dict(zip(prefix.columns, rows[0].values, strict=True))
        paths.append(_Path(parents[indices[id(rows[0])]], values, rows[0].interval))
    return paths


def _last_inputs(
    last: Link, path: _Path, rows: Iterable[tuple[str, ...]]
) -> Iterator[dict[str, str]]:
    """What the last table is entered by: the path's values, and each value of the question's own
    columns there that goes with it."""
    for key in rows:
        values = dict(zip(last.inputs, key, strict=True))
        if all(path.values.get(name, value) == value for name, value in values.items()):
            yield {**path.values, **values}


def _chain_query(
    chain: Chain, path: _Path, values: dict[str, str], relevant: Sequence[int],
    golds: tuple[GroupRow, ...], template: SqlTemplate, phrasings: int,
) -> Query:  # fmt: skip
    keys = {name: values[name] for name in chain.keys}
    hops = (_hop(*each, path.values) for each in zip(chain.links, path.indices, strict=False))
    questions = (_question(chain, keys, style) for style in range(phrasings))
    return _hop_query(
        (chain.tables[-1], *chain.tables[:-1]), keys, chain.answers,
        (tuple(relevant), *((index,) for index in path.indices)), golds,
        (chain.answer(index) for index in relevant), template, questions, tuple(hops),
        f"{_and(chain.answers)} for {_pairs(chain.links[-1].inputs, values)} then",
    )  # fmt: skip


def _hop(link: Link, index: int, values: dict[str, str]) -> Hop:
    row = link.table.rows[index]
    return Hop(
        asks=f"{_and(link.outputs)} recorded for {_pairs(link.inputs, values)}, and when",
        gold=tuple(values[name] for name in link.outputs),
        start=link.table.written(row.start),
        end=None if row.end is None else link.table.written(row.end),
    )


def _question(chain: Chain, keys: dict[str, str], style: int) -> str:
    """The question, from the answer back to its own values."""
    text = ""
    for link in chain.links[:-1]:
        own = [f"{name} {keys[name]}" for name in link.inputs if name in keys]
        text = f"the {_and(link.outputs)} recorded for {_and([*own, *([text] if text else [])])}"
    last = [f"{n} {keys[n]}" for n in chain.links[-1].inputs if n in keys]
    what, where = _and(chain.answers), _and([*last, text])
    return (
        f"Which {what} is recorded for {where} at a time when all these entries hold?",
        f"For {where}, which {what} is recorded at the same time?",
        f"Name every {what} recorded for {where} while all these entries hold.",
    )[style % 3]


def _pairs(names: Sequence[str], values: dict[str, str]) -> str:
    return _and([f"{name} {values[name]}" for name in names])


def _and(parts: Sequence[str]) -> str:
    return " and ".join(parts)


def _check_sql(query: Query, engines: Engines) -> None:
    """GoldError unless the join and both engines agree."""
    table = query.tables[0]
    joined = sorted((g.answer, table.written(table.rows[g.index].start)) for g in query.golds)
    rows = sorted((", ".join(map(str, row[:-2])), str(row[-2])) for row in engines.both(query.sql))
    if rows != joined:
        raise GoldError(f"join {joined}, engines {rows}: {query.sql}")
