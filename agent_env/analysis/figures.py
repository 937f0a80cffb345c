"""Figures of a comparison: the score of each condition, the differences, and the score by cost.

They are readable in grey and by colour-blind readers: what is claimed is filled, what is not is
hollow, and every mark has its name beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.drawing import (
    BETTER,
    COLOURS,
    FAINT,
    INK,
    MARKERS,
    SOFT,
    WORSE,
    clean,
    literal,
    wrapped,
)
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column
from agent_env.analysis.statistics.shortcuts import best_shortcut

WIDE, NARROW = 7.6, 3.6
"""Inches: a page's column, and a telephone's screen."""
MOST_ROWS = 24
"""Of the figure of scores; the table has all."""
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
"""Of texts among the marks."""
LONGEST_LABEL = 34
"""Characters of a condition's name beside its mark."""


def runs_of(comparison: Comparison) -> dict[str, list[int]]:
    """Places of each run's arms; the title is the model's name where that tells runs apart. Logs
    of other tools, of one condition each, are together."""
    runs: dict[str, list[int]] = {}
    if all(arm.is_log for arm in comparison.study.arms):
        return {comparison.study.task: list(range(len(comparison.study.arms)))}
    for i, arm in enumerate(comparison.study.arms):
        runs.setdefault(arm.run, []).append(i)
    models = [comparison.study.arms[indices[0]].model_label for indices in runs.values()]
    apart = len(set(models)) == len(models)
    return {
        m if apart else run: indices for m, (run, indices) in zip(models, runs.items(), strict=True)
    }


def words(name: str) -> str:
    return name.replace("_", " ")


def _signed(estimate: Estimate) -> str:
    return Column("", 2, signed=True).text(estimate.cell).replace("-", "−")


def scores(comparison: Comparison, width: float = WIDE) -> Figure | None:
    """A row for each condition: its score with the 95 % interval, and what it gains over its
    baseline; filled where the difference is claimed. The dashed line is the best shortcut. None
    without any score."""
    estimates = comparison.means[comparison.metric]
    if all(each.value is None for each in estimates):
        return None
    runs = runs_of(comparison)
    rows: list[tuple[str, int | None]] = []
    for title, places in runs.items():
        rows += [(title, None)] if len(runs) > 1 else []
        rows += [(comparison.study.arms[i].name_in_run, i) for i in places]
    rows = rows[:MOST_ROWS]
    is_narrow = width < 5
    step, top = (0.5 if is_narrow else 0.36), 0.45
    height = step * len(rows) + top + 0.5
    longest = min(LONGEST_LABEL, max(len(name) for name, _ in rows))
    left, right = (0.12, 0.12) if is_narrow else (0.25 + 0.085 * longest, 2.25)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes(
        (left / width, 0.5 / height, (width - left - right) / width, step * len(rows) / height)
    )
    ends = [value for each in estimates for value in (each.value, each.high) if value is not None]
    limit = 1.0 if not comparison.is_error and max(ends) <= 1 else 1.05 * max(ends) or 1.0
    axes.set_xlim(0, limit)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    gains: dict[str, Contrast] = {}
    for contrast in comparison.contrasts:
        if not contrast.planned.is_interaction:
            gains.setdefault(contrast.planned.after, contrast)
    across = axes.get_yaxis_transform()  # a fraction of the width, and a row
    inch = 1 / (width - left - right)
    name_at, gain_at, lift = (0.0, 1.0, -0.3) if is_narrow else (-0.12 * inch, 1 + 0.6 * inch, 0.0)
    for row, (name, i) in enumerate(rows):
        axes.text(name_at, row + lift, _label(name), transform=across, va="center", color=INK,
                  ha="left" if is_narrow else "right", fontsize=10,
                  fontweight="bold" if i is None else "normal", bbox=BEHIND)  # fmt: skip
        if i is None:
            continue
        gain = gains.get(comparison.study.arms[i].label)
        is_shown = gain is not None and gain.is_shown
        _score(axes, row, estimates[i], gain, comparison.is_error)
        if not is_narrow:
            score = Column("", 2).text(estimates[i].value)
            axes.text(1 + 0.13 * inch, row, score, transform=across, va="center", color=INK,
                      fontsize=10)  # fmt: skip
        if gain is not None and gain.difference.value is not None:
            axes.text(gain_at, row + lift, _signed(gain.difference), transform=across, va="center",
                      ha="right" if is_narrow else "left", color=INK if is_shown else SOFT,
                      fontsize=10, fontweight="bold" if is_shown else "normal",
                      bbox=BEHIND)  # fmt: skip
    _shortcut(axes, comparison, limit)
    if any(gain.difference.value is not None for gain in gains.values()):
        befores = {comparison.study.arm(gain.planned.before).name_in_run for gain in gains.values()}
        over = f" over {literal(befores.pop())}" if len(befores) == 1 else ""
        axes.text(gain_at, 1 + 0.1 / (step * len(rows)), f"difference{over}"
                  if comparison.is_error else f"gain{over}", transform=axes.transAxes, color=SOFT,
                  fontsize=9, ha="right" if is_narrow else "left", va="bottom")  # fmt: skip
    less = ", less is better" if comparison.is_error else ""
    axes.set_xlabel(f"{words(comparison.metric)}{less}, with 95 % intervals", fontsize=9,
                    color=SOFT)  # fmt: skip
    axes.set_yticks([])
    clean(axes, "x")
    axes.spines["left"].set_visible(False)
    return figure


