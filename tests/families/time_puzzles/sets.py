"""Sets of puzzles that several tests draw."""

from agent_env.families.time_puzzles.family import SetOptions, make_set


def generate(tables, count, seed):
    """`count` puzzles of 4 to 6 facts and 1 to 6 solutions."""
    return make_set(tables, SetOptions(count, seed)).puzzles
