"""When contrasts are decided, and how many false alarms that gives."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from agent_env.analysis.sequential.capital import Look
from agent_env.analysis.sequential.rule import SequentialTest, StoppingRule


def decide(rule: StoppingRule, values: Iterable[float]) -> SequentialTest:
    test = SequentialTest(rule)
    for value in values:
        test.look(0, Look(value))
        if test.is_decided(0):
            break
    return test


def test_a_difference_is_decided_as_soon_as_zero_is_refuted() -> None:
    verdict = decide(StoppingRule(), [1.0] * 30).verdict(0)
    assert (verdict.decision, verdict.stop) == ("difference", 8)


def test_equal_scores_are_none_larger_than_the_margin_and_undecided_without_one() -> None:
    with_margin = decide(StoppingRule(margin=0.2), [0.0] * 300).verdict(0)
    assert (with_margin.decision, with_margin.stop) == ("none larger", 26)
    assert decide(StoppingRule(), [0.0] * 300).verdict(0).decision == "undecided"


def test_the_second_of_two_contrasts_needs_less_once_the_first_is_decided() -> None:
    test = SequentialTest(StoppingRule(), (1.0, 1.0))
    for _ in range(8):
        test.look(1, Look(1.0))
    assert not test.is_decided(1)  # would do alone
    for _ in range(12):
        test.look(0, Look(1.0))
        if test.is_decided(0):
            break
    assert test.verdict(0).decision == test.verdict(1).decision == "difference"
    assert (test.verdict(0).stop, test.verdict(1).stop) == (10, 8)


def test_a_difference_of_differences_is_measured_in_its_own_unit() -> None:
    test = SequentialTest(StoppingRule(margin=0.2), (2.0,))
    assert test.evidence[0].margin == 0.1


def test_false_alarms_stay_below_five_percent_although_every_sample_is_looked_at() -> None:
    """Three kinds of null: ties, unequal spread, clusters' means; benchmarks/sequential.py has
    more of each."""
    rng = np.random.default_rng(1)
    alarms = 0
    for n in range(90):
        kinds = (
            rng.choice([-1.0, 0.0, 1.0], size=100, p=[0.15, 0.7, 0.15]),
            np.where(rng.random(100) < 0.25, 0.75, -0.25),
            rng.choice([-1.0, 0.0, 1.0], size=(100, 3)).mean(axis=1),
        )
        alarms += decide(StoppingRule(), kinds[n % 3]).is_decided(0)
    assert alarms <= 8
