"""Which pages of the sealed web prove the answer to a question, and which dates must be read there.

Beside a page's address the dates of the gold rows stand; where nothing fits, all dates of the rows
asked about, as only they show that. Written down must be those dates that the question asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from agent_env.schema import Proof
from agent_env.tasks.tdbench.query import Query
from agent_env.temporal.facts.table_pages import TablePages
from agent_env.temporal.facts.temporal_table import TemporalTable


def proofs_of(query: Query, pages: Mapping[str, TablePages]) -> tuple[Proof, ...]:
    """One for each table that must be looked into; none where a page would be too long."""
    if query.kind != "hops":
        found = [_proof(0, query, query.asked, pages)]
    else:
        _, games = query.tables
        game = games.rows[query.relevant[1][0]]
        by = next(iter(query.asked))
        first = _period(games, game.start, game.end)
        country = game.values[games.columns.index("country")]
        urls = pages[games.name].stating({by: query.asked[by]})
        held = {"country": country, "role": query.asked["role"]}
        found = [
            Proof(constraint=0, urls=urls, dates=first, used=(), shares="span"),
            _proof(1, query, held, pages),
        ]
    return tuple(found) if all(proof.urls for proof in found) else ()


def _proof(
    number: int, query: Query, asked: Mapping[str, str], pages: Mapping[str, TablePages]
) -> Proof:
    table = query.tables[0]
    gold = [table.rows[row.place] for row in query.golds]
    rows = gold or [table.rows[place] for place in query.relevant[0]]
    dates = [day for row in rows for day in _period(table, row.start, row.end)]
    used = [
        table.written(day)
        for row in gold
        for side in query.roles
        if (day := row.start if side == "start" else row.end) is not None
    ]
    return Proof(
        constraint=number,
        urls=pages[table.name].stating(asked),
        dates=tuple(dict.fromkeys(dates)),
        used=tuple(dict.fromkeys(used)),
        shares="span",
    )


def _period(table: TemporalTable, *days: date | None) -> tuple[str, ...]:
    return tuple(table.written(day) for day in days if day is not None)
