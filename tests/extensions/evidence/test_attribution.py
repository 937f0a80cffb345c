"""Which step turned an episode's outcome, from counts of forks."""

import random

import pytest

from agent_env.extensions.evidence.attribution import ForkCounts, attribution


def counts(*right, of=20):
    return [ForkCounts(kept, number, of) for kept, number in enumerate(right)]


def test_a_wrong_outcome_turned_where_the_share_of_right_ends_fell():
    result = attribution("e", False, ["a", "b", "c", "answer"], counts(18, 17, 1, 1))
    step = result.turning_point
    assert (step.step, step.before, step.after, step.change) == (2, 0.85, 0.05, pytest.approx(-0.8))
    assert step.change_interval == (
        pytest.approx(-0.906, abs=0.001),
        pytest.approx(-0.519, abs=0.001),
    )
    assert step.probability == pytest.approx(1.0, abs=0.001)
    assert result.table().notes[0].startswith("The outcome turned at step 2: -0.800 [-0.906")


def test_a_right_outcome_turned_where_it_rose_and_the_answer_itself_can_be_it():
    risen = attribution("e", True, ["a", "b", "answer"], counts(1, 19, 20))
    assert risen.turning_point.step == 1
    lucky = attribution("e", True, ["a", "b", "answer"], counts(1, 1, 1))
    assert (lucky.turning_point.step, lucky.turning_point.after) == (3, 1.0)


def test_no_step_is_named_where_none_stands_out():
    result = attribution("e", True, ["a", "answer"], counts(3, 3, of=3))
    assert result.table().notes[0].startswith("No step stands out")


def test_a_step_without_forks_makes_the_probabilities_unknown():
    lost = [ForkCounts(0, 5, 9), ForkCounts(1, 0, 0, failed=9)]
    result = attribution("e", False, ["a", "answer"], lost)
    assert [each.probability for each in result.steps] == [None, None]
    assert (result.turning_point, result.failed, result.steps[1].before) == (None, 9, None)
    assert "9 forks failed" in result.table().notes[-1]


def test_a_planted_step_is_found_in_nine_of_ten_episodes():
    """200 forks over 10 steps; the chance of a right end falls from 0.8 to 0.25 at step 6."""
    draw = random.Random(1)
    hits = 0
    for _ in range(60):
        chances = [0.8] * 6 + [0.25] * 4
        right = [sum(draw.random() < chance for _ in range(20)) for chance in chances]
        result = attribution("e", False, ["step"] * 10, counts(*right))
        hits += result.turning_point is not None and result.turning_point.step == 6
    assert hits >= 54