def _label(name: str) -> str:
    return literal(name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…")


def _score(axes: Axes, row: int, score: Estimate, gain: Contrast | None, is_error: bool) -> None:
    if score.value is None:
        return
    is_better = gain is not None and ((gain.difference.value or 0.0) > 0) is not is_error
    is_shown = gain is not None and gain.is_shown
    colour = (BETTER if is_better else WORSE) if is_shown else INK if gain else SOFT
    if score.low is not None and score.high is not None:
        axes.plot((score.low, score.high), (row, row), color=colour, linewidth=2.2, zorder=3)
    axes.plot(score.value, row, marker="o" if is_better or not is_shown else "D", markersize=8,
              color=colour, markerfacecolor=colour if is_shown else "white", markeredgewidth=1.8,
              clip_on=False, zorder=4)  # fmt: skip


def _shortcut(axes: Axes, comparison: Comparison, limit: float) -> None:
    """A faint line at what the best answer without reasoning scores."""
    if (best := best_shortcut(comparison)) is None:
        return
    score = float(np.nanmean(best[1]))
    axes.axvline(score, color=SOFT, linewidth=1, linestyle=(0, (3, 3)), zorder=1)
    is_left = score < limit / 2
    axes.annotate(
        f"best guess without a model {score:.2f}", (score, 1), (0, 7),
        xycoords=("data", "axes fraction"), textcoords="offset points", color=SOFT,
        fontsize=9, va="bottom", ha="left" if is_left else "right",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the forest: a contrast, or a heading without one."""

    label: str
    contrast: Contrast | None
    model: str | None = None
    """Of a contrast within one of several runs."""


def forest(comparison: Comparison, rows: Sequence[Row] | None = None) -> Figure | None:
    """Every difference, or these, with its 95 % interval and, thin, the one that holds for all
    together. None without differences."""
    rows = forest_rows(comparison) if rows is None else rows
    if all(row.contrast is None for row in rows):
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
        axes.axvspan(-margin, margin, color=FAINT, zorder=0, label=f"±{margin:g}: margin")
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    models = list(dict.fromkeys(arm.model_label for arm in comparison.study.arms))
    for place, row in zip(places, rows, strict=True):
        if row.contrast is not None:
            model_index = models.index(row.model) if row.model in models and row.model else 0
            _interval(axes, float(place), row.contrast, model_index)
    axes.set_yticks(places, labels, fontsize=9, color=INK)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.contrast is None else "normal")
    axes.set_ylim(-heights.sum() - 0.2, 0.2)
    axes.set_xlabel(
        f"difference in {words(comparison.metric)}\n(thick: 95 % CI; thin: 95 % CI of all "
        "together; filled: significant after Holm's correction)", fontsize=9, color=SOFT,
    )  # fmt: skip
    clean(axes, "x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if comparison.options.margin is not None:
        figure.legend(loc="outside upper right", frameon=False, fontsize=9)
    return figure


def forest_rows(comparison: Comparison) -> list[Row]:
    """Headings and contrasts: those of the same conditions together, a row for each model."""
    several = len({arm.run for arm in comparison.study.arms}) > 1
    groups: dict[str, list[Row]] = {}
    for contrast in comparison.contrasts:
        planned = contrast.planned
        if contrast.difference.value is None:
            continue
        mark = " (exploratory)" if planned.is_exploratory else ""
        after, before = (comparison.study.arm(label) for label in (planned.after, planned.before))
        if not planned.is_interaction and after.run == before.run and several:
            name = f"{after.condition.name} − {before.condition.name}{mark}"
            groups.setdefault(name, []).append(Row(after.model_label, contrast, after.model_label))
        else:
            groups.setdefault("", []).append(Row(f"{contrast.name}{mark}", contrast))
    rows = [row for name, group in groups.items() if name for row in (Row(name, None), *group)]
    ungrouped = groups.get("", [])
    return [*rows, *([Row("other contrasts", None)] if rows and ungrouped else []), *ungrouped]


def _interval(axes: Axes, place: float, contrast: Contrast, model_index: int) -> None:
    """One contrast: mark, two intervals, and the figures at the right edge."""
    estimate, colour = contrast.difference, COLOURS[model_index % len(COLOURS)]
    value = estimate.value or 0.0
    if contrast.simultaneous is not None:
        axes.plot(contrast.simultaneous, (place, place), color=colour, linewidth=0.8, zorder=2)
    if estimate.low is not None and estimate.high is not None:
        axes.plot((estimate.low, estimate.high), (place, place), color=colour, linewidth=2.6,
                  solid_capstyle="butt", zorder=3)  # fmt: skip
    axes.plot(value, place, marker=MARKERS[model_index % len(MARKERS)], markersize=7, color=colour,
              markerfacecolor=colour if contrast.is_shown else "white", zorder=4)  # fmt: skip
    axes.annotate(f"{_signed(estimate)}  n = {contrast.pairs}", (1.02, place), fontsize=9,
                  va="center", xycoords=("axes fraction", "data"))  # fmt: skip


def frontier(comparison: Comparison) -> Figure | None:
    """The main metric against cost per episode (tokens where the cost is not known for all); the
    line joins what nothing cheaper equals. Without conditions that give the answer away. None
    where neither is known."""
    means = comparison.means
    tokens = [
        None if a.value is None or b.value is None else a.value + b.value
        for a, b in zip(means["input_tokens"], means["output_tokens"], strict=True)
    ]
    known = {"cost_usd": [each.value for each in means["cost_usd"]], "tokens": tokens}
    across = next((name for name, values in known.items() if None not in values), None)
    if across is None:
        return None
    arms = comparison.study.arms
    points = sorted(
        (cost, score.value, i)
        for i, (cost, score) in enumerate(zip(known[across], means[comparison.metric], strict=True))
        if cost is not None and score.value is not None and not arms[i].gives_away
    )
    if not points:
        return None
    figure = Figure(figsize=(WIDE, 4.4), layout="constrained")
    axes = figure.subplots()
    sign = -1 if comparison.is_error else 1
    best = [
        place for place, point in enumerate(points)
        if all(sign * point[1] > sign * other[1] for other in points[:place])
    ]  # fmt: skip
    axes.plot([points[k][0] for k in best], [points[k][1] for k in best], color=FAINT, zorder=1)
    runs = runs_of(comparison)
    run_of = {i: k for k, indices in enumerate(runs.values()) for i in indices}
    most = max(cost for cost, _, _ in points) or 1.0
    taken: list[tuple[float, float]] = []
    for cost, value, i in points:
        estimate, k = means[comparison.metric][i], run_of[i]
        colour = COLOURS[k % len(COLOURS)]
        if estimate.low is not None and estimate.high is not None:
            axes.plot((cost, cost), (estimate.low, estimate.high), color=colour, linewidth=1)
        axes.plot(cost, value, color=colour, marker=MARKERS[k % len(MARKERS)], markersize=8,
                  markeredgecolor="white", zorder=3)  # fmt: skip
        down = sum(abs(cost - x) < 0.15 * most and abs(value - y) < 0.06 for x, y in taken)
        taken.append((cost, value))
        name = arms[i].name_in_run if len(runs) == 1 else arms[i].label
        axes.annotate(_label(name), (cost, value), (9, -3 - 12 * down), fontsize=9, color=colour,
                      textcoords="offset points")  # fmt: skip
    unit = "US dollars" if across == "cost_usd" else "tokens (input and output)"
    axes.set_xlabel(f"{unit} per episode", fontsize=9, color=SOFT)
    axes.set_ylabel(f"{words(comparison.metric)}, with 95 % intervals", fontsize=9, color=SOFT)
    axes.set_xlim(0, 1.15 * most)
    axes.set_ylim(bottom=0 if comparison.is_error else -0.04)
    if not comparison.is_error:
        axes.set_ylim(top=1.04)
    clean(axes)
    return figure


MAKERS: Mapping[str, Callable[[Comparison], Figure | None]] = {
    "scores": scores,
    "forest": forest,
    "frontier": frontier,
}


def all_figures(comparison: Comparison) -> dict[str, Figure]:
    """By file name, those that the study has something for."""
    figures = ((name, make(comparison)) for name, make in MAKERS.items())
    return {name: figure for name, figure in figures if figure is not None}
