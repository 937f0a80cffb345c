"""Measured difficulty, and puzzles of a wanted one."""

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.candidates import Entry
from agent_env.families.time_puzzles.difficulty import difficulty_of, parse_target
from agent_env.families.time_puzzles.family import PuzzleOptions, SetOptions, make_set, tables_of
from agent_env.families.time_puzzles.sample import Difficulty
from agent_env.temporal.days import PUZZLE_DAYS

from .by_hand import SETS, TABLES

TRAFALGAR = ft.KbEvent(event="the Battle of Trafalgar", aspect="start", level="day", value=21)


def test_difficulty_is_counted_fact_by_fact_and_asked_for():
    facts = [TRAFALGAR, ft.PersonAlive(person="Albert Einstein"), ft.LunarMonth(month=9),
             ft.Month(month=10), ft.ExplicitYear(year=1921)]  # fmt: skip
    entries = [Entry(fact, SETS.of(fact)) for fact in facts]
    measured = difficulty_of(entries, SETS.events, PUZZLE_DAYS.everything)
    assert measured == Difficulty(lookups=2, pages=3, hops=1, candidates=31)
    target = parse_target(["lookups=2", "hops=0-1", "candidates=10-9999"])
    options = SetOptions(count=4, seed=2, facts=(5,), solutions=(2, 4), target=target)
    puzzles = make_set(TABLES, options).puzzles
    assert len(puzzles) == 4
    assert all(p.difficulty is not None and target.admits(p.difficulty) for p in puzzles)
    tables = tables_of(PuzzleOptions(after="2022-09-30"))
    assert [row.event for row in tables.events] == [
        "the Artemis I mission",
        "the men's football World Cup in Qatar",
    ]
