"""Ids of tool calls."""

from agent_env.models.chat import unique_id


def test_many_calls_of_one_id_are_told_apart_at_once():
    """5,000 of them kept the run, or everybody whom a server served, for 21 s."""
    taken = set()
    for _ in range(20_000):
        taken.add(unique_id("a", taken, 0))
    assert len(taken) == 20_000
    assert {"a", "a_2", "a_49"} <= taken
