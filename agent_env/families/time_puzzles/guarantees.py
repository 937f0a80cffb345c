"""What holds of a checked puzzle, whether it was drawn or its event was moved to other dates: it is
closed, necessary, not guessable, robust and faithful, and pages of the sealed web prove it; and the
spans that the explicit wording lists for a fact of another calendar.

A list of only the years that the other facts leave would state these facts once more and make them
unnecessary. So decoys are listed too: for every other fact a day on which it alone fails.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from random import Random

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets, Readings
from agent_env.families.time_puzzles.facts import Fact, KbEvent, PersonAlive, UsPresident
from agent_env.families.time_puzzles.guessers import values_of
from agent_env.families.time_puzzles.sample import Checks
from agent_env.families.time_puzzles.solver import rests_of, solve
from agent_env.features.facts.tables.articles import (
    Edge,
    article_url,
    event_title,
    event_urls,
    life_urls,
    presidency_title,
)
from agent_env.features.facts.tables.tables import FactTables
from agent_env.sdk.records import Proof
from agent_env.temporal.days import CLOSURE_DAYS, DaySet

SPELLED_OUT = (ft.ChineseZodiac, ft.LunarMonth, ft.CalendarMonth, ft.ChurchDay, ft.SolarTerm)
"""Facts whose explicit wording lists some of their spans."""
SPANS = 12
"""Spans listed, where the fact has as many."""
MAX_SPANS = 24
"""Largest number of spans that a list may need."""
DRAWS = 4 * SPANS
"""Draws of further decoys; fewer spans are listed where these repeat each other."""


class TooManySpans(ValueError):
    """A fact needs more than MAX_SPANS spans."""


class SpelledOut:
    """Chooses the spans; those of a fact are computed once."""

    def __init__(self, sets: DaySets) -> None:
        self._sets = sets
        self._days = sets.days
        self._spans: dict[ft.Fact, list[tuple[int, int]]] = {}

    def listed(
        self, facts: Sequence[ft.Fact], rests: Sequence[DaySet], answer: DaySet, rng: Random
    ) -> list[DaySet]:
        """For each fact the days that its explicit wording allows: all its days, but of a fact in
        SPELLED_OUT only whole spans, some with and some without an answer. A fact that is necessary
        (`rests` as of `solver.rests_of`) remains so. Raises TooManySpans."""
        if not any(isinstance(fact, SPELLED_OUT) for fact in facts):
            return [self._sets.of(fact) for fact in facts]
        answers = [self._days.index(day) for day in self._days.dates(answer)]
        witnesses = [
            self._days.index(self._days.draw(days, rng)) if (days := rest & ~answer) else None
            for rest in rests
        ]
        sets = []
        for index, fact in enumerate(facts):
            if isinstance(fact, SPELLED_OUT):
                others = [w for i, w in enumerate(witnesses) if i != index and w is not None]
                needed = {self._span_of(fact, place) for place in (*answers, *others)}
                if len(needed) > MAX_SPANS:
                    raise TooManySpans(f"{fact.type} takes {len(needed)} spans")
                spans = self._filled(index, fact, needed, rests, rng)
                sets.append(sum(((1 << high - low + 1) - 1) << low for low, high in spans))
            else:
                sets.append(self._sets.of(fact))
        return sets

    def _filled(
        self,
        index: int,
        fact: ft.Fact,
        spans: set[tuple[int, int]],
        rests: Sequence[DaySet],
        rng: Random,
    ) -> set[tuple[int, int]]:
        """The spans and further ones, up to SPANS."""
        more = self._decoys(index, fact, rests, rng)
        for _ in range(DRAWS):
            if len(spans) >= SPANS:
                break
            spans = spans | {next(more)}
        return spans

    def _decoys(
        self, index: int, fact: ft.Fact, rests: Sequence[DaySet], rng: Random
    ) -> Iterator[tuple[int, int]]:
        """In turn: one in a year that the others leave, one that one other excludes, any span."""
        spans = self._spans_of(fact)
        others = [rest for i, rest in enumerate(rests) if i != index and rest]
        for source in cycle(("year", "other", "any")):
            if source == "year" and rests[index]:
                year = self._days.draw(rests[index], rng).year
                if days := self._sets.of(fact) & self._days.year(year):
                    yield self._span_of(fact, self._days.index(self._days.draw(days, rng)))
            elif source == "other" and others:
                day = self._days.draw(rng.choice(others), rng)
                yield self._span_of(fact, self._days.index(day))
            else:
                yield rng.choice(spans)

    def _span_of(self, fact: ft.Fact, place: int) -> tuple[int, int]:
        """The fact's span that holds the day."""
        spans = self._spans_of(fact)
        return spans[bisect_right(spans, (place, len(self._days))) - 1]

    def _spans_of(self, fact: ft.Fact) -> list[tuple[int, int]]:
        """First and last place of each run of days."""
        spans = self._spans.get(fact)
        if spans is None:
            runs = self._days.runs(self._sets.of(fact))
            place = self._days.index
            spans = self._spans[fact] = sorted((place(low), place(high)) for low, high in runs)
        return spans


