"""The table of days: what an answer follows, and how old it is."""

from itertools import product

import pytest

from agent_env.features.clock.tables import clock
from agent_env.records.schema import Sample
from tests.analysis.studies import study_of
from tests.ended import scored as pair

DAYS = ("1995-06-01", "2015-06-01")


def study(answers):
    """One run on two days; `answers` gives by sample from when to when what it said was right."""
    scored = []
    for day, (sample, (since, until)) in product(DAYS, answers.items()):
        follows = float(since <= int(day[:4]) + 0.4 < until)
        metrics = {"answer": follows, "follows_clock": follows, "ever_right": 1.0, "looks_up": 0.0}
        metrics |= {"right_since": since, "right_until": until}
        scored.append(pair(metrics, sample, f"base~on-{day}", steps=1))
    samples = [Sample(id=sample, task="t", gold=("Ann Lee",)) for sample in answers]
    return study_of(scored, [f"base~on-{day}" for day in DAYS], ("answer",), samples)


OLD = {f"q{n}": (2000.0 + n / 10, 2010.0) for n in range(9)}


def columns(table, row):
    return dict(zip((column.name for column in table.columns), table.rows[row], strict=True))


def test_answers_are_late_old_or_unknown_and_drawn():
    table = clock(study(OLD))
    early, late = columns(table, 0), columns(table, 1)
    assert (early["a later day"][0], early["years old"]) == (1.0, (None, None, None))
    assert (late["a later day"][0], late["years old"][0]) == (0.0, pytest.approx(5.41, abs=0.01))
    plain = study(OLD)
    for arm in plain.study.arms:
        for each in arm.observations:
            del each.metrics["ever_right"]
    row = columns(clock(plain), 0)
    assert (row["a later day"], row["follows the clock"][0]) == ((None, None, None), 0.0)
