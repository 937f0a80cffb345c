"""Which pages of the sealed web prove the answer to a question, and which dates must be read there.

Beside a page's address the dates of the gold rows stand; where nothing fits, all dates of the rows
asked about, as only they show that. Written down must be those dates that the question asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from agent_env.families.tdbench.groups import Held
from agent_env.families.tdbench.query import Query
from agent_env.records.schema import Proof
from agent_env.temporal.facts.table_pages import TablePages
from agent_env.temporal.facts.temporal_table import TemporalTable


def proofs_of(query: Query, pages: Mapping[str, TablePages]) -> tuple[Proof, ...]:
    """One for each thing that must be looked up; none at all where one of them has no page, nor for
    hops over a user's tables."""
    if query.kind == "hops":
        if [table.name for table in query.tables] != ["offices", "games"]:
            return ()
        found = _of_hops(query, pages)
    elif query.kind == "duration":
        sides = enumerate(query.golds, start=1)
        found = [_proof(n - 1, query, _side(query, n), (row,), pages) for n, row in sides]
    else:
        found = [_proof(0, query, query.asked, query.golds, pages)]
    return tuple(found) if all(proof.urls for proof in found) else ()


def _side(query: Query, number: int) -> dict[str, str]:
    """Which rows the first or the second of two is one of."""
    end = f" {number}"
    return {k.removesuffix(end): v for k, v in query.asked.items() if k.endswith(end)}


def _of_hops(query: Query, pages: Mapping[str, TablePages]) -> list[Proof]:
    """The games with their host, then the office there."""
    _, games = query.tables
    game = games.rows[query.relevant[1][0]]
    by = next(iter(query.asked))
    country = game.values[games.columns.index("country")]
    held = {"country": country, "role": query.asked["role"]}
    first = Proof(
        constraint=0,
        urls=pages[games.name].stating({by: query.asked[by]}),
        dates=_period(games, game.start, game.end),
        used=(),
        shares="span",
    )
    return [first, _proof(1, query, held, query.golds, pages)]


def _proof(
    number: int,
    query: Query,
    asked: Mapping[str, str],
    golds: Sequence[Held],
    pages: Mapping[str, TablePages],
) -> Proof:
    table = query.tables[0]
    gold = [table.rows[row.place] for row in golds]
    rows = gold or [table.rows[place] for place in query.relevant[0]]
    dates = (day for row in rows for day in _period(table, row.start, row.end))
    used = (
        table.written(day)
        for row in gold
        for side in query.roles
        if (day := row.start if side == "start" else row.end) is not None
    )
    return Proof(
        constraint=number,
        urls=pages[table.name].stating(asked),
        dates=tuple(dict.fromkeys(dates)),
        used=tuple(dict.fromkeys(used)),
        shares="span",
    )


def _period(table: TemporalTable, *days: date | None) -> tuple[str, ...]:
    return tuple(table.written(day) for day in days if day is not None)