class Checker:
    """Checks puzzles over the day sets of one range; `rests` are those of `solver.rests_of`."""

    def __init__(self, sets: DaySets, tables: FactTables) -> None:
        self._sets = sets
        self._days = sets.days
        self.wide = DaySets(CLOSURE_DAYS, tables)
        self._readings = Readings(sets)
        self._possible: dict[ft.Fact, DaySet] = {}

    def is_closed(self, facts: Sequence[ft.Fact], answer: DaySet) -> bool:
        """Whether the answer is the same over 1583 to 2400, without a range of years; a calendar
        fact may hold on any day outside its validated range."""
        everywhere = solve([self._may_hold(fact) for fact in facts], CLOSURE_DAYS.everything)
        return everywhere == answer << CLOSURE_DAYS.index(self._days.first)

    def _may_hold(self, fact: ft.Fact) -> DaySet:
        days = self._possible.get(fact)
        if days is None:
            days = self._possible[fact] = self.wide.of(fact) | self.wide.unknown(fact)
        return days

    def needs_open_end(self, facts: Sequence[ft.Fact], answer: DaySet) -> bool:
        """Whether the answer may be another one after the date of a table with open ends."""
        possible = [self._sets.of(fact) | self._sets.open_end(fact) for fact in facts]
        return solve(possible, self._days.everything) != answer

    def unnecessary(self, rests: Sequence[DaySet], answer: DaySet) -> tuple[int, ...]:
        """Indices of facts without which the answer is the same."""
        return tuple(index for index, rest in enumerate(rests) if rest == answer)

    def other_answers(
        self, facts: Sequence[ft.Fact], rests: Sequence[DaySet], answer: DaySet
    ) -> tuple[str, ...]:
        """The readings of single facts that change the answer."""
        names = []
        for fact, rest in zip(facts, rests, strict=True):
            for name, days in self._readings.others(fact):
                if rest & days != answer:
                    names.append(name)
        return tuple(dict.fromkeys(names))


MIN_EVENT_VALUES = 10
"""Least number of values of the event, so that guessing it rarely succeeds."""


