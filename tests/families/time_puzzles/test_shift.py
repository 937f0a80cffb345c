"""Shifted worlds of puzzles: the same words, another answer, the same guarantees."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from agent_env.families.time_puzzles.hooks import PuzzleFaults
from agent_env.families.time_puzzles.reference_lookups import read_prompt
from agent_env.families.time_puzzles.reference_sums import solve
from agent_env.families.time_puzzles.shift import moved_by_years, shifted_world, with_event
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.tasks.task import CannotShift
from agent_env.temporal.days import PartialDate
from tests.families.time_puzzles.sets import generate

TABLES = shipped_tables()


@cache
def texts():
    return {sheet.url: sheet.text for sheet in render_all(TABLES)}


def twin_of(puzzle, seed=1):
    world = shifted_world(puzzle, TABLES, Random(seed), texts().get)
    return type(puzzle).model_validate(puzzle.model_dump(mode="json") | world.sample)


def solved(constraints, years):
    first, last = years.split("-")
    span = f"Only dates from {first}-01-01 to {last}-12-31 count.\nConstraints:\n"
    prompt = read_prompt(span + "".join(f"- {text}\n" for text in constraints))
    assert not prompt.unread
    return tuple(solve(list(prompt.clauses), prompt.first, prompt.last))


def test_a_twin_has_its_own_gold_and_what_cannot_move_stays():
    puzzles = generate(TABLES, 8, seed=7)
    twins = [twin_of(puzzle) for puzzle in puzzles]
    finder = PuzzleFaults(TABLES)
    for puzzle, twin in zip(puzzles, twins, strict=True):
        assert (twin.id, twin.constraints) == (puzzle.id, puzzle.constraints)
        assert twin.explicit_constraints != puzzle.explicit_constraints
        assert set(twin.gold) != set(puzzle.gold)
        assert 1 <= len(twin.gold) == twin.solution_count <= 6
        assert not finder(twin, twin.gold).wrong
        for wrong in finder(twin, puzzle.gold).wrong:
            assert {puzzle.facts[ref.index].type for ref in wrong.violates} == {"kb_event"}
        assert solved(twin.explicit_constraints, twin.years) == twin.gold
    for twin in sorted(twins, key=lambda twin: len(str(twin.explicit_constraints)))[:3]:
        for at in range(len(twin.explicit_constraints)):
            rest = twin.explicit_constraints[:at] + twin.explicit_constraints[at + 1 :]
            assert solved(rest, twin.years) != twin.gold
    assert twin_of(puzzles[0]) == twins[0]
    assert twin_of(puzzles[0], seed=2) != twins[0]
    puzzle = puzzles[0]
    row = next(row for row in TABLES.events if row.event == puzzle.event)
    year = (row.start or PartialDate(row.years[0])).year if row.years or row.start else 0
    telling = with_event(TABLES, replace(row, summary=f"It was the talk of {year}."))
    others = replace(TABLES, events=tuple(r for r in TABLES.events if r.event != puzzle.event))
    for tables, pages, reason in (
        (telling, texts().get, f"its words state the year {year}"),
        (TABLES, lambda url: "something else", "the run's web has other pages of its event"),
        (others, texts().get, "the tables of the run do not have its event"),
    ):
        with pytest.raises(CannotShift, match=reason):
            shifted_world(puzzle, tables, Random(1), pages)
    row = replace(TABLES.events[0], start=PartialDate(1896, 2, 29), end=None)
    assert moved_by_years(row, 1) is None
    assert moved_by_years(replace(row, start=PartialDate(1896, 2, 28)), 1).start.year == 1897
