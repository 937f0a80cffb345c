"""Makes an invented world of a wished size: people, offices, clubs and events. The same size and
seed give the same rows.

A hint speaks of an event by the people in it and avoids its title. Two people are together in one
hint only, so that no hint fits two events.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random

from agent_env.features.facts.fiction.names import Names, ordinal
from agent_env.features.facts.tables.tables import EventRow, FactTables, IntervalRow, LifeRow
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import PartialDate

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


ROLES = "Provost Warden Steward Reeve Castellan Burgrave Syndic Chancellor Margrave Bailiff".split()
LAST_ELECTION = 2012
REELECTED = 0.4


@dataclass(slots=True)
class _Tenure:
    """Who holds an office, and since when."""

    person: LifeRow
    since: date


class Office:
    """One office; elections come every few years in the same month, on a Tuesday."""

    def __init__(self, place: str, rng: Random) -> None:
        self.name = f"{rng.choice(ROLES)} of {place}"
        self._place, self._rng = place, rng
        self._every = rng.choice((3, 4, 5, 6))
        self._month = rng.randint(1, 12)
        self._wait = timedelta(days=rng.randint(12, 80))
        self._year = rng.randint(1803, 1890)
        self._before: set[str] = set()

    def history(
        self, cast: Cast, happenings: Happenings, most: int
    ) -> Iterator[EventRow | IntervalRow]:
        """Elections and tenures, at most `most` events; the office ends with its last tenure."""
        tenure: _Tenure | None = None
        for number in range(1, most // 2 + 1):
            vote = self._election_day()
            takes_over, leaves = vote + self._wait, self._next_handover()
            person = self._winner(cast, tenure, takes_over, leaves)
            loser = cast.adult(vote, takes_over)
            if person is None or loser is None or loser is person:
                break
            yield self._election(happenings, number, vote, person.person, loser.person)
            if tenure is not None and tenure.person is not person:
                yield from self._tenure(happenings, tenure, takes_over - DAY)
                tenure = None
            tenure = tenure or _Tenure(person, takes_over)
            self._year += self._every
            if self._year > LAST_ELECTION:
                break
        if tenure is not None:
            yield from self._tenure(happenings, tenure, self._last_day())

    def _election_day(self) -> date:
        return _tuesday(self._year, self._month)

    def _next_handover(self) -> date:
        return _tuesday(self._year + self._every, self._month) + self._wait

    def _last_day(self) -> date:
        """The term of the last winner runs out."""
        return self._election_day() + self._wait - DAY

    def _winner(
        self, cast: Cast, tenure: _Tenure | None, takes_over: date, leaves: date
    ) -> LifeRow | None:
        """The holder again, or someone who never held the office."""
        again = tenure and self._rng.random() < REELECTED and tenure.person.end > leaves
        if tenure and again and cast.book(tenure.person.person, takes_over, leaves - DAY):
            return tenure.person
        for _ in range(20):
            candidate = cast.adult(takes_over, leaves, 30, 68)
            if candidate is None or candidate.person in self._before:
                continue
            if cast.book(candidate.person, takes_over, leaves - DAY):
                self._before.add(candidate.person)
                return candidate
        return None

    def _election(
        self, happenings: Happenings, number: int, day: date, winner: str, loser: str
    ) -> EventRow:
        event = f"the {ordinal(number)} election of the {self.name}"
        happenings.take(event)
        hint = f"the vote in which {winner} won against {loser}"
        summary = f"{winner} was chosen before {loser} as {self.name}."
        return event_row(event, "election", summary, happenings.hint(hint, winner, loser), day, day)

    def _tenure(
        self, happenings: Happenings, tenure: _Tenure, last: date
    ) -> Iterator[EventRow | IntervalRow]:
        person = tenure.person.person
        yield IntervalRow(person, "holds_office", self.name, tenure.since, last)
        event = f"the tenure of {person} as {self.name}"
        if happenings.take(event):
            hint = f"the years in which {person} stood at the head of {self._place}"
            summary = f"{person} was {self.name}, by vote of the townspeople of {self._place}."
            hint = happenings.hint(hint, person, self._place)
            yield event_row(event, "tenure", summary, hint, tenure.since, last)


def _tuesday(year: int, month: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(1 - first.weekday()) % 7)


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


LEAST, MOST = 100, 200_000
VERSION = 3
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


FIRST_DAY, LAST_DAY = date(1801, 1, 1), date(2019, 12, 31)
HINTED = 0.7
"""Part of the events that puzzles may speak of by a hint."""


@dataclass(frozen=True, slots=True)
class HappeningKind:
    """`p` and `q` are places, `a` and `b` people, `x` a trade, a craft or a ship."""

    kind: str
    event: str
    days: tuple[int, int]
    """Least and most from the first to the last day, both included."""
    summary: str
    hint: str


def _read_kinds() -> Iterator[tuple[HappeningKind, ...]]:
    """Those of single events, then of recurring ones, of the file beside this one."""
    text = Path(__file__).with_name("happenings.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    for part in ("single", "recurring"):
        yield tuple(HappeningKind(**kind | {"days": tuple(kind["days"])}) for kind in content[part])


SINGLE, RECURRING = _read_kinds()

CROWDS = (
    "weavers millers dockers carters tanners printers coopers quarrymen colliers fishers".split()
)
CRAFTS = (
    "glasswork tapestry sundials clockwork pottery ironwork seed-grain engravings sails".split()
)
LOSSES = "seals charters bells weights ledgers banners".split()
LEARNED = "Botanists Surveyors Physicians Printers Astronomers Bell-ringers Millwrights".split()


class Happenings:
    """Makes events for one world."""

    def __init__(self, cast: Cast, names: Names, places: list[str], rng: Random) -> None:
        self._cast, self._names, self._places, self._rng = cast, names, places, rng
        self._events: set[str] = set()
        self._together: set[frozenset[str]] = set()

    def single(self) -> EventRow:
        """An event of any kind, at any time."""
        rng = self._rng
        while True:
            kind = rng.choice(SINGLE)
            length = _length(kind, rng)
            first = FIRST_DAY + timedelta(days=rng.randrange((LAST_DAY - FIRST_DAY).days - length))
            p, q = rng.sample(self._places, 2)
            row = self._row(kind, first, length, {"p": p, "q": q, "x": self._thing(kind)})
            if row is not None:
                return row

    def series(self, most: int) -> Iterator[EventRow]:
        """Up to `most` events of the same name that come every few years, numbered."""
        rng = self._rng
        kind = rng.choice(RECURRING)
        words = {"p": rng.choice(self._places), "x": rng.choice(LEARNED)}
        every, month = rng.choice((1, 2, 3, 4)), rng.randint(1, 12)
        year = rng.randint(1802, 1980)
        for number in range(1, min(most, rng.randint(4, 30)) + 1):
            first = date(year, month, rng.randint(1, 28))
            row = self._row(kind, first, _length(kind, rng), {**words, "n": ordinal(number)})
            if row is None:
                return
            yield row
            year += every if rng.random() < 0.9 else every + 1
            if year > 2018:
                return

    def _row(
        self, kind: HappeningKind, first: date, length: int, words: dict[str, str]
    ) -> EventRow | None:
        """None where the name is taken or nobody lived then."""
        last = first + timedelta(days=length)
        event = kind.event.format(**words)
        pair = self._cast.two(first, last)
        if pair is None or not self.take(event):
            return None
        a, b = (row.person for row in pair)
        summary = kind.summary.format(**words, a=a, b=b)
        hint = self.hint(kind.hint.format(**words, a=a, b=b), a, b)
        return event_row(event, kind.kind, summary, hint, first, last)

    def take(self, event: str) -> bool:
        """Whether the name was free; it is taken now."""
        free = event.casefold() not in self._events
        self._events.add(event.casefold())
        return free

    def hint(self, text: str, *people: str) -> str:
        """The hint, or nothing where these people are in one already, or by chance."""
        pair = frozenset(people)
        if self._rng.random() > HINTED or pair in self._together:
            return ""
        self._together.add(pair)
        return text

    def _thing(self, kind: HappeningKind) -> str:
        if kind.kind == "voyage":
            return self._names.ship()
        lists = {"exhibition": CRAFTS, "strike": CROWDS, "trial": LOSSES}
        return self._rng.choice(lists.get(kind.kind, CRAFTS))


def _length(kind: HappeningKind, rng: Random) -> int:
    """Days from the first to the last; short ones are commoner."""
    least, most = kind.days
    return least - 1 + int((most - least) * rng.random() ** 1.6)


def event_row(event: str, kind: str, summary: str, hint: str, first: date, last: date) -> EventRow:
    """A row with full days."""
    bounds = (PartialDate(day.year, day.month, day.day) for day in (first, last))
    start, end = bounds
    return EventRow(event, kind, summary, hint, start, end, (), "an invented world")
