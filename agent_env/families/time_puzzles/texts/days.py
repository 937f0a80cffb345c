"""Day sets of the meanings of constraint texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DAY, DaySets, years_held
from agent_env.families.time_puzzles.names import NameIndex, name_key
from agent_env.families.time_puzzles.readings import Readings
from agent_env.families.time_puzzles.texts.meanings import (
    DateSpans,
    EventMention,
    Meaning,
    YearRule,
    YearSet,
)
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import EventRow
from agent_env.temporal.partial import PartialDate

_ALIVE = re.compile(r"(?P<name>.+) (?:is|was) alive")
_PRESIDENT = re.compile(r"(?P<name>.+) (?:is|was) (?:the )?President of the United States", re.I)


@dataclass(frozen=True, slots=True)
class StatedEvent:
    """A puzzle's own event, whose date the puzzle states beside its texts."""

    fact: ft.KbEvent
    days: DaySet

    def is_meant(self, mention: EventMention) -> bool:
        """Whether a text mentions this event, with the same edge and level."""
        relation = self.fact.aspect, self.fact.level
        same = set(_keys((mention.phrase,))) & set(_keys((self.fact.event,)))
        return bool(same) and relation == (mention.aspect, mention.level)


class MeaningDays:
    """The days on which a text is true, over the day sets of one range and its tables."""

    def __init__(self, sets: DaySets) -> None:
        self._sets = sets
        self._readings = Readings(sets)
        self._people = NameIndex(sets.people)
        self._presidents = NameIndex(sets.terms)
        self._events = {
            key: row for row in sets.events.values() for key in _keys((row.event, row.hint))
        }

    def of(self, meaning: Meaning, stated: StatedEvent | None = None) -> DaySet | None:
        """The days of the range; None for a name that neither the tables nor the puzzle's own
        event knows."""
        if isinstance(meaning, EventMention):
            if stated is not None and stated.is_meant(meaning):
                return stated.days
            return self._event_days(meaning)
        known = self.known_fact(meaning)
        if known is not None:
            return self._sets.of(known)
        days, patterns = self._sets.days, self._sets.patterns
        match meaning:
            case YearSet(years=years):
                return patterns.years(years)
            case YearRule():
                return patterns.years(filter(meaning.holds, days.years))
            case DateSpans(spans=spans, ends=ends):
                return days.spans(_inner(spans) if ends == "excluded" else spans)
        return None

    def known_fact(self, meaning: Meaning) -> ft.Fact | None:
        """The fact with the tables' names; None for another meaning, or for an unknown name."""
        match meaning:
            case YearSet() | YearRule() | DateSpans() | EventMention():
                return None
            case ft.PersonAlive(person=person):
                name = self._people.find(person)
                return None if name is None else ft.PersonAlive(person=name)
            case ft.UsPresident(person=person):
                name = self._presidents.find(person)
                return None if name is None else ft.UsPresident(person=name)
        return meaning

    def others(self, meaning: Meaning) -> tuple[tuple[str, DaySet], ...]:
        """Name and days of each other common reading of the meaning."""
        if isinstance(meaning, DateSpans) and meaning.ends == "unstated":
            return (("boundary_days", self._sets.days.spans(_inner(meaning.spans))),)
        fact = self.known_fact(meaning)
        return () if fact is None else self._readings.others(fact)

    def _event_days(self, mention: EventMention) -> DaySet | None:
        keys = _keys((mention.phrase,))
        row = next((self._events[key] for key in keys if key in self._events), None)
        row = row or self._personal(mention.phrase)
        if row is None:
            return None
        if mention.edge == "any":
            years = years_held(row)
            return self._sets.patterns.years(years) if years else None
        bound = row.start if mention.edge == "first" else row.end
        value = None if bound is None else getattr(bound, mention.level)
        if value is None:
            return None
        stated = ft.KbEvent.model_validate(
            {"event": row.event, "aspect": mention.aspect, "level": mention.level, "value": value}
        )
        return self._sets.of(stated)

    def _personal(self, phrase: str) -> EventRow | None:
        """A life, or a presidency of one term, as an event."""
        bounds: tuple[date, date | None] | None = None
        if (match := _ALIVE.fullmatch(phrase)) and (name := self._people.find(match["name"])):
            bounds = self._sets.people[name].start, self._sets.people[name].end
        if (match := _PRESIDENT.fullmatch(phrase)) and (
            name := self._presidents.find(match["name"])
        ):
            terms = self._sets.terms[name]
            bounds = terms[0] if len(terms) == 1 else None
        if bounds is None or bounds[1] is None:
            return None
        start, end = (PartialDate.parse(str(day)) for day in bounds if day is not None)
        return EventRow(phrase, "", "", "", start, end, (), "")


def _inner(spans: Iterable[tuple[date, date]]) -> list[tuple[date, date]]:
    return [(first + DAY, last - DAY) for first, last in spans]


def _keys(names: Iterable[str]) -> list[str]:
    """The forms in which texts mention an event: with and without article and `took place`."""
    keys = []
    for name in filter(None, names):
        key = name_key(name).removesuffix(" took place")
        keys += [key, re.sub(r"^(?:the|an?) ", "", key)]
    return keys
