"""Which pages of the sealed web prove the answer to a question, and which dates must be read there.

A proof lists the dates of the gold rows; where nothing fits, all dates of the group, as only they
prove that. `used` are the dates that the question asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from agent_env.families.tdbench.groups import GroupRow
from agent_env.families.tdbench.query import Query
from agent_env.records.schema import Proof
from agent_env.temporal.facts.table_pages import TablePages
from agent_env.temporal.facts.temporal_table import TemporalTable


def proofs_of(query: Query, pages: Mapping[str, TablePages]) -> tuple[Proof, ...]:
    """One for each fact that must be looked up; () where one of them has no page, and for hops over
    a user's tables."""
    if query.kind == "hops":
        if [table.name for table in query.tables] != ["offices", "games"]:
            return ()
        proofs = _of_hops(query, pages)
    elif query.kind == "duration":
        sides = enumerate(query.golds, start=1)
        proofs = [_proof(n - 1, query, _side(query, n), (row,), pages) for n, row in sides]
    else:
        proofs = [_proof(0, query, query.keys, query.golds, pages)]
    return tuple(proofs) if all(proof.urls for proof in proofs) else ()


def _side(query: Query, number: int) -> dict[str, str]:
    """The key values of the first or the second row."""
    end = f" {number}"
    return {k.removesuffix(end): v for k, v in query.keys.items() if k.endswith(end)}


def _of_hops(query: Query, pages: Mapping[str, TablePages]) -> list[Proof]:
    """The games with their host, then the office there."""
    games = query.tables[1]
    game = games.rows[query.relevant[1][0]]
    by = next(iter(query.keys))
    country = game.values[games.columns.index("country")]
    office = {"country": country, "role": query.keys["role"]}
    first = Proof(
        constraint=0,
        urls=pages[games.name].stating({by: query.keys[by]}),
        dates=_dates(games, game.start, game.end),
        used=(),
        shares="span",
    )
    return [first, _proof(1, query, office, query.golds, pages)]


def _proof(
    number: int,
    query: Query,
    keys: Mapping[str, str],
    golds: Sequence[GroupRow],
    pages: Mapping[str, TablePages],
) -> Proof:
    table = query.tables[0]
    gold = [table.rows[row.index] for row in golds]
    rows = gold or [table.rows[index] for index in query.relevant[0]]
    dates = (day for row in rows for day in _dates(table, row.start, row.end))
    bounds = (row.start if role == "start" else row.end for row in gold for role in query.roles)
    return Proof(
        constraint=number,
        urls=pages[table.name].stating(keys),
        dates=tuple(dict.fromkeys(dates)),
        used=tuple(dict.fromkeys(_dates(table, *bounds))),
        shares="span",
    )


def _dates(table: TemporalTable, *days: date | None) -> tuple[str, ...]:
    return tuple(table.written(day) for day in days if day is not None)
