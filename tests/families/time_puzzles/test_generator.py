"""Puzzles: as wished, reproducible, necessary, and right by an independent solver."""

from datetime import date
from itertools import islice

import pytest

from agent_env.families.time_puzzles.facts import KbEvent, category_of
from agent_env.families.time_puzzles.generator import schedule
from agent_env.features.facts.tables.tables import shipped_tables
from tests.families.time_puzzles.sets import generate

from .brute_force import solutions, solve

TABLES = shipped_tables()
FIRST, LAST = date(1800, 1, 1), date(2050, 12, 31)


@pytest.fixture(scope="module")
def puzzles():
    return generate(TABLES, 18, seed=7)


def facts_of(puzzle):
    return [fact.model_dump() for fact in puzzle.facts]


def test_puzzles_have_brute_forces_gold_and_need_each_fact(puzzles):
    for puzzle in puzzles[:8]:  # thousands: benchmarks/time_puzzles.py
        assert list(puzzle.gold) == solve(facts_of(puzzle), FIRST, LAST), puzzle.id
    for puzzle in puzzles[:2]:
        facts = facts_of(puzzle)
        for left_out in range(len(facts)):
            rest = facts[:left_out] + facts[left_out + 1 :]
            more = islice(solutions(rest, FIRST, LAST), len(puzzle.gold) + 1)
            assert len(list(more)) > len(puzzle.gold)
    for puzzle in puzzles:
        categories = [category_of(fact) for fact in puzzle.facts]
        assert len(set(categories)) == len(categories)
        assert sum(isinstance(fact, KbEvent) for fact in puzzle.facts) == 1
    assert all(puzzle.seed_date in puzzle.gold for puzzle in puzzles)
    for puzzle, shape in zip(puzzles, schedule(18, (4, 5, 6), (1, 2, 3, 4, 5, 6)), strict=True):
        assert (len(puzzle.facts), len(puzzle.gold)) == (shape.facts, shape.solutions)
    assert generate(TABLES, 3, seed=7) == puzzles[:3]
    for puzzle in puzzles:
        assert puzzle.checks.event_values >= 10
        assert puzzle.checks.event_bits >= 1
    names = [row.event for row in TABLES.events] + [row.person for row in TABLES.people]
    for puzzle in puzzles:
        text = " ".join(puzzle.explicit_constraints)
        assert not [name for name in names if name in text]
