"""What the facts of a puzzle leave of its event, for guesses and for checks of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact, KbEvent
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve_facts, window_of, year_bounds, years_in
from agent_env.temporal.days import DaySet


def event_of(facts: Sequence[Fact]) -> KbEvent | None:
    """The event that has to be looked up."""
    return next((fact for fact in facts if isinstance(fact, KbEvent)), None)


def rest_of(puzzle: TimePuzzle, sets: DaySets) -> DaySet:
    """The days that all facts but the event allow."""
    event, window = event_of(puzzle.facts), window_of(year_bounds(puzzle), sets.days)
    return solve_facts([f for f in puzzle.facts if f is not event], window, sets).answer


def draw_value(event: KbEvent | None, rest: DaySet, sets: DaySets, rng: Random) -> DaySet:
    """The days left by a random value of the event that the other facts allow."""
    if event is None or not rest:
        return rest
    return having(event, rng.choice(values_of(event, rest, sets)), rest, sets)


def values_of(event: KbEvent, rest: DaySet, sets: DaySets) -> list[int]:
    """The years, months or days of the month that occur in the rest, by the event's level."""
    if event.level == "year":
        return list(years_in(rest, sets.days))
    numbers = range(1, 13) if event.level == "month" else range(1, 32)
    return [number for number in numbers if having(event, number, rest, sets)]


def having(event: KbEvent, value: int, rest: DaySet, sets: DaySets) -> DaySet:
    if event.level == "year":
        return rest & sets.days.year(value)
    if event.level == "month":
        return rest & sets.patterns.months((value,))
    return rest & sets.patterns.days_of_month((value,))
