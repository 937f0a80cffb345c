"""The people of an invented world, found by the time in which they lived."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from datetime import date, timedelta
from random import Random

from agent_env.temporal.facts.tables import LifeRow
from agent_env.temporal.fiction.names import Names

FIRST_BIRTH, LAST_BIRTH = date(1752, 1, 1), date(1978, 12, 31)
TODAY = date(2025, 12, 31)
"""Nothing in an invented world is later."""
YEAR = timedelta(days=365.25)
TRADES = """
cartographer, botanist, ship's surgeon, bell founder, glass painter, hydrographer, court composer,
lens grinder, printer, mining engineer, translator, beekeeper, playwright, astronomer, ropemaker,
horse breeder, clockmaker, jurist, landscape painter, schoolmistress, canal builder, apothecary
"""


class Cast:
    """Draws people who were alive and of an age on given days."""

    def __init__(self, count: int, names: Names, places: list[str], rng: Random) -> None:
        self._rng = rng
        trades = [" ".join(trade.split()) for trade in TRADES.split(",")]
        span = (LAST_BIRTH - FIRST_BIRTH).days
        people = []
        for _ in range(count):
            born = FIRST_BIRTH + timedelta(days=rng.randrange(span))
            died = min(
                born + YEAR * rng.uniform(48, 97), TODAY - timedelta(days=rng.randrange(900))
            )
            what = f"{rng.choice(trades)} from {rng.choice(places)}"
            people.append(LifeRow(names.person(), what, born, died, ""))
        self.people = tuple(sorted(people, key=lambda row: (row.start, row.person)))
        self._births = [row.start for row in self.people]
        self._busy: dict[str, list[tuple[date, date]]] = defaultdict(list)

    def adult(self, first: date, last: date, least: float = 24, most: float = 66) -> LifeRow | None:
        """Someone of `least` to `most` years on the first day who outlived the last."""
        low = bisect_left(self._births, first - YEAR * most)
        high = bisect_right(self._births, first - YEAR * least)
        for _ in range(12):
            if low >= high:
                return None
            person = self.people[self._rng.randrange(low, high)]
            if person.end > last:
                return person
        return None

    def book(self, person: str, first: date, last: date) -> bool:
        """Whether the person had nothing else to do on these days; they are taken now."""
        spans = self._busy[person]
        if any(first <= until and since <= last for since, until in spans):
            return False
        spans.append((first, last))
        return True

    def two(self, first: date, last: date) -> tuple[LifeRow, LifeRow] | None:
        """Two different adults."""
        one, other = self.adult(first, last), self.adult(first, last)
        return None if one is None or other is None or one is other else (one, other)
