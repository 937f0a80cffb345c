"""The spans that the explicit wording lists for a fact of another calendar.

A list of only the years that the other facts leave would state these facts once more and make them
unnecessary. So decoys are listed too: for every other fact a day on which it alone fails.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.temporal.days import DaySet

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
        """Without end, in turn: a span in a year that all other facts leave, one that only one
        other fact excludes, any span of the fact."""
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
