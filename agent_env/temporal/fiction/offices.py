"""Offices of an invented world: regular elections, and who held them from when to when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from agent_env.temporal.facts.tables import EventRow, IntervalRow, LifeRow
from agent_env.temporal.fiction.cast import Cast
from agent_env.temporal.fiction.happenings import Happenings, event_row
from agent_env.temporal.fiction.names import ordinal

ROLES = "Provost Warden Steward Reeve Castellan Burgrave Syndic Chancellor Margrave Bailiff".split()
DAY = timedelta(days=1)
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
    """The first Tuesday of the month."""
    first = date(year, month, 1)
    return first + timedelta(days=(1 - first.weekday()) % 7)
