"""Puzzles with a span that is counted from the present day: last year, the three weeks before
today, the term of the present US president. Their gold is a function of the day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from random import Random
from typing import Any

from pydantic import JsonValue, TypeAdapter

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve_facts, year_bounds
from agent_env.families.time_puzzles.wording import Wording, plain_sentence
from agent_env.features.facts.tables.tables import FactTables
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import CannotShift
from agent_env.temporal.days import DayRange

PRESENT = "2025-12-31"
"""The day on which a puzzle has its number of solutions; a run asks it on the days of --today."""
MOST_DATES = 31
TRIES = 400
"""Draws for one puzzle."""
_FACT: TypeAdapter[ft.Fact] = TypeAdapter(ft.Fact)
SPANS: tuple[tuple[str, Sequence[int]], ...] = (
    ("year", (0, 1, 2)), ("month", (0, 1, 2)), ("week", (1,)), ("weeks", range(2, 9)),
    ("president", (0, 1)),
)  # fmt: skip


def draw_puzzles(
    count: int, seed: int, solutions: Sequence[int], days: DayRange, tables: FactTables
) -> tuple[tuple[TimePuzzle, ...], tuple[str, ...]]:
    """The puzzles in order, and why others are missing: one span that is counted from the day, and
    one to three facts of the calendar, all of them necessary, with as many solutions in the
    present. ConfigError where that is not among the days."""
    if date.fromisoformat(PRESENT) not in days:
        years = f"{days.first.year}-{days.last.year}"
        raise ConfigError(f"--option present: today is {PRESENT}, which years={years} leaves out")
    sets = DaySets(days, tables)
    wording = Wording(tables, sets)
    puzzles: dict[str, TimePuzzle] = {}
    missing: list[str] = []
    for number in range(1, count + 1):
        rng, name = Random(f"{seed}/present/{number}"), f"tp-{seed}-{number:05d}"
        size = solutions[(number - 1) % len(solutions)]
        draws = (_draw(rng) for _ in range(TRIES))
        candidates = (_puzzle(name, facts, sets, wording, size) for facts in draws)
        puzzle = next((p for p in candidates if p is not None and p.digest not in puzzles), None)
        if puzzle is None:
            missing.append(f"puzzle {number}: none with {size} solutions in {TRIES} draws")
        else:
            puzzles[puzzle.digest] = puzzle
    return tuple(puzzles.values()), tuple(missing)


def _draw(rng: Random) -> list[ft.Fact]:
    unit, numbers = rng.choice(SPANS)
    relative = {"type": "relative", "unit": unit, "back": rng.choice(numbers), "today": PRESENT}
    return [_FACT.validate_python(each) for each in (relative, *_plain(rng))]


def _plain(rng: Random) -> list[dict[str, Any]]:
    """One to three facts of the calendar, of different groups."""
    one, other = rng.sample(ft.WEEKDAYS, 2)
    nth = {"direction": rng.choice(("first", "last")), "weekday": one, "n": rng.randint(1, 3)}
    limit = {"operator": rng.choice("<>"), "value": rng.randint(5, 25)}
    groups: list[tuple[dict[str, Any], ...]] = [
        (
            {"type": "month", "month": rng.randint(1, 12)},
            {"type": "season", "season": rng.choice([*ft.SEASONS])},
        ),
        (
            {"type": "weekday", "weekday": one},
            {"type": "multi_weekday", "value": [one, other]},
            {"type": "weekday_in_month", **nth},
        ),
        (
            {"type": "day_of_month_specific", "day": rng.randint(1, 28)},
            {"type": "day_of_month", **limit},
            {"type": "last_day_of_month"},
        ),
        ({"type": "leap_year"},),
    ]
    return [rng.choice(group) for group in rng.sample(groups, rng.randint(1, 3))]


def _puzzle(
    name: str, facts: Sequence[ft.Fact], sets: DaySets, wording: Wording, solutions: int
) -> TimePuzzle | None:
    """None where the facts have another number of solutions, or are one too many."""
    solved = solve_facts(facts, sets.days.everything, sets)
    if solved.answer.bit_count() != solutions or any(r == solved.answer for r in solved.rests):
        return None
    return TimePuzzle(id=name, **wording.fields(facts, solved.answer, solved.sets))


def on_day(
    puzzle: TimePuzzle, day: date, tables: Callable[[], FactTables]
) -> Mapping[str, JsonValue]:
    """The fields of such a puzzle that are others on the day. CannotShift where the day is not one
    of its years, or it has too many dates."""
    first, last = year_bounds(puzzle)
    if not first + 10 <= day.year <= last:
        raise CannotShift(f"they are about the years {puzzle.years}, and {day} is too near an end")
    facts = [
        fact.model_copy(update={"today": str(day)}) if isinstance(fact, ft.Relative) else fact
        for fact in puzzle.facts
    ]
    sets, wording = solver(tables(), first, last)
    try:
        answer = solve_facts(facts, sets.days.everything, sets).answer
    except KeyError as exc:
        raise CannotShift(f"there was no such president on {day}") from exc
    gold = list(map(str, sets.days.dates(answer)))
    if len(gold) > MOST_DATES:
        raise CannotShift(f"more than {MOST_DATES} dates fit on {day}")
    return {
        "facts": [fact.model_dump(mode="json") for fact in facts],
        "explicit_constraints": [wording.explicit(fact, sets.of(fact)) for fact in facts],
        "gold": [*gold],
        "solution_count": len(gold),
    }


@lru_cache(maxsize=1)
def relative_sentences() -> Mapping[str, ft.Relative]:
    """The spans that are counted from a day, by their sentences; of no day."""
    facts = [
        ft.Relative.model_validate({"unit": unit, "back": back, "today": ""})
        for unit, numbers in SPANS
        for back in numbers
    ]
    return {plain_sentence(fact): fact for fact in facts}


@lru_cache(maxsize=4)
def solver(tables: FactTables, first: int, last: int) -> tuple[DaySets, Wording]:
    sets = DaySets(DayRange.of_years(first, last), tables)
    return sets, Wording(tables, sets)
