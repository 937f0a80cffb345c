"""Three answers that take no thought; a good puzzle set gives them next to nothing.

One ignores the event and answers whatever the other facts allow. One draws a random value for the
event among those that the other facts allow. One always says that there is no such date. All
three know every other fact and every calendar, so that a model that cannot look events up scores
at most what they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from agent_env.families.time_puzzles.audit_solved import (
    common_days,
    few_days,
    solved,
    window_of,
    year_bounds,
)
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact, KbEvent
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import FactTables


@dataclass(frozen=True, slots=True)
class GuessRates:
    """Exact matches (Appendix B.1) of the three guessers over a set of puzzles."""

    puzzles: int
    ignore_event: int
    """Puzzles that the guesser without the event gets right."""
    random_value: float
    """Puzzles that a random value gets right, in the mean over all draws."""
    random_value_drawn: int
    """The same for one draw per puzzle."""
    always_none: int

    def as_json(self) -> dict[str, float]:
        """Mean exact match of each."""
        total = max(self.puzzles, 1)
        return {
            "ignore_event": self.ignore_event / total,
            "random_value": self.random_value / total,
            "random_value_drawn": self.random_value_drawn / total,
            "always_none": self.always_none / total,
        }


@dataclass(frozen=True, slots=True)
class Case:
    """What a guesser knows of one puzzle, and what would be right."""

    event: KbEvent | None
    rest: DaySet
    """The days that all facts but the event allow."""
    gold: DaySet | None
    """None where the gold holds what no answer can: a day out of range, or no date at all."""


def guess_rates(
    puzzles: Sequence[TimePuzzle], tables: FactTables, rng: Random | None = None
) -> GuessRates:
    """What the guessers get right of the puzzles' own gold; `rng` draws the random values."""
    sets = DaySets(common_days(puzzles), tables)
    return rates_of([case_of(puzzle, sets) for puzzle in puzzles], sets, rng or Random(0))


def rates_of(cases: Sequence[Case], sets: DaySets, rng: Random) -> GuessRates:
    """The same of cases whose rests are known already."""
    ignored = drawn = none = 0
    chance = 0.0
    for case in cases:
        ignored += case.rest == case.gold
        drawn += _draw(case, sets, rng) == case.gold
        chance += chance_of(case, sets)
        none += case.gold == 0
    return GuessRates(len(cases), ignored, chance, drawn, none)


def ignore_event(puzzle: TimePuzzle, sets: DaySets) -> tuple[str, ...]:
    """All days that satisfy every fact but the event."""
    return _texts(case_of(puzzle, sets).rest, sets)


def random_value(puzzle: TimePuzzle, sets: DaySets, rng: Random) -> tuple[str, ...]:
    """The answer if the event had a random value, among those that the other facts allow."""
    return _texts(_draw(case_of(puzzle, sets), sets, rng), sets)


def always_none(puzzle: TimePuzzle, sets: DaySets) -> tuple[str, ...]:
    """No date, whatever the puzzle."""
    return ()


def case_of(puzzle: TimePuzzle, sets: DaySets) -> Case:
    """The puzzle without its event; one that has none leaves nothing to be guessed."""
    window = window_of(year_bounds(puzzle), sets.days)
    event = event_of(puzzle.facts)
    others = [fact for fact in puzzle.facts if fact is not event]
    return Case(event, solved(others, window, sets).answer, gold_days(puzzle, sets))


def event_of(facts: Sequence[Fact]) -> KbEvent | None:
    """The event that has to be looked up."""
    return next((fact for fact in facts if isinstance(fact, KbEvent)), None)


def gold_days(puzzle: TimePuzzle, sets: DaySets) -> DaySet | None:
    """The stored gold as a day set; None where no day set can be it."""
    try:
        days = few_days(map(date.fromisoformat, puzzle.gold), sets.days)
    except ValueError:
        return None
    return days if days.bit_count() == len(puzzle.gold) else None


def chance_of(case: Case, sets: DaySets) -> float:
    """How likely a random value of the event gives the gold."""
    if case.gold is None:
        return 0.0
    if case.event is None or not case.rest:
        return float(case.rest == case.gold)
    if not case.gold:
        return 0.0
    first = sets.days.day((case.gold & -case.gold).bit_length() - 1)
    value = {"year": first.year, "month": first.month, "day": first.day}[case.event.level]
    if _having(case.event, value, case.rest, sets) != case.gold:
        return 0.0
    return 1 / len(_values(case.event, case.rest, sets))


def _draw(case: Case, sets: DaySets, rng: Random) -> DaySet:
    if case.event is None or not case.rest:
        return case.rest
    value = rng.choice(_values(case.event, case.rest, sets))
    return _having(case.event, value, case.rest, sets)


def _values(event: KbEvent, rest: DaySet, sets: DaySets) -> list[int]:
    """The years, months or days of the month that occur in the rest, of those an event shares."""
    if event.level == "year":
        return _years(rest, sets)
    numbers = range(1, 13) if event.level == "month" else range(1, 32)
    return [number for number in numbers if _having(event, number, rest, sets)]


def _having(event: KbEvent, value: int, rest: DaySet, sets: DaySets) -> DaySet:
    if event.level == "year":
        return rest & sets.days.year(value)
    if event.level == "month":
        return rest & sets.patterns.months((value,))
    return rest & sets.patterns.days_of_month((value,))


def _years(rest: DaySet, sets: DaySets) -> list[int]:
    """The years that have a day in the set: one search in its digits for each."""
    digits = f"{rest:b}"[::-1]
    found = []
    at = digits.find("1")
    while at != -1:
        year = sets.days.day(at).year
        found.append(year)
        at = digits.find("1", sets.days.index(date(year, 12, 31)) + 1)
    return found


def _texts(days: DaySet, sets: DaySets) -> tuple[str, ...]:
    return tuple(day.isoformat() for day in sets.days.dates(days))
