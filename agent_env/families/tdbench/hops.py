"""Questions over a temporal join: who held an office of a host country during its games.

The join of games and offices by country keeps the dependencies of both tables, so that
`games, role → name` (two hops) and `round, role → name` (three) follow; both are derived by
Armstrong's axioms and checked on the joined rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random

from agent_env.families.tdbench.domains import GAMES, OFFICES, with_article
from agent_env.families.tdbench.engines import Engines, GoldError
from agent_env.families.tdbench.groups import MAX_GROUP_ROWS, GroupRow
from agent_env.families.tdbench.queries import hops_sql, key_marks
from agent_env.families.tdbench.query import Query, wrong_answers
from agent_env.families.tdbench.sample import Hop
from agent_env.families.tdbench.wording import THREE_HOPS, TWO_HOPS
from agent_env.temporal.facts.temporal_join import joined_tfds, natural_join
from agent_env.temporal.facts.temporal_table import TemporalRow, TemporalTable, snapshot


def hop_queries(
    offices: TemporalTable,
    games: TemporalTable,
    count: int,
    rng: Random,
    engines: Engines,
    phrasings: int,
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
    rng.shuffle(pairs)
    queries = 0
    for game, role in pairs:
        if queries >= count:
            return
        golds = tuple(sorted(holders.get((game, role), ())))
        relevant = _relevant(offices, games.rows[game], role)
        large = len(relevant) > MAX_GROUP_ROWS
        if large or not relevant or (not golds and rng.random() < 0.5):
            continue
        three = queries % 2 == 1
        query = _query(offices, games, game, role, golds, relevant, three, phrasings)
        _check(query, engines)
        queries += 1
        yield query


def _relevant(offices: TemporalTable, game: TemporalRow, role: str) -> tuple[int, ...]:
    """All holders of this office in the host country, at whatever time."""
    country = game.values[3]
    return tuple(n for n, row in enumerate(offices.rows) if row.values[:2] == (country, role))


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
    return Query(
        domain="hops",
        kind="hops",
        relation="3-hop" if three else "2-hop",
        tables=(offices, games),
        keys=keys,
        answers=("name",),
        relevant=(relevant, (game,)),
        golds=golds,
        others=wrong_answers((offices.rows[n].values[2] for n in relevant), golds),
        sql=template.fill(dict(zip(key_marks(list(keys)), keys.values(), strict=True))),
        questions=tuple(
            sentences[style % len(sentences)].format_map({"role": role, "game": name})
            for style in range(phrasings)
        ),
        hops=(
            *first,
            Hop(
                asks=f"the host country of the {title} and when they took place",
                gold=(country,),
                start=games.written(row.start),
                end=games.written(row.end),
            ),
            Hop(
                asks=f"the {role} of {with_article(country)} at that time",
                gold=tuple(dict.fromkeys(gold.answer for gold in golds)),
            ),
        ),
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
