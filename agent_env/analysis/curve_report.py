"""The figure of budget curves, and their page."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from agent_env.analysis.budget_curve import BudgetCurves
from agent_env.analysis.drawing import clean, wrapped
from agent_env.analysis.figures import BARS, bars_of, legend, limit, looks, panels, words
from agent_env.analysis.report import Chapter, Section, SvgFigure, inline_svg, report_of, settings
from agent_env.analysis.result_tables import ResultTable
from agent_env.records.manifest import Manifest

CAPTION = (
    "The main metric when the answer is forced at so many model calls; open marks: the recorded "
    "episodes to their end. Left over model calls, right over the tokens that they took."
)

METHOD = (
    "Each recorded episode was forked where its budget of model calls ends: the steps before are "
    "taken over, tools are withdrawn, and the next reply had to be the answer. Episodes that had "
    "answered by then count by their own answer."
)


def curve_figure(curves: BudgetCurves) -> Figure:
    """Accuracy over model calls, and over tokens where they are known."""
    is_counted = all(p.tokens.value is not None for c in curves.curves for p in c.points)
    figure, axeses = panels(2 if is_counted else 1, sharey=True)
    styles = looks(tuple(arm for arm in curves.comparison.study.arms
                         if arm.condition.answer_at is None))  # fmt: skip
    for curve, look in zip(curves.curves, styles.values(), strict=True):
        # the end stands where its episodes end on average
        calls = [float(p.budget or p.steps.value or 0.0) for p in curve.points]
        tokens = [p.tokens.value or 0.0 for p in curve.points]
        for axes, at in zip(axeses, (calls, tokens), strict=False):
            values, lengths = bars_of([point.accuracy for point in curve.points])
            axes.errorbar(
                at[:-1], values[:-1], [side[:-1] for side in lengths], color=look.colour,
                marker=look.marker, linestyle=look.line, capsize=2, label=wrapped(curve.condition),
            )  # fmt: skip
            axes.plot(at[-1], values[-1], color=look.colour, marker=look.marker,
                      markerfacecolor="white", linestyle="none", markersize=8)  # fmt: skip
    for axes, name in zip(axeses, ("model calls", "tokens of an episode"), strict=False):
        axes.set_xlabel(name)
        clean(axes)
        limit(axes, curves.comparison)
    axeses[0].set_ylabel(words(curves.comparison.metric))
    legend(figure, axeses[:1])
    figure.text(0.99, 0.0, BARS, ha="right", va="top", fontsize=7, color="#555555")
    return figure


def curve_report(curves: BudgetCurves, tables: Sequence[ResultTable], manifest: Manifest) -> str:
    """One HTML file with the figure and the tables."""
    title = f"Budget curves: {manifest.task}, {manifest.model}"
    chapter = Chapter(
        title="",
        prefix="",
        conclusions=(),
        words=(METHOD,),
        sections=[Section("results", "Results", [table.without_empty() for table in tables])],
        settings=settings({curves.comparison.study.arms[0].run: manifest}),
        figures=[SvgFigure("curve", CAPTION, inline_svg(curve_figure(curves), "curve"))],
    )
    return report_of([chapter], title)
