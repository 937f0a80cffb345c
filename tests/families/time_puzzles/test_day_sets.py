"""Day sets agree with a solver that shares nothing with them."""

from dataclasses import replace
from datetime import date
from random import Random

import pytest

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.candidates import Candidates
from agent_env.families.time_puzzles.day_sets import DaySets, Readings
from agent_env.families.time_puzzles.family import PuzzleOptions, make_set, set_options
from agent_env.families.time_puzzles.guarantees import Checker
from agent_env.families.time_puzzles.solver import solve as solve_sets
from agent_env.features.facts.tables.tables import EventRow
from agent_env.temporal.days import PUZZLE_DAYS, DayRange, PartialDate

from .brute_force import solve
from .by_hand import SETS, TABLES

SOME_YEARS = DayRange(date(1895, 1, 1), date(1904, 12, 31))
SOME_SETS = DaySets(SOME_YEARS, TABLES)


@pytest.mark.parametrize("seed", range(2))
def test_facts_of_every_category_hold_on_the_days_that_brute_force_finds(seed):
    rng = Random(seed)
    candidates = Candidates(TABLES, SOME_SETS)
    day = SOME_YEARS.day(rng.randrange(len(SOME_YEARS)))
    checked = []
    for kind in candidates.kinds.values():
        if not kind.domain >> SOME_YEARS.index(day) & 1:
            continue
        fact = rng.choice(kind.entries(day, rng)).fact
        expected = solve([fact.model_dump()], SOME_YEARS.first, SOME_YEARS.last)
        assert [d.isoformat() for d in SOME_YEARS.dates(SOME_SETS.of(fact))] == expected, fact
        checked.append(kind.name)
    assert len(checked) >= 13


def days_of(fact, year=None):
    days = SETS.of(fact) if year is None else SETS.of(fact) & SETS.days.year(year)
    return [day.isoformat() for day in SETS.days.dates(days)]


def test_weekdays_lives_and_open_ends():
    second = ft.WeekdayInMonth(direction="first", weekday="Friday", n=2)
    last = ft.WeekdayInMonth(direction="last", weekday="Monday", n=1)
    fifth = ft.WeekdayInMonth(direction="first", weekday="Sunday", n=5)
    assert days_of(second, 2026)[:3] == ["2026-01-09", "2026-02-13", "2026-03-13"]
    assert days_of(last, 2026)[:3] == ["2026-01-26", "2026-02-23", "2026-03-30"]
    assert days_of(fifth, 2026) == ["2026-03-29", "2026-05-31", "2026-08-30", "2026-11-29"]
    first = ft.WeekdayInYear(direction="first", weekday="Monday", n=1)
    last = ft.WeekdayInYear(direction="last", weekday="Thursday", n=53)
    for fact, year, days in (
        (first, 2026, ["2026-01-05"]),
        (last, 2026, ["2026-01-01"]),
        (ft.DayOfYear(day=366), 2024, ["2024-12-31"]),
        (ft.DayOfYear(day=366), 2026, []),
    ):
        assert days_of(fact, year) == days
    for fact, year, first, last in (
        (ft.LunarMonth(month=2), 2023, "2023-02-20", "2023-04-19"),  # 2023 had it twice
        (ft.PersonAlive(person="Albert Einstein"), None, "1879-03-15", "1955-04-17"),
        (ft.UsPresident(person="Donald Trump"), None, "2017-01-21", "2021-01-19"),
    ):
        days = days_of(fact, year)
        assert (days[0], days[-1]) == (first, last)
    assert len(days_of(ft.LunarMonth(month=2), 2023)) == 59
    olympics = ft.RecurringEvent(name="summer_olympics")
    assert (len(days_of(olympics, 2020)), len(days_of(olympics, 2021))) == (0, 365)
    days = days_of(ft.WesternZodiac(sign="Capricorn"), 2001)
    assert (days[0], days[18], days[19], days[-1]) == (
        "2001-01-01", "2001-01-19", "2001-12-22", "2001-12-31",
    )  # fmt: skip
    camp = EventRow("the camp", "", "", "", PartialDate(2019, 5, 1), None, (2019, 2020), "",
                    now=date(2021, 3, 1))  # fmt: skip
    sets = DaySets(PUZZLE_DAYS, replace(TABLES, events=(camp,)))
    trump = ft.UsPresident(person="Donald Trump")
    assert sets.open_end(trump) == PUZZLE_DAYS.span(date(2025, 1, 20), date(2050, 12, 31))
    assert not sets.of(trump) & sets.open_end(trump)
    assert sets.open_end(ft.UsPresident(person="Jimmy Carter")) == 0
    camping = ft.KbEvent(event="the camp", aspect="multi_year", level="year")
    assert sets.open_end(camping) == PUZZLE_DAYS.span(date(2022, 1, 1), date(2050, 12, 31))
    assert ("open_end", sets.of(camping) | sets.open_end(camping)) in Readings(sets).others(camping)
    # 2018-11-22 was the gold of such a puzzle, though 2026-10-22 may satisfy it as well.
    checker = Checker(SETS, TABLES)
    thursday = ft.WeekdayInMonth(direction="last", weekday="Thursday", n=2)
    years = PUZZLE_DAYS.year(2018) | PUZZLE_DAYS.year(2026)
    answer = SETS.of(trump) & SETS.of(thursday) & years
    assert checker.needs_open_end([trump, thursday], answer)
    assert not checker.needs_open_end([thursday], SETS.of(thursday))
    for seed in range(2):
        options = set_options(12, seed, PuzzleOptions(unchecked=True))
        for made in make_set(TABLES, options).puzzles:
            sets = [SETS.of(fact) | SETS.open_end(fact) for fact in made.facts]
            assert solve_sets(sets, PUZZLE_DAYS.everything).bit_count() == len(made.gold)
