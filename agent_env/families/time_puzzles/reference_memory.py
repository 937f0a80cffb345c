"""What the scripted rememberer knows without any page: the tables that come with the package."""

from __future__ import annotations

from agent_env.extensions.facts.tables.tables import EventRow, shipped_tables
from agent_env.families.time_puzzles.day_sets import years_held
from agent_env.families.time_puzzles.reference_lookups import Clause, Lookup, inside


def recalled(lookup: Lookup) -> Clause | None:
    """The lookup's clause; None for what the tables do not have."""
    tables = shipped_tables()
    if lookup.what == "presidency":
        terms = [row for row in tables.presidents if row.person == lookup.phrase]
        spans = [inside(str(row.start), str(row.end)) for row in terms if row.end is not None]
        return ["spans", spans] if spans else None
    if lookup.what == "life":
        lives = [row for row in tables.people if row.person == lookup.phrase]
        return ["spans", [inside(str(row.start), str(row.end)) for row in lives]] if lives else None
    rows = (row for row in tables.events if lookup.phrase in (row.event, row.hint))
    row = next(rows, None)
    return None if row is None else _of_event(row, lookup)


def _of_event(row: EventRow, lookup: Lookup) -> Clause | None:
    if lookup.edge == "any":
        return ["years", list(years_held(row))]
    bound = row.start if lookup.edge == "first" else row.end
    if bound is None:
        return None
    if lookup.shares == "year":
        return ["years", [bound.year]]
    kind, number = ("months", bound.month) if lookup.shares == "month" else ("days", bound.day)
    return None if number is None else [kind, [number]]
