"""Questions over a temporal join: who held an office of a host country during its games.

The join of games and offices by country keeps what depends on what in either table, so that
`games, role → name` (two hops) and `round, role → name` (three) follow; both are derived by
Armstrong's axioms and checked on the joined rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from random import Random

from agent_env.families.tdbench.domains import GAMES, OFFICES, shown
from agent_env.families.tdbench.engines import Engines, GoldError
from agent_env.families.tdbench.groups import MOST, Held
from agent_env.families.tdbench.queries import asked_names, hops_text
from agent_env.families.tdbench.query import Query
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
    """At most so many different queries, two and three hops in turn."""
    tfds = (*OFFICES.tfds, *GAMES.tfds)
    derived = joined_tfds([("games", "role"), ("round", "role")], ("name",), tfds)
    if len(derived) < 2:
        raise GoldError("the join does not keep its dependencies")
    joined = natural_join(offices, games, "joined")
    found: dict[tuple[int, str], set[int]] = defaultdict(set)
    role = offices.places(("role",))[0]
    for office, game in joined.parents:
        found[game, offices.rows[office].values[role]].add(office)
    roles = sorted({row.values[role] for row in offices.rows})
    places = [(game, name) for game in range(len(games.rows)) for name in roles]
    rng.shuffle(places)
    made = 0
    for game, name in places:
        if made >= count:
            return
        holders = tuple(sorted(found.get((game, name), ())))
        relevant = _relevant(offices, games.rows[game], name)
        if len(relevant) > MOST or not relevant or (not holders and rng.random() < 0.5):
            continue
        three = made % 2 == 1
        query = _query(offices, games, game, name, holders, relevant, three, phrasings)
        _check(query, engines)
        made += 1
        yield query


def _relevant(offices: TemporalTable, game: TemporalRow, role: str) -> tuple[int, ...]:
    """All holders of this office in the host country, at whatever time."""
    country = game.values[3]
    return tuple(
        place for place, row in enumerate(offices.rows) if row.values[:2] == (country, role)
    )


def _query(
    offices: TemporalTable,
    games: TemporalTable,
    game: int,
    role: str,
    holders: tuple[int, ...],
    relevant: tuple[int, ...],
    three: bool,
    phrasings: int,
) -> Query:
    row = games.rows[game]
    title, number, _, country = row.values
    golds = tuple(
        Held(offices.rows[place].interval, offices.rows[place].values[2], place)
        for place in holders
    )
    right = {held.answer for held in golds}
    asked = {"round" if three else "games": number if three else title, "role": role}
    text = hops_text(
        offices.name, games.name, "country", [("b", next(iter(asked))), ("a", "role")], "name"
    )
    templates, told = (THREE_HOPS, number) if three else (TWO_HOPS, title)
    first = (Hop(asks=f"which games the {number} games are", gold=(title,)),) if three else ()
    assert row.end is not None
    return Query(
        domain="hops",
        kind="hops",
        relation="3-hop" if three else "2-hop",
        tables=(offices, games),
        asked=asked,
        answers=("name",),
        relevant=(relevant, (game,)),
        golds=golds,
        others=tuple(
            dict.fromkeys(
                name for at in relevant if (name := offices.rows[at].values[2]) not in right
            )
        ),
        sql=text.filled(dict(zip(asked_names(list(asked)), asked.values(), strict=True))),
        questions=tuple(
            templates[style % len(templates)].format_map({"role": role, "game": told})
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
                asks=f"the {role} of {shown(country)} at that time",
                gold=tuple(dict.fromkeys(held.answer for held in golds)),
            ),
        ),
    )


def _check(query: Query, engines: Engines) -> None:
    """The joined rows against both engines, and against who held the office day by day."""
    expected = sorted(held.answer for held in query.golds)
    found = sorted(str(row[0]) for row in engines.both(query.sql))
    offices, games = query.tables
    row = games.rows[query.relevant[1][0]]
    mine = {offices.rows[place] for place in query.relevant[0]}
    assert row.end is not None
    days = (row.start.fromordinal(n) for n in range(row.start.toordinal(), row.end.toordinal()))
    daily = {held.values[2] for day in days for held in snapshot(offices, day) if held in mine}
    if not expected == found == sorted(daily):
        raise GoldError(f"join {expected}, engines {found}, days {sorted(daily)}: {query.sql}")
