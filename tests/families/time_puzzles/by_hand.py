"""Puzzles put together fact by fact, with their gold from day sets."""

from random import Random

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.guarantees import SpelledOut
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve_facts
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.temporal.days import PUZZLE_DAYS

TABLES = shipped_tables()
SETS = DaySets(PUZZLE_DAYS, TABLES)
WORDING = Wording(TABLES, SETS)
SPELLED_OUT = SpelledOut(SETS)

WATERLOO = ft.KbEvent(event="the Battle of Waterloo", aspect="start", level="year", value=1815)
AUSTERLITZ = ft.KbEvent(event="the Battle of Austerlitz", aspect="start", level="day", value=2)
VICTORIA = ft.KbEvent(
    event="Queen Victoria's reign over the United Kingdom", aspect="start", level="day", value=20
)
FRANZ_JOSEPH = ft.KbEvent(
    event="Franz Joseph's reign as Emperor of Austria", aspect="start", level="year", value=1848
)
FIRST_MONDAY = ft.WeekdayInMonth(direction="first", weekday="Monday", n=1)
LONDON = ft.KbEvent(event="a Summer Olympics held in London", aspect="multi_year", level="year")


def by_hand(name, *facts):
    """A puzzle of these facts in our own wording."""
    found = solve_facts(facts, PUZZLE_DAYS.everything, SETS)
    gold = tuple(str(day) for day in PUZZLE_DAYS.dates(found.answer))
    pairs = zip(facts, SPELLED_OUT.listed(facts, found.rests, found.answer, Random(1)), strict=True)
    return TimePuzzle(
        id=name,
        gold=gold,
        constraints=tuple(WORDING.implicit(fact) for fact in facts),
        explicit_constraints=tuple(WORDING.explicit(fact, days) for fact, days in pairs),
        facts=facts,
        solution_count=len(gold),
        fact_count=len(facts),
    )


GOOD = (
    by_hand("waterloo", WATERLOO, ft.Month(month=6), ft.DayOfMonthSpecific(day=18)),
    by_hand("lunar", FRANZ_JOSEPH, ft.LunarMonth(month=6), ft.DayOfMonthSpecific(day=20)),
    by_hand(
        "london",
        LONDON,
        ft.Month(month=7),
        ft.WeekdayInMonth(direction="first", weekday="Monday", n=1),
    ),
    by_hand("carter", AUSTERLITZ, ft.UsPresident(person="Jimmy Carter"), ft.Month(month=3)),
)
"""Right in every respect; gold 1815-06-18 · 1848-07-20 · 1908-07-06, 1948-07-05, 2012-07-02 ·
2 March of 1977 to 1980."""
