"""Every form of a constraint text means the days that a plain test of each day finds, and both
wordings of a puzzle mean the same days."""

import re
from datetime import date
from functools import partial

import pytest
from lunar_python import Solar

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.meta_entries import FACTS
from agent_env.families.time_puzzles.reference_lookups import Lookup, read_constraint, read_prompt
from agent_env.families.time_puzzles.reference_sums import solve
from agent_env.families.time_puzzles.task import PROMPTS, fields
from agent_env.families.time_puzzles.texts import _FORMS, compile_text
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.audit.audit_texts import MeaningDays, StatedEvent
from agent_env.features.facts.tables.tables import EventRow, FactTables, LifeRow, TermRow
from agent_env.tasks.conditions import parse_condition
from agent_env.temporal.days import PUZZLE_DAYS, DayRange, PartialDate
from tests.families.time_puzzles.sets import generate
from tests.slow_patterns import slow_attack
from tests.tables import tables

from . import brute_force
from .by_hand import TABLES as SHIPPED
from .by_hand import WORDING

CASES = tables(__file__)

DAYS = DayRange(date(1875, 1, 1), date(2040, 12, 31))
EVERY_DAY = [DAYS.day(index) for index in range(len(DAYS))]
OFFICE = "Ada Byron was the Director of the Office of Weather"
LIFE = date(1879, 3, 14), date(1955, 4, 18)
CLEVELAND = (date(1885, 3, 4), date(1889, 3, 4)), (date(1893, 3, 4), date(1897, 3, 4))
TABLES = FactTables(
    events=(
        EventRow(OFFICE, "office", "", "", PartialDate(1931, 5, 9), PartialDate(1934, 2, 28), (),
                 ""),
        EventRow("the Siege of Nowhere", "siege", "", "", PartialDate(1900, 11),
                 PartialDate(1901), (), ""),
        EventRow("the Summer Olympic Games took place in France", "games", "", "", None, None,
                 (1900, 1924, 2024), ""),
    ),
    people=(LifeRow("Albert Einstein", "", *LIFE, ""),),
    presidents=(
        TermRow("Grover Cleveland", *CLEVELAND[0], ""),
        TermRow("Harry S. Truman", date(1945, 4, 12), date(1953, 1, 20), ""),
        TermRow("Grover Cleveland", *CLEVELAND[1], ""),
    ),
)  # fmt: skip
SETS = DaySets(DAYS, TABLES)
MEANINGS = MeaningDays(SETS)


def between(*spans):
    return lambda day: any(first <= day <= last for first, last in spans)


def inside(*spans):
    return lambda day: any(first < day < last for first, last in spans)


PUBLISHED = [
    *((text, partial(brute_force.holds, fact=fact)) for text, fact in CASES["facts"]),
    ("The date is between March 14, 1879 and April 18, 1955.", between(LIFE)),
    ("The date is between 1879-03-14 and 1955-04-18, ends not counted.", inside(LIFE)),
    ("Grover Cleveland is the President of the United States.", inside(*CLEVELAND)),
    ("The date is between March 4, 1885 and March 4, 1889, or between March 4, 1893 and March "
     "4, 1897.", between(*CLEVELAND)),
    ("The year satisfies year % 4 == 0, year >= 1896, and is not 1916, 1940, or 1944.",
     lambda d: d.year % 4 == 0 and d.year >= 1896 and d.year not in (1916, 1940, 1944)),
    ("The year satisfies year % 4 == 2, year >= 1930, and is not 1942 or 1946.",
     lambda d: d.year % 4 == 2 and d.year >= 1930 and d.year not in (1942, 1946)),
    ("The year satisfies year % 3 == 1 and year < 1950.",
     lambda d: d.year % 3 == 1 and d.year < 1950),
    ("The year is not 1916 or 1940-1944.", lambda d: d.year not in (1916, *range(1940, 1945))),
    ("The year is 1908, 1948, or 2012.", lambda d: d.year in (1908, 1948, 2012)),
    ("The year is one of 1908, 1948–1950.", lambda d: d.year in (1908, 1948, 1949, 1950)),
    (f"It is the same year as the first day that {OFFICE}.", lambda d: d.year == 1931),
    (f"It is the same month as the last day that {OFFICE}.", lambda d: d.month == 2),
    (f"It is the same day as the first day that {OFFICE}.", lambda d: d.day == 9),
    (f"It is a year in which {OFFICE}.", lambda d: 1931 <= d.year <= 1934),
    ("It is a year in which the Summer Olympic Games took place in France.",
     lambda d: d.year in (1900, 1924, 2024)),
    ("It is the same month as the first day of the Siege of Nowhere.", lambda d: d.month == 11),
    ("It is a year in which Albert Einstein was alive.", lambda d: 1879 <= d.year <= 1955),
    ("It is the same day as the last day that Albert Einstein was alive.", lambda d: d.day == 18),
    ("It is the same year as the first day that Harry S. Truman was the President of the United "
     "States.", lambda d: d.year == 1945),
]  # fmt: skip
"""The forms of the published texts, implicit and explicit, and a few of their kin."""


@pytest.mark.parametrize(("text", "holds"), PUBLISHED, ids=[text for text, _ in PUBLISHED])
def test_a_published_form_means_its_days_to_both_readers(text, holds):
    assert MEANINGS.of(compile_text(text)) == DAYS.those(filter(holds, EVERY_DAY))
    # Its program runs in a sandbox and shares no code with the day sets.
    clause = read_constraint(text)
    for year in (1886, 1896, 1916, 1949, 1982, 2024) if not isinstance(clause, Lookup) else ():
        dates = solve([clause or []], f"{year}-01-01", f"{year}-12-31")
        assert dates == [str(day) for day in EVERY_DAY if day.year == year and holds(day)]


