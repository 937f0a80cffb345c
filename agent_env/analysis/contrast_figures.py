"""Figures of contrasts: the forest of all differences, and scores over doses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrast_text import contrast_mistakes
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.drawing import COLOURS, MARKERS, clean, literal, wrapped
from agent_env.analysis.figure_parts import (
    Look,
    bars_of,
    dodged,
    legend,
    limit,
    looks,
    panels,
    runs_of,
    words,
)
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.resampling import means
from agent_env.analysis.result_tables import Column, text_of
from agent_env.analysis.trends import unit_of

FIGURE_DOSES = ("steps", "tokens")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the forest: a contrast, or a heading without one."""

    label: str
    contrast: Contrast | None
    model: str | None = None
    """Of a contrast within one of several runs."""


def forest(comparison: Comparison) -> Figure | None:
    """Every difference with its 95 % interval and, thin, the one that holds for all together; those
    of the same conditions stand together, a row for each model. None without differences."""
    rows = _rows(comparison)
    shown = [row for row in rows if row.contrast is not None]
    if not shown:
        return None
    labels = [wrapped(row.label) for row in rows]
    lines = [label.count("\n") + 1 for label in labels]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    heights = np.array([0.6 + 0.6 * count for count in lines])
    places = heights / 2 - np.cumsum(heights)
    figure = Figure(
        figsize=(6.6 + 0.075 * longest, 0.24 * heights.sum() + 1.0), layout="constrained"
    )
    axes = figure.subplots()
    if comparison.options.margin is not None:
        margin = comparison.options.margin
        axes.axvspan(-margin, margin, color="#e8e8e8", zorder=0, label=f"±{margin:g}: margin")
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    models = list(dict.fromkeys(arm.model for arm in comparison.study.arms))
    for place, row in zip(places, rows, strict=True):
        if row.contrast is not None:
            own = models.index(row.model) if row.model in models and row.model else 0
            _interval(axes, float(place), row.contrast, own)
    axes.set_yticks(places, labels, fontsize=8)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.contrast is None else "normal")
    axes.set_ylim(-heights.sum() - 0.2, 0.2)
    axes.set_xlabel(
        f"difference in {words(comparison.metric)}\n(thick: 95 % CI; thin: 95 % CI of all "
        "together; filled: significant after Holm's correction)", fontsize=8,
    )  # fmt: skip
    clean(axes, "x")
    axes.tick_params(axis="y", length=0)
    if comparison.options.margin is not None:
        figure.legend(loc="outside upper right", frameon=False, fontsize=8)
    return figure


def _rows(comparison: Comparison) -> list[Row]:
    """Headings and contrasts, those of one run by their conditions."""
    several = len({arm.run for arm in comparison.study.arms}) > 1
    groups: dict[str, list[Row]] = {}
    for contrast in comparison.contrasts:
        planned = contrast.planned
        if planned.dose is not None or contrast.difference.value is None:
            continue
        mark = " (exploratory)" if planned.is_exploratory else ""
        after, before = (comparison.study.arm(label) for label in (planned.after, planned.before))
        if planned.is_simple and after.run == before.run and several:
            name = f"{after.condition.name} − {before.condition.name}{mark}"
            groups.setdefault(name, []).append(Row(f"{after.model}", contrast, after.model))
        else:
            groups.setdefault("", []).append(Row(f"{contrast.name}{mark}", contrast))
    rows = [row for name, own in groups.items() if name for row in (Row(name, None), *own)]
    others = groups.get("", [])
    return [*rows, *([Row("other contrasts", None)] if rows and others else []), *others]


def _interval(axes: Axes, place: float, contrast: Contrast, own: int) -> None:
    """One contrast: mark, two intervals, and the figures at the right edge."""
    estimate, colour = contrast.difference, COLOURS[own % len(COLOURS)]
    value = estimate.value or 0.0
    if contrast.simultaneous is not None:
        axes.plot(contrast.simultaneous, (place, place), color=colour, linewidth=0.8, zorder=2)
    if estimate.low is not None and estimate.high is not None:
        axes.plot((estimate.low, estimate.high), (place, place), color=colour, linewidth=2.6,
                  solid_capstyle="butt", zorder=3)  # fmt: skip
    axes.plot(value, place, marker=MARKERS[own % len(MARKERS)], markersize=7, color=colour,
              markerfacecolor=colour if contrast.is_significant else "white", zorder=4)  # fmt: skip
    text = text_of(estimate.cell, Column("", 2, signed=True)).replace("-", "−")
    axes.annotate(f"{text}  n = {contrast.pairs}", (1.02, place), fontsize=8, va="center",
                  xycoords=("axes fraction", "data"))  # fmt: skip


