"""Three guessing baselines, which a good puzzle set gives almost no score.

One ignores the event and answers all days that the other facts allow. One randomly draws the
event's value among those that the other facts allow. One always answers that there is no date. All
know every other fact and calendar: an upper bound for a model that cannot look events up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import KbEvent
from agent_env.families.time_puzzles.guessers import (
    draw_value,
    event_of,
    having,
    rest_of,
    values_of,
)
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import common_days
from agent_env.features.facts.tables.tables import FactTables
from agent_env.temporal.days import DayRange, DaySet


@dataclass(frozen=True, slots=True)
class GuessRates:
    """Exact matches (Appendix B.1) of the three guessers over a set of puzzles."""

    puzzles: int
    ignore_event: int
    """Puzzles with a right answer of the guesser without the event."""
    random_value: float
    """Expected number of puzzles with a right random value."""
    random_value_drawn: int
    """Number for one draw per puzzle."""
    always_none: int

    def as_json(self) -> dict[str, float]:
        """Mean exact match of each."""
        total = max(self.puzzles, 1)
        names = ("ignore_event", "random_value", "random_value_drawn", "always_none")
        return {name: getattr(self, name) / total for name in names}


@dataclass(frozen=True, slots=True)
class Case:
    """The guessers' view of one puzzle, and its gold."""

    event: KbEvent | None
    rest: DaySet
    """The days that all facts but the event allow."""
    gold: DaySet | None
    """None for a gold with a day out of range or with a text that is not a date."""


def guess_rates(puzzles: Sequence[TimePuzzle], tables: FactTables) -> GuessRates:
    """The guessers' rates against the puzzles' own gold."""
    sets = DaySets(common_days(puzzles), tables)
    return rates_of([case_of(puzzle, sets) for puzzle in puzzles], sets, Random(0))


def rates_of(cases: Sequence[Case], sets: DaySets, rng: Random) -> GuessRates:
    ignoring_hits = draw_hits = none_hits = 0
    chance = 0.0
    for case in cases:
        ignoring_hits += case.rest == case.gold
        draw_hits += draw_value(case.event, case.rest, sets, rng) == case.gold
        chance += chance_of(case, sets)
        none_hits += case.gold == 0
    return GuessRates(len(cases), ignoring_hits, chance, draw_hits, none_hits)


def case_of(puzzle: TimePuzzle, sets: DaySets) -> Case:
    """The puzzle without its event."""
    return Case(event_of(puzzle.facts), rest_of(puzzle, sets), gold_days(puzzle, sets))


def few_days(dates: Iterable[date], days: DayRange) -> DaySet:
    """The set of some days without those out of range; fast for few days."""
    return sum(1 << days.index(day) for day in set(dates) if day in days)


def gold_days(puzzle: TimePuzzle, sets: DaySets) -> DaySet | None:
    """The stored gold as a day set; None where it has other values than days in range."""
    try:
        days = few_days(map(date.fromisoformat, puzzle.gold), sets.days)
    except ValueError:
        return None
    return days if days.bit_count() == len(puzzle.gold) else None


def chance_of(case: Case, sets: DaySets) -> float:
    """Probability that a random value of the event gives the gold."""
    if case.gold is None:
        return 0.0
    if case.event is None or not case.rest:
        return float(case.rest == case.gold)
    if not case.gold:
        return 0.0
    first = sets.days.day((case.gold & -case.gold).bit_length() - 1)
    value: int = getattr(first, case.event.level)
    if having(case.event, value, case.rest, sets) != case.gold:
        return 0.0
    return 1 / len(values_of(case.event, case.rest, sets))