@pytest.mark.parametrize("text", CASES["lunar_month_5"])
def test_a_lunar_month_may_be_worded_in_several_ways(text):
    assert compile_text(text) == ft.LunarMonth(month=5)


def test_lunar_texts_and_events_of_ones_own():
    days = DayRange(date(2020, 1, 1), date(2020, 12, 31))
    meanings = MeaningDays(DaySets(days, TABLES))
    every_day = [days.day(index) for index in range(len(days))]
    lunar = {d: Solar.fromYmd(d.year, d.month, d.day).getLunar() for d in every_day}
    for text, holds in (
        ("It is lunar month 4.", lambda d: abs(lunar[d].getMonth()) == 4),
        ("It is the year of the Rat.", lambda d: lunar[d].getYearShengXiao() == "鼠"),
        ("It is the 14th month of the Chinese lunar calendar.", lambda d: False),
    ):
        assert meanings.of(compile_text(text)) == days.those(filter(holds, every_day))
    fact = ft.KbEvent(event="Nils Nemo sang", aspect="start", level="year", value=1999)
    stated = StatedEvent(fact, SETS.of(fact))
    for edge, days in (("first", DAYS.year(1999)), ("last", None)):
        meaning = compile_text(f"It is the same year as the {edge} day that Nils Nemo sang.")
        assert MEANINGS.of(meaning, stated) == days
    meaning = compile_text("The date is between March 14, 1879 and April 18, 1955.")
    boundary_days = DAYS.those(filter(inside(LIFE), EVERY_DAY))
    assert list(MEANINGS.others(meaning)) == [("boundary_days", boundary_days)]


@pytest.mark.parametrize("text", [*CASES["unread"], "It is Monday" + " or Monday" * 200])
def test_a_text_that_is_not_understood_to_its_last_word_is_unread(text):
    assert compile_text(text) is None


@pytest.mark.parametrize("text", CASES["unknown"])
def test_a_name_or_a_precision_that_no_table_has_gives_no_days(text):
    assert MEANINGS.of(compile_text(text)) is None


OWN_FACTS = (
    ft.ExplicitYear(year=1982), ft.Decade(decade=1990), ft.YearRange(start=1990, end=1995),
    ft.LeapYear(), ft.ChineseZodiac(animal="Goat"), ft.PersonAlive(person="Albert Einstein"),
    ft.UsPresident(person="Harry S. Truman"), ft.RecurringEvent(name="summer_olympics"),
    ft.RecurringEvent(name="world_cup"), ft.Month(month=5), ft.Season(season="autumn"),
    ft.LunarMonth(month=12), ft.WesternZodiac(sign="Capricorn"),
    ft.WeekdayInMonth(direction="last", weekday="Friday", n=2),
    ft.WeekdayInMonth(direction="last", weekday="Friday", n=1), ft.DayOfMonthSpecific(day=31),
    ft.FirstDayOfMonth(), ft.LastDayOfMonth(), ft.DayOfMonthRange(operator=">", value=20),
    ft.OnWeekday(weekday="Monday"), ft.MultiWeekday(value=("Monday", "Sunday")),
    ft.DayOfYear(day=200), ft.WeekdayInYear(direction="first", weekday="Tuesday", n=10),
    ft.CalendarMonth(calendar="islamic", month=9), ft.CalendarMonth(calendar="hebrew", month=13),
    ft.CalendarMonth(calendar="indian-civil", month=1), ft.JapaneseEra(era="Showa"),
    ft.ChurchDay(name="Good Friday"), ft.SolarTerm(name="Qingming"),
)  # fmt: skip


def test_our_own_texts_mean_their_facts_and_none_is_slow():
    of_a_day = {"kb_event", "relative"}  # the latter are read in test_present
    assert {fact.type for fact in OWN_FACTS} == set(FACTS) - of_a_day
    wording = Wording(TABLES, SETS)
    for fact in OWN_FACTS:
        assert compile_text(wording.implicit(fact)) == fact
    forms = [re.compile(pattern, re.I) for pattern, _, _ in _FORMS]
    assert [f.pattern for f in forms if slow_attack("form", f, {"fullmatch"})] == []


def test_explicit_wordings_have_the_gold_and_list_spans():
    for puzzle in generate(SHIPPED, 12, seed=3):
        asked = read_prompt(
            PROMPTS["default"].format(**fields(puzzle, parse_condition("explicit")))
        )
        assert (*asked.lookups, *asked.unread) == ()
        assert tuple(solve(list(asked.clauses), asked.first, asked.last)) == puzzle.gold
    spring = {date(2024, 2, day) for day in range(10, 30)} | {date(2026, 2, 17)}
    text = WORDING.explicit(ft.LunarMonth(month=1), PUZZLE_DAYS.those(spring))
    assert text == (
        "The date is in one of these periods (inclusive): "
        "2024-02-10 to 2024-02-29; 2026-02-17 to 2026-02-17."
    )


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (ft.KbEvent(event="x", aspect="end", level="month", value=6), "The month is June."),
        (ft.YearRange(start=1990, end=1995), "The year is between 1990 and 1995, inclusive."),
        (ft.DayOfMonthRange(operator=">", value=20), "The date is after the 20th of the month."),
        (
            ft.WeekdayInMonth(direction="last", weekday="Friday", n=2),
            "The date is the 2nd-to-last Friday of the month.",
        ),
        (ft.MultiWeekday(value=("Monday", "Friday")), "The date is a Monday or a Friday."),
    ],
)
def test_explicit_texts(fact, text):
    assert WORDING.explicit(fact, PUZZLE_DAYS.everything) == text
