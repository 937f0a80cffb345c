"""The figure of budget curves, and their page."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from agent_env.extensions.evidence.budget_curve import BudgetCurves
from agent_env.sdk.models import short_name
from agent_env.sdk.records import Manifest
from agent_env.sdk.results import ResultTable, estimate_lines, report_of_tables

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
    places = [
        # the end stands where its episodes end on average
        {c.condition: [float(p.budget or p.steps.value or 0.0) for p in c.points]
         for c in curves.curves},
        {c.condition: [p.tokens.value or 0.0 for p in c.points] for c in curves.curves},
    ]  # fmt: skip
    is_counted = all(p.tokens.value is not None for c in curves.curves for p in c.points)
    across = ["model calls", "tokens of an episode"][: 2 if is_counted else 1]
    accuracies = {c.condition: [point.accuracy for point in c.points] for c in curves.curves}
    return estimate_lines(curves.comparison, accuracies, dict(zip(across, places, strict=False)))


def curve_report(curves: BudgetCurves, tables: Sequence[ResultTable], manifest: Manifest) -> str:
    """One HTML file with the figure and the tables."""
    return report_of_tables(
        f"Budget curves: {manifest.task}, {short_name(manifest.model)}",
        METHOD,
        tables,
        {"curve": (CAPTION, curve_figure(curves))},
        {curves.comparison.study.arms[0].run: manifest},
    )
