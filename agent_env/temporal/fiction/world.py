"""Makes an invented world of a wished size. The same size and seed give the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from agent_env.errors import ConfigError
from agent_env.temporal.facts.tables import EventRow, FactTables, IntervalRow
from agent_env.temporal.fiction.cast import Cast
from agent_env.temporal.fiction.clubs import careers, managers
from agent_env.temporal.fiction.happenings import Happenings
from agent_env.temporal.fiction.names import Names
from agent_env.temporal.fiction.offices import Office

LEAST, MOST = 100, 200_000
VERSION = 1
"""Raised whenever the same seed would give another world."""


def make_world(entities: int, seed: int) -> FactTables:
    """People, offices, clubs and events, `entities` of them together, with what joins them.

    People are born before and die after whatever they do; an office has one holder at a time, a
    club one manager; elections come at regular times, and the winner takes over after a wait.
    """
    if not LEAST <= entities <= MOST:
        raise ConfigError(f"a world has {LEAST} to {MOST} entities, not {entities}")
    rng = Random(f"fiction/{VERSION}/{seed}/{entities}")
    names = Names(rng)
    people, offices, clubs = entities * 3 // 10, max(1, entities // 250), entities // 60
    places = [names.place() for _ in range(max(12, entities // 8))]
    cast = Cast(people, names, places, rng)
    happenings = Happenings(cast, names, places, rng)
    event_count = entities - people - offices - clubs
    events: list[EventRow] = []
    intervals: list[IntervalRow] = []
    for place in rng.sample(places, offices):
        for row in Office(place, rng).history(cast, happenings, event_count * 3 // 10 // offices):
            (events if isinstance(row, EventRow) else intervals).append(row)  # type: ignore[arg-type]
    events += _others(happenings, event_count - len(events))
    towns = rng.sample(places, min(clubs, len(places)))
    teams = [names.club(rng.choice(towns)) for _ in range(clubs)]
    intervals += careers(cast, teams, rng)
    intervals += [row for team in teams for row in managers(team, cast, rng)]
    intervals.sort(key=lambda row: (row.relation, row.object, row.start, row.subject))
    return FactTables(tuple(events), (), cast.people, tuple(intervals), invented=True)


def _others(happenings: Happenings, count: int) -> Iterator[EventRow]:
    """A quarter of them in series, the rest single."""
    remaining = count // 4
    while remaining > 3:
        for row in happenings.series(remaining):
            yield row
            remaining -= 1
            count -= 1
        remaining -= 1  # a series that could not begin
    for _ in range(count):
        yield happenings.single()