class Guarantees:
    """Checks facts with their answer; `rests` are those of `solver.rests_of`."""

    def __init__(self, sets: DaySets, tables: FactTables) -> None:
        self._sets, self._everything = sets, sets.days.everything
        self._spelled_out = SpelledOut(sets)
        self._checker = Checker(sets, tables)

    def of(
        self,
        facts: Sequence[Fact],
        rests: Sequence[DaySet],
        answer: DaySet,
        rng: Random,
        is_checked: bool,
    ) -> tuple[Checks | None, list[DaySet]] | None:
        """The checks, and for each fact the days that its explicit wording allows; None where one
        fails, or the explicit wording takes too many spans or, checked, has another answer or a
        fact that it could do without."""
        checks = self._checks(facts, rests, answer) if is_checked else None
        if (is_checked and checks is None) or self._checker.needs_open_end(facts, answer):
            return None
        try:
            listed = self._spelled_out.listed(facts, rests, answer, rng)
        except TooManySpans:
            return None
        if is_checked:
            own = rests_of(listed, self._everything)
            if solve(listed, self._everything) != answer or self._checker.unnecessary(own, answer):
                return None
        return checks, listed

    def _checks(
        self, facts: Sequence[Fact], rests: Sequence[DaySet], answer: DaySet
    ) -> Checks | None:
        """Cheap ones first; None if any fails."""
        checker = self._checker
        at, event = next((i, fact) for i, fact in enumerate(facts) if isinstance(fact, KbEvent))
        if checker.unnecessary(rests, answer) or checker.other_answers(facts, rests, answer):
            return None
        # the information gain of the event in bits, given the others
        sizes = rests[at].bit_count(), answer.bit_count()
        bits = math.log2(sizes[0]) - math.log2(sizes[1]) if answer else None
        if bits is not None and bits < 1:
            return None
        values = len(values_of(event, rests[at], self._sets))
        if values < MIN_EVENT_VALUES or not checker.is_closed(facts, answer):
            return None
        return Checks(
            closed=True,
            necessary=True,
            event_bits=None if bits is None else round(bits, 3),
            event_values=values,
            robust=True,
            faithful=True,
            explicit_necessary=True,
        )


def proofs_of(facts: Sequence[Fact], sets: DaySets) -> tuple[Proof, ...]:
    proofs = (_proof(number, fact, sets) for number, fact in enumerate(facts))
    return tuple(proof for proof in proofs if proof is not None)


def names_of(
    facts: Sequence[Fact], proofs: Iterable[Proof], tables: FactTables
) -> dict[int, tuple[str, ...]]:
    """Titles that an encyclopedia may give the articles on what each proof is about."""
    sources = {row.event: row.source for row in tables.events}
    names: dict[int, tuple[str, ...]] = {}
    for number in (proof.constraint for proof in proofs):
        fact = facts[number]
        own = sources.get(fact.event) if isinstance(fact, KbEvent) else getattr(fact, "person", "")
        names[number] = tuple(dict.fromkeys(filter(None, (title_of(fact), own))))
    return names


def title_of(fact: Fact) -> str | None:
    """The title of the article that proves the fact; None for one without a lookup."""
    match fact:
        case KbEvent(event=event):
            return event_title(event)
        case PersonAlive(person=person):
            return person
        case UsPresident(person=person):
            return presidency_title(person)
    return None


def _proof(number: int, fact: Fact, sets: DaySets) -> Proof | None:
    match fact:
        case KbEvent():
            return _event_proof(number, fact, sets)
        case PersonAlive(person=person):
            life = sets.people[person]
            dates = (str(life.start), str(life.end))
            return Proof(constraint=number, urls=life_urls(person), dates=dates, shares="span")
        case UsPresident(person=person):
            terms = [(start, end) for start, end in sets.terms[person] if end is not None]
            days = tuple(str(day) for term in terms for day in term)
            url = article_url(presidency_title(person))
            return Proof(constraint=number, urls=(url,), dates=days, shares="span")
    return None


def _event_proof(number: int, fact: KbEvent, sets: DaySets) -> Proof:
    row = sets.events[fact.event]
    if fact.aspect == "multi_year":
        bounds = [str(year) for year in row.years] or [str(row.start), str(row.end)]
        urls = event_urls(row, None)
        return Proof(constraint=number, urls=urls, dates=tuple(bounds), shares="years")
    edge: Edge = fact.aspect
    bound = row.start if edge == "start" else row.end
    return Proof(
        constraint=number, urls=event_urls(row, edge), dates=(str(bound),), shares=fact.level
    )
