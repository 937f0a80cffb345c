"""Clubs of an invented world: who played for them and who managed them, from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from agent_env.temporal.facts.tables import IntervalRow
from agent_env.temporal.fiction.cast import YEAR, Cast

DAY = timedelta(days=1)
FIRST_CLUBS = 1860
PLAYERS = 0.35
"""Part of those born late enough who play for clubs."""


def careers(cast: Cast, clubs: list[str], rng: Random) -> Iterator[IntervalRow]:
    """Spells of players with clubs, one after the other, from 17 years of age on."""
    for row in cast.people:
        if row.start.year < FIRST_CLUBS - 17 or rng.random() > PLAYERS:
            continue
        joins = row.start + YEAR * rng.uniform(17, 22)
        for _ in range(rng.randint(1, 4)):
            leaves = joins + YEAR * rng.uniform(0.5, 6)
            if leaves >= min(row.end, row.start + YEAR * 40):
                break
            if cast.book(row.person, joins, leaves):
                yield IntervalRow(row.person, "plays_for", rng.choice(clubs), joins, leaves)
            joins = leaves + DAY * rng.choice((1, 1, 1, 60, 200))


def managers(club: str, cast: Cast, rng: Random) -> Iterator[IntervalRow]:
    """One manager at a time, with gaps."""
    day = date(rng.randint(FIRST_CLUBS, 1930), rng.randint(1, 12), rng.randint(1, 28))
    while day.year < 2010:
        last = day + YEAR * rng.uniform(0.6, 7)
        manager = cast.adult(day, last, 30, 60)
        if manager is not None and cast.book(manager.person, day, last):
            yield IntervalRow(manager.person, "manages", club, day, last)
        day = last + DAY * rng.choice((1, 1, 1, 14, 90))