def dose_response(comparison: Comparison, dose: str) -> Figure | None:
    """The mean score of each condition over its mean dose, with both intervals, and the slope
    within samples; a panel per run. Without conditions that give the answer away. None where no run
    has two conditions of different doses."""
    text = f"trend:{dose}"
    if contrast_mistakes([text], comparison.study.arms):
        return None
    own = Comparison(comparison.study, replace(comparison.options, contrasts=(text,), planned=()))
    trends = [c for c in own.contrasts if c.difference.value is not None]
    if not trends:
        return None
    doses = comparison.estimates(comparison.dose(dose), share=False)
    scores, styles = comparison.means[comparison.metric], looks(comparison.study.arms)
    runs = runs_of(comparison)
    figure, axeses = panels(len(runs), sharey=True)
    for axes, (title, places) in zip(axeses, runs.items(), strict=True):
        shown = [
            i
            for i in places
            if not comparison.study.arms[i].gives_away
            and doses[i].value is not None
            and scores[i].value is not None
        ]
        _points(axes, [(doses[i], scores[i]) for i in shown],
                [styles[comparison.study.arms[i].name_in_run] for i in shown],
                [comparison.study.arms[i].name_in_run for i in shown])  # fmt: skip
        run = comparison.study.arms[places[0]].run
        for trend in trends:
            if comparison.study.arm(trend.planned.after).run == run:
                _slope(axes, comparison, trend, dose)
        axes.set_title(wrapped(title, 40), fontsize=9)
        axes.set_xlim(left=0)
        limit(axes, comparison)
        clean(axes)
    name, size = dose.replace("_", " "), unit_of(dose)
    figure.supxlabel(f"{name} per episode{'' if size[0] == 1 else f' ({size[1]})'}; bars: 95 % CI; "
                     "line and band: slope within samples, 95 % CI", fontsize=8)  # fmt: skip
    figure.supylabel(words(comparison.metric), fontsize=9)
    legend(figure, axeses)
    return figure


def _points(
    axes: Axes, points: list[tuple[Estimate, Estimate]], styles: list[Look], names: list[str]
) -> None:
    wide = max((x.value or 0.0 for x, _ in points), default=1.0) or 1.0
    shifts = dodged([(x.value or 0.0, y.value or 0.0) for x, y in points], (wide, 1.0))
    for (x, y), look, name, shift in zip(points, styles, names, shifts, strict=True):
        (_, across), (_, up) = bars_of([x]), bars_of([y])
        axes.errorbar((x.value or 0.0) + shift, y.value or 0.0, xerr=across, yerr=up,
                      color=look.colour, marker=look.marker, markersize=7, linestyle="none",
                      elinewidth=0.8, capsize=2, label=literal(name), zorder=3)  # fmt: skip


def _slope(axes: Axes, comparison: Comparison, trend: Contrast, dose: str) -> None:
    """The line through the mean of all points with the slope, and a band of its interval."""
    arms = comparison.study.arms
    own = [i for i, arm in enumerate(arms) if arm.label in dict(trend.planned.weights)]
    x, y = (
        means(each[:, own])
        for each in (comparison.dose(dose), comparison.columns(comparison.metric))
    )
    middle, height = float(np.nanmean(x)), float(np.nanmean(y))
    ends = np.array([np.nanmin(x), np.nanmax(x)])
    slopes = trend.difference
    line = height + (slopes.value or 0.0) * (ends - middle)
    axes.plot(ends, line, color="#777777", linewidth=1, zorder=1)
    if slopes.low is not None and slopes.high is not None:
        across = np.linspace(ends[0], ends[1], 30) - middle
        edges = np.array([height + slopes.low * across, height + slopes.high * across])
        axes.fill_between(across + middle, edges.min(axis=0), edges.max(axis=0), color="#777777",
                          alpha=0.18, linewidth=0, zorder=0)  # fmt: skip
    text = text_of(slopes.cell, Column("", 3, signed=True)).replace("-", "−")
    axes.text(0.98, 0.02, f"slope {text} per {unit_of(dose)[1]}, n = {trend.pairs}", fontsize=7,
              transform=axes.transAxes, ha="right", va="bottom")  # fmt: skip
