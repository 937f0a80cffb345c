"""The table of days: what an answer follows, and how old it is."""

from dataclasses import replace

import pytest

from agent_env.analysis.comparison import Comparison
from agent_env.features.clock.tables import clock
from agent_env.records.schema import Sample
from tests.analysis.studies import study_of
from tests.ended import scored as pair

DAYS = ("1995-06-01", "2015-06-01")


def study(answers, said=False, looked=0.0):
    """One run on two days; `answers` gives by sample from when to when what it said was right."""
    conditions = [f"base~on-{day}" for day in DAYS]
    scored = []
    for condition, day in zip(conditions, DAYS, strict=True):
        for sample, (since, until) in answers.items():
            follows = since <= int(day[:4]) + 0.4 < until
            metrics = {"answer": float(follows), "follows_clock": float(follows)}
            metrics |= {
                "ever_right": 1.0,
                "right_since": since,
                "right_until": until,
                "looks_up": looked,
            }
            scored.append(pair(metrics, sample, condition, steps=1))
    samples = [Sample(id=sample, task="t", gold=("Ann Lee",)) for sample in answers]
    made = study_of(scored, conditions, ("answer",), samples).study
    for arm in made.arms:
        told = arm.condition.model_copy(update={"says_today": said})
        made = replace(made, arms=(*made.arms[1:], replace(arm, condition=told)))
    return Comparison(made)


OLD = {f"q{n}": (2000.0 + n / 10, 2010.0) for n in range(9)}


def columns(table, row):
    return dict(zip((column.name for column in table.columns), table.rows[row], strict=True))


def test_answers_are_late_old_or_unknown_and_drawn():
    table = clock(study(OLD))
    early, late = columns(table, 0), columns(table, 1)
    assert (early["a later day"][0], early["years old"]) == (1.0, (None, None, None))
    assert late["a later day"][0] == 0.0
    assert late["years old"][0] == pytest.approx(5.41, abs=0.01)
    plain = study(OLD)
    for arm in plain.study.arms:
        for each in arm.observations:
            del each.metrics["ever_right"]
    row = columns(clock(plain), 0)
    assert row["a later day"] == (None, None, None)
    assert row["follows the clock"][0] == 0.0
