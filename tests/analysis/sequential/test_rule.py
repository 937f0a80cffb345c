"""When contrasts are decided, and how many false alarms that gives."""

import numpy as np

from agent_env.analysis.sequential.betting import Look, plain
from agent_env.analysis.sequential.expected import ends
from agent_env.analysis.sequential.rule import SequentialTest, StoppingRule
from agent_env.analysis.sequential.walk import look_order


def decide(rule, values):
    test = SequentialTest(rule, [plain(len(values))])
    for value in values:
        test.look(0, Look(value))
        if test.is_decided(0):
            break
    return test


def test_a_difference_is_decided_as_soon_as_zero_is_refuted():
    verdict = decide(StoppingRule(), [1.0] * 30).verdict(0)
    assert (verdict.decision, verdict.stop) == ("difference", 6)


def test_equal_scores_are_none_larger_than_the_margin_and_undecided_without_one():
    with_margin = decide(StoppingRule(margin=0.2), [0.0] * 300).verdict(0)
    assert (with_margin.decision, with_margin.stop) == ("none larger", 24)
    assert decide(StoppingRule(), [0.0] * 300).verdict(0).decision == "undecided"


def test_the_second_of_two_contrasts_needs_less_once_the_first_is_decided():
    test = SequentialTest(StoppingRule(), [plain(40)], (1.0, 1.0))
    while test.verdict(1).threshold > max(test.evidence[1].difference, default=0) + 0.6:
        test.look(1, Look(1.0))
    assert not test.is_decided(1)
    while not test.is_decided(0):
        test.look(0, Look(1.0))
    assert test.verdict(0).threshold > test.verdict(1).threshold
    assert test.verdict(0).decision == test.verdict(1).decision == "difference"


def test_false_alarms_stay_below_five_percent_although_every_sample_is_looked_at():
    """Three kinds of null: ties, unequal spread, clusters' means; benchmarks/sequential.py has
    more of each."""
    rng = np.random.default_rng(1)
    nulls = (
        rng.choice([-1.0, 0.0, 1.0], size=(3000, 100), p=[0.15, 0.7, 0.15]),
        np.where(rng.random((3000, 100)) < 0.25, 0.75, -0.25),
        rng.choice([-1.0, 0.0, 1.0], size=(3000, 100, 3)).mean(axis=2),
    )
    order = look_order([f"q{n}" for n in range(100)], 1)
    for values in nulls:
        assert np.mean([end <= 100 for end in ends(values, order, 0.05)]) <= 0.05
