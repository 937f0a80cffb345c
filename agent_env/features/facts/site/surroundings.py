"""What is near an event or a person in the tables: found once for all pages of a world, so that
each page is made of rows alone and is made again only where one of these rows has changed."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent_env.features.facts.site.sheet import Link, chance
from agent_env.features.facts.tables.articles import article_url, event_title, presidency_title
from agent_env.features.facts.tables.event_names import series_of
from agent_env.features.facts.tables.tables import (
    EventRow,
    FactTables,
    IntervalRow,
    TermRow,
)
from agent_env.temporal.days import PartialDate

MOST = 12
"""Links of one sort that a page has."""
OFFICES = frozenset({"office", "reign", "pontificate", "tenure"})
"""Kinds of events in which someone rules."""
HOLDERS, NEAR, NEAR_DAYS, ALIVE = 5, 3, 420, 4
TIMES = 7
"""Events of a lifetime that a page on a person has."""
CHILDHOOD = timedelta(days=12 * 365.25)
_NAME = re.compile(r"(?=\b([A-Z][\w'’.-]* [A-Z][\w'’-]*))")


@dataclass(frozen=True, slots=True)
class Dated:
    """What a page states of something else: its title and its dates."""

    title: str
    start: PartialDate | date
    end: PartialDate | date | None
    phrase: str = ""
    """As it is in a sentence, where that is not the title."""

    @property
    def link(self) -> Link:
        return self.title, article_url(self.title)

    @property
    def named(self) -> Link:
        """The link as it is in a sentence."""
        return self.phrase or self.title, article_url(self.title)

    @property
    def first(self) -> date:
        return self.start.first if isinstance(self.start, PartialDate) else self.start

    @property
    def last(self) -> date:
        if self.end is None:
            return date.max
        return self.end.last if isinstance(self.end, PartialDate) else self.end


def dated(row: EventRow) -> Dated | None:
    """An event whose beginning is known."""
    return (
        None if row.start is None else Dated(event_title(row.event), row.start, row.end, row.event)
    )


def presidency(term: TermRow) -> Dated:
    """A term in office."""
    title = presidency_title(term.person)
    return Dated(title, term.start, term.end, f"the presidency of {term.person}")


def length_days(item: Dated) -> int | None:
    """Days of what is known to the day at both ends, both counted."""
    exact = (not isinstance(each, PartialDate) or each.day for each in (item.start, item.end))
    return (item.last - item.first).days + 1 if item.end is not None and all(exact) else None


@dataclass(frozen=True, slots=True)
class Around:
    """The rows that the page of an event or a person speaks of besides its own."""

    people: tuple[Dated, ...] = ()
    """Those in it."""
    alive: tuple[Dated, ...] = ()
    holders: tuple[Dated, ...] = ()
    before: tuple[Dated, ...] = ()
    """What began shortly before, nearest last; of a person, who was born next before."""
    after: tuple[Dated, ...] = ()
    kin: tuple[Dated | None, Dated | None] = (None, None)
    """The ones before and after it in its series, or else of its kind."""
    events: tuple[Dated, ...] = ()
    """What a person had part in."""
    times: tuple[Dated, ...] = ()
    """What else began in a lifetime or a term."""
    spells: tuple[IntervalRow, ...] = ()


class Surroundings:
    """Finds them."""

    def __init__(self, tables: FactTables) -> None:
        lives = {row.person: Dated(row.person, row.start, row.end) for row in tables.people}
        lives |= {row.person: Dated(row.person, row.start, None) for row in tables.living}
        self._lives = lives
        self._births = sorted(lives.values(), key=lambda life: (life.first, life.title))
        self._born = [life.first for life in self._births]
        self._part_in: dict[str, list[Dated]] = defaultdict(list)
        self._spells: dict[str, list[IntervalRow]] = defaultdict(list)
        self._holders: dict[int, list[Dated]] = defaultdict(list)
        series: dict[str, list[Dated]] = defaultdict(list)
        sizes: dict[str, int] = defaultdict(int)
        for row in tables.events:
            sizes[series_of(row.event)] += 1
        self._series_of = {
            row.event: name if sizes[name := series_of(row.event)] > 1 else f"kind/{row.kind}"
            for row in tables.events
        }
        begun: list[Dated] = []
        ruled = [presidency(t) for t in tables.presidents]
        for row in (*tables.events, *tables.planned):
            item = dated(row)
            if item is None:
                continue
            for person in self._people_in(row):
                self._part_in[person].append(item)
            if row.event in self._series_of:
                begun.append(item)
                series[self._series_of[row.event]].append(item)
                ruled += [item] if row.kind in OFFICES else []
        for item in ruled:
            for year in range(item.first.year, min(item.last.year, item.first.year + 90) + 1):
                self._holders[year].append(item)
        self._begun = sorted(begun, key=lambda item: (item.first, item.title))
        self._begun_on = [item.first for item in self._begun]
        self._series = {
            name: sorted(own, key=lambda item: (item.first, item.title))
            for name, own in series.items()
        }
        self._place = {
            (name, item.title): at for name, own in self._series.items()
            for at, item in enumerate(own)
        }  # fmt: skip
        for spell in sorted(tables.intervals, key=lambda spell: spell.start):
            self._spells[spell.subject].append(spell)
            self._spells[spell.object].append(spell)

    def of_event(self, row: EventRow) -> Around:
        """What the article on an event speaks of."""
        people = tuple(self._lives[name] for name in self._people_in(row))
        item = dated(row)
        if item is None:
            rng = chance("years", row.event)
            own = (self._of_year(year) for year in row.years)
            return Around(people, times=tuple(rng.choice(began) for began in own if began))
        first, title = item.first, item.title
        at = bisect_left(self._begun_on, first - timedelta(NEAR_DAYS))
        until = bisect_right(self._begun_on, first + timedelta(NEAR_DAYS))
        near = [each for each in self._begun[at:until] if each.title != title]
        return Around(
            people,
            self._alive(first, title, people),
            tuple(h for h in self._ruling(first) if h.title != title)[:HOLDERS],
            tuple([each for each in near if each.first < first][-NEAR:]),
            tuple([each for each in near if each.first >= first][:NEAR]),
            self._kin(row.event, title),
        )

    def _of_year(self, year: int) -> list[Dated]:
        return [each for each in self._begun if each.first.year == year]

    def of_person(self, person: str) -> Around:
        """What the article on a person speaks of."""
        life = self._lives[person]
        at = bisect_left(self._born, life.first)
        at += next(n for n, each in enumerate(self._births[at:]) if each.title == person)
        events = tuple(sorted(self._part_in[person], key=lambda each: each.first)[:MOST])
        return Around(
            before=tuple(self._births[max(0, at - 1) : at]),
            after=tuple(self._births[at + 1 : at + 2]),
            events=events,
            times=self._during(life, "times", skip={each.title for each in events}),
            spells=self.spells_of(person),
        )

    def of_term(self, terms: Sequence[Dated]) -> Around:
        """What the article on a presidency speaks of."""
        times = (each for term in terms for each in self._during(term, "term"))
        return Around(times=tuple(dict.fromkeys(times)))

    def spells_of(self, name: str) -> tuple[IntervalRow, ...]:
        """Of a person, or of an office or club: who stood in which relation, in order of time."""
        return tuple(self._spells.get(name, ()))

    def ruling(self, first: date, last: date) -> Iterator[Dated]:
        """Who held an office on some of these days of one year."""
        for item in self._holders.get(first.year, ()):
            if item.first <= last and item.last >= first:
                yield item

    def _ruling(self, day: date) -> list[Dated]:
        own = [item for item in self.ruling(day, day) if item.first < day < item.last]
        return sorted(own, key=lambda item: (item.first, item.title))

    def _alive(self, day: date, title: str, people: Sequence[Dated]) -> tuple[Dated, ...]:
        """Some grown-ups who were alive on the day, in order of birth."""
        low = bisect_left(self._born, day - timedelta(90 * 365.25))
        high = bisect_right(self._born, day - timedelta(18 * 365.25))
        if low >= high:
            return ()
        rng = chance("alive", title)
        drawn = {rng.randrange(low, high) for _ in range(3 * ALIVE)}
        own = (self._births[at] for at in sorted(drawn))
        return tuple([life for life in own if life.last > day and life not in people][:ALIVE])

    def _kin(self, event: str, title: str) -> tuple[Dated | None, Dated | None]:
        name = self._series_of.get(event)
        own, at = self._series.get(name or "", []), self._place.get((name or "", title))
        if at is None:
            return None, None
        after = own[at + 1] if at + 1 < len(own) else None
        return (own[at - 1] if at else None), after

    def _during(self, item: Dated, why: str, skip: frozenset[str] | set[str] = frozenset()
                ) -> tuple[Dated, ...]:  # fmt: skip
        low = bisect_left(self._begun_on, item.first)
        high = bisect_right(self._begun_on, item.last)
        rng = chance(why, item.title)
        drawn = sorted({low + int(rng.random() * (high - low)) for _ in range(TIMES + 2)})
        own = (self._begun[at] for at in drawn if at < high)
        return tuple([each for each in own if each.title not in skip][:TIMES])

    def _people_in(self, row: EventRow) -> list[str]:
        """Without those who were children or dead when it began, as in a shifted world."""
        names, item = _NAME.findall(row.summary) if self._lives else [], dated(row)
        own = (self._lives[name] for name in dict.fromkeys(names) if name in self._lives)
        return [
            life.title
            for life in own
            if item is None or life.first + CHILDHOOD < item.first <= life.last
        ]
