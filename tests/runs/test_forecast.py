"""The forecast of several runs that are not begun."""

import asyncio

from agent_env.episodes.calls.budget import RunLimits
from agent_env.runs.forecast import forecast_plan
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.start import check_run
from tests import TESTS

RUN = TESTS / "data/runs/puzzle"


def checked(model):
    options = RunOptions("time-puzzles", model=model, conditions=("base", "explicit"), limit=3)
    return asyncio.run(check_run(options, print))


def test_several_runs_are_compared_by_the_plan_and_earlier_runs_are_those_of_the_task():
    checks = {name: checked(name) for name in ("reference", "reference-static")}
    limits = RunLimits(tokens=1000)
    plan = forecast_plan(checks, (), print, ["explicit:base"], limits, models_at_once=True)
    assert [run.episodes for run in plan.runs] == [6, 6]
    assert [each.contrast for each in plan.differences] == [
        "reference explicit − reference base",
        "reference-static explicit − reference-static base",
    ]
    assert (plan.amounts.most_tokens, plan.amounts.most_s) == (1000, plan.runs[0].amounts.most_s)
    plan = forecast_plan(checks, (), print, ["web:base", "explicit:base"])
    assert len(plan.differences) == 2  # another task of the study has web
    plan = forecast_plan({"a": checked("reference")}, [RUN], print)
    assert plan.runs[0].conditions[0].basis == f"{RUN}, n = 1"
    basis = "guess: 30 % of pairs differ (no earlier run has explicit)"
    assert plan.differences[0].basis == basis
