"""Shapley values of tools: the planted ones come out, and what is missing is said."""

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.statistics.gains import shapley, shapley_weights
from agent_env.runs.compare import select_tables
from tests.analysis.simulated import Plant, study

GAINS = {
    "base": 0.0, "web": 0.2, "cal": 0.05, "python": 0.05,
    "web+cal": 0.25, "web+python": 0.3, "cal+python": 0.05, "web+cal+python": 0.3,
}  # fmt: skip
"""Code helps where the web does, and is worth nothing beside a calendar alone."""
VALUES = {"web": 0.225, "cal": 0.025, "python": 0.05, "all of them": 0.3}
"""By hand, from the mean over the six orders."""


def compared(conditions, *models, samples=60):
    made = study(Plant(samples=samples, spread=0.1), conditions, models or ("m",), seed=3)
    return Comparison(made, Options(resamples=1000))


def test_the_planted_values_come_out_of_the_eight_conditions():
    rows = {row[0]: row for row in shapley(compared(GAINS, samples=2500)).rows}
    assert list(rows) == ["web", "cal", "python", "all of them"]
    for name, value in VALUES.items():
        cell = rows[name][1]
        assert cell[0] == pytest.approx(value, abs=0.03)
        assert cell[1] < value < cell[2]
    web = rows["web"]
    assert web[2] == 2500
    assert [c[0] for c in web[3:] if isinstance(c, tuple)] == [
        pytest.approx(0.2, abs=0.03), pytest.approx(0.25, abs=0.03)
    ]  # fmt: skip


def test_the_values_add_up_to_what_all_tools_add():
    *tools, whole = (row[1] for row in shapley(compared(GAINS)).rows)
    assert sum(c[0] or 0.0 for c in tools if isinstance(c, tuple)) == pytest.approx(whole[0])
    assert [sum(shapley_weights(n)[k] for k in range(n)) for n in (1, 2)] == [1.0, 1.0]


def test_two_tools_over_an_explicit_wording_and_two_models_stand_apart():
    names = ["explicit", "explicit+cal", "explicit+python", "explicit+cal+python", "web"]
    rows = shapley(compared(dict.fromkeys(names, 0.0), "a", "b")).rows
    assert [row[0] for row in rows] == [
        "a explicit cal", "a explicit python", "a explicit all of them",
        "b explicit cal", "b explicit python", "b explicit all of them",
    ]  # fmt: skip


def test_without_a_complete_set_the_missing_conditions_are_said():
    made = compared(dict.fromkeys(["base", "web", "python"], 0.0))
    assert "shapley" not in [table.name for table in select_tables(made, [], ())]
    (table,) = select_tables(made, ["shapley"], ())
    assert table.notes[0].endswith(
        "Missing for these: cal, cal+python, web+cal, web+python, web+cal+python."
    )
