"""Metrics of how far off an answer is: less is better, some answers have none."""

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.statistics.results import conditions
from agent_env.analysis.study import QUANTITIES, Arm, Observation, Study
from agent_env.records.schema import Sample
from agent_env.tasks.conditions import parse_condition
from tests.lazy_modules import LazyModule

drawing, figures, html = (
    LazyModule(f"agent_env.analysis.{name}") for name in ("drawing", "figures", "html")
)

OFF = {"base": [4.0, 6.0, None, 0.0, 9.0, 1.0], "python": [1.0, 0.0, 2.0, 0.0, 9.0, 0.0]}


@pytest.fixture(scope="module")
def comparison():
    samples = tuple(Sample(id=f"s{i}", task="t", gold=()) for i in range(6))
    named = [(name, parse_condition(name), tuple(map(seen, range(6), OFF[name]))) for name in OFF]
    arms = tuple(Arm(name, "r", "m", condition, off, 6) for name, condition, off in named)
    study = Study("t", ("exact_match", "days_off"), arms, samples, (), frozenset({"days_off"}))
    return Comparison(study, Options(metric="days_off"))


def seen(number, off):
    metrics = {"exact_match": float(off == 0.0)} | ({} if off is None else {"days_off": off})
    used = dict.fromkeys(QUANTITIES)
    used |= {"input_tokens": 10.0, "output_tokens": 10.0 + number}
    return Observation(f"s{number}", 1, "read", metrics, used)


def test_a_smaller_error_is_better_has_an_interval_and_is_no_formula(comparison):
    (found,) = comparison.contrasts
    assert (found.better, found.worse, found.pairs, found.unpaired) == (3, 0, 5, 1)
    assert found.difference.value == pytest.approx(-2.0)
    base = comparison.means["days_off"][0]
    assert (base.value, base.samples, base.method) == (4.0, 5, "Student's t")
    table = conditions(comparison)
    assert table.notes[1] == "days_off: less is better, over the samples where it is defined."
    assert [row[1] for row in table.rows] == [5, 6]
    assert table.columns[4].name == "difference from base"
    (axes,) = figures.all_figures(comparison)["scores"].axes
    axes.set_title(drawing.literal("big$model$x"))
    assert html.inline_svg(axes.get_figure(), "x")
    assert axes.title._preprocess_math(axes.get_title()) == ("big$model$x", False)
