"""Sets of puzzles that several tests draw."""

from __future__ import annotations

from agent_env.extensions.facts.tables.tables import FactTables
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.families.time_puzzles.sample import TimePuzzle


def generate(tables: FactTables, count: int, seed: int) -> tuple[TimePuzzle, ...]:
    """`count` puzzles of 4 to 6 facts and 1 to 6 solutions."""
    return make_set(tables, SetOptions(count, seed)).puzzles
