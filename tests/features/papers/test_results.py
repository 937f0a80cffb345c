"""The verdict on a value of ours beside the paper's."""

import pytest

from agent_env.analysis.intervals import Estimate
from agent_env.features.papers.paper import Experiment, Quantity
from agent_env.features.papers.results import comparison_rows
from agent_env.sdk.results import Measurement

EM = Quantity("EM")


def row(ours, paper, reason="", theirs=None, **more):
    theirs = theirs and {("m", "", "EM"): Estimate(theirs, 10.0, 90.0, "Wilson", 10)}
    experiment = Experiment("t", "", (EM,), {"GPT": (paper,)})
    measured = [("", Measurement("m", "EM", ours, **more))]
    (own,) = comparison_rows(measured, experiment, {"m": "GPT"}, lambda each: reason, theirs or {})
    return own


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (49.34, 40.0, 60.0, "equal to the printed digit"),
        (49.36, 40.0, 60.0, "inside the sampling interval"),
        (30.0, 20.0, 40.0, "outside the sampling interval"),
        (49.3, None, None, "equal to the printed digit"),
        (50.0, None, None, "not comparable: another value, and ours has no interval (a count)"),
    ],
)
def test_a_value_is_equal_or_inside_or_outside(value, low, high, verdict):
    ours = Estimate(value, low, high, "a count" if low is None else "")
    assert row(ours, 49.3).verdict == verdict


def test_verdicts_are_over_the_same_questions():
    ours, wide = Estimate(49.3, 40.0, 60.0), Estimate(20.0, 10.0, 30.0)
    other = "60 questions, the paper's are 600"
    assert row(ours, 49.3, reason=other).verdict == f"not comparable: {other}"
    assert row(ours, 49.3, incomparable="a part").verdict == "not comparable: a part"
    assert row(ours, None, reason="60 questions").verdict == "the paper prints no value"
    own = row(wide, 49.3, theirs=49.3)
    assert (own.verdict, own.ours.value) == ("equal to the printed digit", 20.0)
    ours = [(gold, Measurement("m", "EM", wide)) for gold in ("published", "corrected")]
    theirs = {("m", "", "EM"): Estimate(30.0, 20.0, 40.0)}
    first, second = comparison_rows(ours, Experiment("t", "", (EM,)), {}, lambda each: "", theirs)
    assert (first.theirs is None, second.theirs) == (False, None)
