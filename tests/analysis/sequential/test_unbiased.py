"""The estimate after a test that stopped early."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from agent_env.analysis.sequential.capital import Look
from agent_env.analysis.sequential.rule import SequentialTest, StoppingRule
from agent_env.analysis.sequential.unbiased import mean_after_stopping

THRESHOLD = log(20)


def test_the_mean_of_a_test_that_could_not_stop_is_the_plain_one() -> None:
    looks = [Look(value) for value in (1.0, 0.0, 0.0, -1.0, 1.0)]
    assert mean_after_stopping(looks, None, THRESHOLD) == pytest.approx(0.2, abs=1e-9)


def test_it_is_the_mean_of_the_first_look_over_the_orders_that_do_not_stop_before() -> None:
    """Eight gains stop the test; so of the eleven places of the loss the last three are out."""
    looks = [Look(1.0)] * 5 + [Look(-1.0)] + [Look(1.0)] * 5
    exact = (1 * -1 + 7 * 1) / 8
    assert mean_after_stopping(looks, None, THRESHOLD) == pytest.approx(exact, abs=0.05)


def test_a_lucky_start_does_not_raise_it() -> None:
    """The bias of 80 runs with a true difference of 0.3; the plain mean is 0.05 too high."""
    rng = np.random.default_rng(5)
    estimates, plain = [], []
    for _ in range(80):
        test = SequentialTest(StoppingRule())
        while not test.is_decided(0):
            test.look(0, Look(float(rng.choice([1.0, 0.0, -1.0], p=[0.4, 0.5, 0.1]))))
        verdict = test.verdict(0)
        looks = test.evidence[0].looks[: verdict.stop]
        plain.append(np.mean([look.value for look in looks]))
        estimates.append(mean_after_stopping(looks, None, verdict.threshold, orders=60))
    assert np.mean(plain) - 0.3 > 0.02
    assert abs(np.mean(estimates) - 0.3) < 0.03
