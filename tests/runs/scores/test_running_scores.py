"""What a run's score and spending are while it goes on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_env.analysis.intervals import Estimate
from agent_env.records.schema import ModelFacts, Usage
from agent_env.runs.scores.running_scores import RunningMean, Spending, spending

PRICES = ModelFacts(input_per_million=1.0, output_per_million=2.0, date="2026-01-01", source="x")
VALUES = st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from([0.0, 1.0])), min_size=1)


@settings(max_examples=40)
@given(VALUES)
def test_the_interval_is_that_of_the_tables(values):
    running = RunningMean(can_be_share=True)
    for number, (cluster, value) in enumerate(values):
        running.add(cluster, f"s{number}", value)
    estimate = running.estimate
    assert estimate.value == pytest.approx(np.mean([value for _, value in values]))
    if len({cluster for cluster, _ in values}) > 1:
        whole = Estimate.of_mean(values, share=True)
        assert (estimate.low, estimate.high) == pytest.approx((whole.low, whole.high))
    else:
        assert estimate.low is None


def test_another_mean_has_its_interval_when_the_run_is_scored():
    running = RunningMean(can_be_share=True)
    for number, value in enumerate((0.1, 0.7, 0.5)):
        running.add("a", f"s{number}", value)
    found = running.estimate
    assert (found.value, found.low, found.samples) == (pytest.approx(1.3 / 3), None, 3)


def test_unknown_prices_and_counts_make_the_cost_unknown():
    told = Usage(input_tokens=1000, output_tokens=500, source="provider")
    guess = told.model_copy(update={"source": "estimate"})
    assert spending([told, told], PRICES) == Spending(3000, pytest.approx(0.004), False)
    assert spending([told, guess], PRICES) == Spending(3000, pytest.approx(0.004), True)
    assert spending([told, Usage()], PRICES) == Spending(1500, None, True)
    assert spending([], None) == Spending(0, None, False)
