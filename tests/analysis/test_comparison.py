"""Studies as a whole: planted effects are found, and what cannot be told is said in words."""

import json
import math
import warnings
from dataclasses import replace

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.result_tables import render
from agent_env.analysis.statistics import statistics_of, tables_of
from agent_env.analysis.statistics.reliability import pass_hat
from agent_env.errors import ConfigError
from agent_env.features.papers.time_puzzles.paper_tables import (
    exact_against_others,
    implicit_explicit,
)
from tests.analysis.simulated import Plant, study

FAST = Options()


@pytest.fixture(autouse=True)
def _no_warning():
    """A division by nothing would warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def compared(made, **options):
    return Comparison(made, replace(FAST, **options))


def rescored(made, value, label=None):
    """All episodes of the arm (or of all) with this score; None lets them fail."""

    def one(seen):
        if value is None:
            return replace(seen, outcome="failed", metrics={})
        return replace(seen, metrics=dict.fromkeys(made.metrics, value))

    arms = tuple(
        replace(arm, observations=tuple(map(one, arm.observations)))
        if label in (None, arm.label) else arm
        for arm in made.arms
    )  # fmt: skip
    return replace(made, arms=arms)


EFFECTS = {"base": 0.0, "web": 0.2, "python": 0.0, "web+python": 0.2, "explicit": 0.25}


@pytest.fixture(scope="module")
def planted():
    return study(Plant(samples=400, repeats=3, base=0.45), EFFECTS, ("m",), seed=5)


def test_planted_effects_are_found(planted):
    by_name = {c.name: c for c in compared(planted).contrasts}
    web, python = by_name["web − base"], by_name["python − base"]
    assert web.is_shown
    assert web.difference.low < 0.2 < web.difference.high
    assert not python.is_shown
    assert not by_name["web × python over base"].is_shown
    # Two episodes of a sample with chance p differ with 2p(1-p), about 0.49 here.
    one, two = (by_arm[0].value for by_arm in list(pass_hat(compared(planted)).values())[:2])
    assert 2 * (one - two) == pytest.approx(0.49, abs=0.05)


def test_arms_are_compared_as_planned_and_else_exploratory():
    made = study(Plant(samples=30), {"base": 0.0, "web": 0.1}, ("a", "b"), seed=1)
    assert [c.name for c in compared(made).contrasts] == [
        "a web − a base", "b web − b base", "b base − a base", "b web − a web",
    ]  # fmt: skip
    names = [c.name for c in compared(made, baseline="b web").contrasts]
    assert names == ["a base − b web", "a web − b web", "b base − b web"]
    names = [c.name for c in compared(made, baseline="web").contrasts]
    assert names == ["a base − a web", "b base − b web"]
    made = study(Plant(samples=20), {"base": 0.0, "web": 0.1, "python": 0.1}, ("m",), seed=1)
    plans = compared(made, baseline="web", planned=("python:web", "web:base")).plans
    assert [(each.name, each.is_exploratory) for each in plans] == [
        ("base − web", True), ("python − web", False),
    ]  # fmt: skip
    planned = compared(made, planned=("python:web", "cal:base")).plans
    assert [(each.name, each.is_exploratory) for each in planned] == [("python − web", False)]


def test_failures_and_unknown_names_are_told(planted):
    made = study(Plant(samples=40), {"base": 0.0, "web": 0.1}, ("m",), seed=1)
    comparison = compared(rescored(made, None, "web"))
    assert comparison.means["exact_match"][1].value is None
    assert (comparison.of_all[1].value, comparison.contrasts[0].unpaired) == (0.0, 40)
    with pytest.raises(ConfigError, match="known: exact_match, f1, jaccard"):
        compared(planted, metric="accuracy")
    with pytest.raises(ConfigError, match="known: base, web"):
        _ = compared(planted, baseline="nothing").contrasts
    with pytest.raises(ConfigError, match="no group 'age'"):
        compared(planted).by_group("age", "f1")


@pytest.mark.parametrize("samples", [1, 2, 30])
@pytest.mark.parametrize("value", [None, 0.0, 1.0])
def test_every_table_can_be_written_for_poor_studies(samples, value):
    """No NaN reaches a file (JSON refuses it), no warning is raised."""
    made = study(Plant(samples=samples, repeats=2), EFFECTS, ("a", "b", "c"), seed=1)
    poor = compared(rescored(made, value))
    tables = tables_of(poor, statistics_of(poor))
    papers = (*implicit_explicit(poor), *exact_against_others(poor))
    assert not any(math.isnan(end or 0) for each in papers for end in each.estimate.cell)
    for to in ("md", "csv", "latex"):
        assert "nan" not in render(tables, to).lower()
    assert json.loads(render(tables, "json"))["conditions"]["rows"]
