"""Puzzles: as wished, reproducible, necessary, and right by an independent solver; of a measured
difficulty; with spans of calendar facts that make no other fact unnecessary."""

from datetime import date
from itertools import islice
from random import Random

import pytest

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.candidates import Entry
from agent_env.families.time_puzzles.difficulty import difficulty_of, parse_target
from agent_env.families.time_puzzles.family import PuzzleOptions, SetOptions, make_set, tables_of
from agent_env.families.time_puzzles.generator import schedule
from agent_env.families.time_puzzles.guarantees import SPANS, TooManySpans
from agent_env.families.time_puzzles.sample import Difficulty
from agent_env.families.time_puzzles.solver import rests_of, solve
from agent_env.temporal.days import PUZZLE_DAYS
from tests.families.time_puzzles.sets import generate

from . import brute_force
from .by_hand import SETS, SPELLED_OUT, TABLES

FIRST, LAST = date(1800, 1, 1), date(2050, 12, 31)


def test_puzzles_have_brute_forces_gold_and_need_each_fact():
    puzzles = generate(TABLES, 18, seed=7)
    facts = {puzzle.id: [fact.model_dump() for fact in puzzle.facts] for puzzle in puzzles}
    for puzzle in puzzles[:8]:  # thousands: benchmarks/time_puzzles.py
        assert list(puzzle.gold) == brute_force.solve(facts[puzzle.id], FIRST, LAST), puzzle.id
    for puzzle in puzzles[:2]:
        for left_out in facts[puzzle.id]:
            rest = [fact for fact in facts[puzzle.id] if fact is not left_out]
            more = islice(brute_force.solutions(rest, FIRST, LAST), len(puzzle.gold) + 1)
            assert len(list(more)) > len(puzzle.gold)
    names = [row.event for row in TABLES.events] + [row.person for row in TABLES.people]
    for puzzle, shape in zip(puzzles, schedule(18, (4, 5, 6), (1, 2, 3, 4, 5, 6)), strict=True):
        assert (len(puzzle.facts), len(puzzle.gold)) == (shape.facts, shape.solutions)
        assert len({ft.category_of(fact) for fact in puzzle.facts}) == len(puzzle.facts)
        assert sum(isinstance(fact, ft.KbEvent) for fact in puzzle.facts) == 1
        assert puzzle.seed_date in puzzle.gold
        assert puzzle.checks.event_values >= 10
        assert puzzle.checks.event_bits >= 1
        text = " ".join(puzzle.explicit_constraints)
        assert not [name for name in names if name in text]
    assert generate(TABLES, 3, seed=7) == puzzles[:3]


def test_difficulty_is_counted_fact_by_fact_and_asked_for():
    trafalgar = ft.KbEvent(event="the Battle of Trafalgar", aspect="start", level="day", value=21)
    facts = [trafalgar, ft.PersonAlive(person="Albert Einstein"), ft.LunarMonth(month=9),
             ft.Month(month=10), ft.ExplicitYear(year=1921)]  # fmt: skip
    entries = [Entry(fact, SETS.of(fact)) for fact in facts]
    measured = difficulty_of(entries, SETS.events, PUZZLE_DAYS.everything)
    assert measured == Difficulty(lookups=2, pages=3, hops=1, candidates=31)
    target = parse_target(["lookups=2", "hops=0-1", "candidates=10-9999"])
    options = SetOptions(count=4, seed=2, facts=(5,), solutions=(2, 4), target=target)
    puzzles = make_set(TABLES, options).puzzles
    assert len(puzzles) == 4
    assert all(p.difficulty is not None and target.admits(p.difficulty) for p in puzzles)
    events = [row.event for row in tables_of(PuzzleOptions(after="2022-09-30")).events]
    assert events == ["the Artemis I mission", "the men's football World Cup in Qatar"]


def listed(facts):
    sets = [SETS.of(fact) for fact in facts]
    rests, answer = rests_of(sets, PUZZLE_DAYS.everything), solve(sets, PUZZLE_DAYS.everything)
    return SPELLED_OUT.listed(facts, rests, answer, Random(1)), answer


DRAGON, LEAP_YEAR = ft.ChineseZodiac(animal="Dragon"), ft.ExplicitYear(year=2024)
FIRST_MONTH, IDES = ft.LunarMonth(month=1), ft.DayOfMonthSpecific(day=15)


@pytest.mark.parametrize(
    "facts",
    [
        [LEAP_YEAR, FIRST_MONTH, IDES],
        [LEAP_YEAR, DRAGON, IDES],
        [DRAGON, FIRST_MONTH, IDES],
        [ft.ExplicitYear(year=2025), DRAGON, ft.LunarMonth(month=6)],
    ],
    ids=["one calendar fact", "a span over two years", "two calendar facts", "no answer"],
)
def test_the_answer_is_the_same_and_every_fact_remains_necessary(facts):
    sets, answer = listed(facts)
    assert solve(sets, PUZZLE_DAYS.everything) == answer
    assert all(rest != answer for rest in rests_of(sets, PUZZLE_DAYS.everything))


def test_needed_spans_are_listed_with_decoys_up_to_24():
    (year, dragon), _ = listed([LEAP_YEAR, DRAGON])
    runs = PUZZLE_DAYS.runs(dragon)
    assert year == PUZZLE_DAYS.year(2024)
    assert len(runs) == SPANS
    assert set(runs) < set(PUZZLE_DAYS.runs(SETS.of(DRAGON)))
    assert [f"{low} {high}" for low, high in runs if low.year == 2024] == ["2024-02-10 2025-01-28"]
    with pytest.raises(TooManySpans, match="lunar_month takes 251 spans"):
        listed([FIRST_MONTH, IDES])
