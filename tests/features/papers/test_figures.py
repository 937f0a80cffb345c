"""Curves of a reproduction's figure."""

from agent_env.analysis.intervals import Estimate
from agent_env.features.papers.figures import paper_figure
from agent_env.features.papers.paper import Experiment, Quantity
from agent_env.features.papers.results import ExperimentResult, PaperRow

COUNTS = (Quantity("1", "EM %", x=1), Quantity("5", "EM %", x=5))
FIGURE_4 = Experiment("figure4", "", COUNTS)


def curve(row, gold):
    ours = Estimate(50.0, 40.0, 60.0, samples=9)
    return [PaperRow(row, "", gold, quantity, None, ours, "") for quantity in COUNTS]


def test_curves_stand_side_by_side_of_shortcuts_that_answer():
    rows = [
        *curve("m", "published"), *curve("shortcut constant", "published"),
        *curve("shortcut oracle", "published"), *curve("m", "corrected"), *curve("m", "any"),
    ]  # fmt: skip
    figure = paper_figure(ExperimentResult(FIGURE_4, tuple(rows)))
    (axes,) = figure.axes
    first_x = {str(line.get_label()): round(float(line.get_xdata()[0]), 3) for line in axes.lines}
    assert first_x == {
        "m, published": 0.976, "shortcut constant, published": 1.0,
        "shortcut oracle, published": 1.0, "m, corrected": 1.024,
    }  # fmt: skip
    nothing = Estimate(None, method="no answer")
    idle = [PaperRow("shortcut idle", "", "", quantity, None, nothing, "") for quantity in COUNTS]
    figure = paper_figure(ExperimentResult(FIGURE_4, (*curve("m", ""), *idle)))
    assert [str(line.get_label()) for line in figure.axes[0].lines] == ["m"]
