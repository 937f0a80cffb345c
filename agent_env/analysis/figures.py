"""Figures of a comparison: readable in grey and by colour-blind readers.

Every condition has its own colour, marker, line and hatch, and keeps them through all figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.drawing import (
    COLOURS,
    HATCHES,
    LINES,
    MARKERS,
    clean,
    literal,
    pale,
    wrapped,
)
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Column
from agent_env.analysis.study import Arm

if TYPE_CHECKING:
    from matplotlib.typing import FillStyleType

BARS = "bars: 95 %; none for too few samples or equal values"


@dataclass(frozen=True, slots=True)
class Look:
    colour: str
    marker: str
    line: str
    hatch: str


def looks(arms: tuple[Arm, ...]) -> dict[str, Look]:
    """By condition name; the same in every panel."""
    return {name: _look(i) for i, name in enumerate(dict.fromkeys(a.name_in_run for a in arms))}


def _look(number: int) -> Look:
    marks = (COLOURS, MARKERS, LINES, HATCHES)
    return Look(*(each[number % len(each)] for each in marks))


def runs_of(comparison: Comparison) -> dict[str, list[int]]:
    """Places of each run's arms; the title is the model's name where that tells runs apart. Logs
    of other tools, of one condition each, stand together."""
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


def limit(axes: Axes, comparison: Comparison) -> None:
    """From 0 to 1, but for a metric that has no bound."""
    if comparison.is_error:
        axes.set_ylim(bottom=0)
    else:
        axes.set_ylim(-0.04, 1.04)


def bars_of(estimates: list[Estimate]) -> tuple[list[float], list[list[float]]]:
    """Lengths below and above; 0 where there is no interval."""
    below = [
        0.0 if e.low is None or e.value is None else max(0.0, e.value - e.low) for e in estimates
    ]
    above = [
        0.0 if e.high is None or e.value is None else max(0.0, e.high - e.value) for e in estimates
    ]
    return [e.value or 0.0 for e in estimates], [below, above]


def legend(figure: Figure, axeses: Iterable[Axes]) -> None:
    """Of all panels, above everything, so that it hides nothing; long names in fewer columns."""
    by_label: dict[object, Artist] = {}
    for axes in axeses:
        handles, labels = axes.get_legend_handles_labels()
        by_label |= {k: h for k, h in zip(labels, handles, strict=True) if k not in by_label}
    longest = max((len(str(label)) for label in by_label), default=1)
    columns = max(1, min(6, len(by_label), int(figure.get_figwidth() * 12 / (longest + 6))))
    figure.legend(list(by_label.values()), list(map(str, by_label)), loc="outside upper center",
                  ncols=columns, frameon=False, fontsize=9)  # fmt: skip


def dodged(points: Sequence[tuple[float, float]], spans: tuple[float, float]) -> list[float]:
    """How far to move each point right so that none hides another; `spans`: the axes' lengths."""
    placed: list[tuple[float, float]] = []
    shifts = []
    for x, y in points:
        moved = x
        while any(
            abs(moved - place) < 0.026 * spans[0] and abs(y - height) < 0.06 * spans[1]
            for place, height in placed
        ):
            moved += 0.03 * spans[0]
        placed.append((moved, y))
        shifts.append(moved - x)
    return shifts


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
        axes.axvspan(-margin, margin, color="#e8e8e8", zorder=0, label=f"±{margin:g}: margin")
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    models = list(dict.fromkeys(arm.model_label for arm in comparison.study.arms))
    for place, row in zip(places, rows, strict=True):
        if row.contrast is not None:
            model_index = models.index(row.model) if row.model in models and row.model else 0
            _interval(axes, float(place), row.contrast, model_index)
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


def rows_that_fit(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """The first rows, of so many lines at most; whole groups where a group fits."""
    ends = np.cumsum([wrapped(row.label).count("\n") + 1 for row in rows])
    count = max(1, int((ends <= most).sum()))
    heads = [place for place in range(1, count + 1) if rows[place:] and not rows[place].contrast]
    return rows if count >= len(rows) else rows[: heads[-1] if heads else count]


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
    text = Column("", 2, signed=True).text(estimate.cell).replace("-", "−")
    axes.annotate(f"{text}  n = {contrast.pairs}", (1.02, place), fontsize=8, va="center",
                  xycoords=("axes fraction", "data"))  # fmt: skip


FILLINGS: tuple[FillStyleType, ...] = ("full", "none", "left", "top", "right", "bottom")
"""Of marks, by run."""
Point = tuple[float, float, int]
"""Cost, score, and the place of the arm."""


def all_figures(comparison: Comparison) -> dict[str, Figure]:
    """By file name, those that the study has something for."""
    return drawn(comparison, MAKERS)


def drawn(comparison: Comparison, names: Iterable[str]) -> dict[str, Figure]:
    figures = ((name, MAKERS[name](comparison)) for name in names)
    return {name: figure for name, figure in figures if figure is not None}


def condition_bars(comparison: Comparison) -> Figure | None:
    """The main metric and output tokens as bars with error bars, a row per run."""
    runs, styles = runs_of(comparison), looks(comparison.study.arms)
    scores = comparison.means[comparison.metric]
    tokens = comparison.means["output_tokens"]
    quantities = [(words(comparison.metric), scores, "{:.2f}")]
    if any(e.value is not None for e in tokens):
        quantities.append(("output tokens", tokens, "{:,.0f}"))
    widest = max(len(indices) for indices in runs.values())
    figure = Figure(
        figsize=((0.75 * widest + 1.6) * len(quantities), 2.7 * len(runs) + 0.4),
        layout="constrained",
    )
    axeses = figure.subplots(len(runs), len(quantities), squeeze=False)
    ends = [bars_of(estimates) for _, estimates, _ in quantities]  # the same scale in all rows
    tops = [
        max((v + e for v, e in zip(values, above, strict=True)), default=1.0) or 1.0
        for values, (_, above) in ends
    ]
    for row, (title, indices) in zip(axeses, runs.items(), strict=True):
        for axes, (what, estimates, form), top in zip(row, quantities, tops, strict=True):
            values, errors = bars_of([estimates[i] for i in indices])
            names = [comparison.study.arms[i].name_in_run for i in indices]
            for j, name in enumerate(names):
                look, known = styles[name], estimates[indices[j]].value is not None
                axes.bar(j, values[j], width=0.7, color=pale(look.colour), edgecolor="black",
                         linewidth=0.8, hatch=look.hatch)  # fmt: skip
                if known and (errors[0][j] or errors[1][j]):
                    axes.errorbar(j, values[j], yerr=[[errors[0][j]], [errors[1][j]]],
                                  color="black", capsize=3, linewidth=1)  # fmt: skip
                text = form.format(values[j]) if known else "unknown"
                axes.text(j, values[j] + errors[1][j] + 0.02 * top, text, ha="center",
                          va="bottom", fontsize=8)  # fmt: skip
            axes.set_xticks(range(len(names)), [literal(name) for name in names], rotation=30,
                            ha="right", fontsize=8)  # fmt: skip
            axes.set_ylim(0, 1.16 * top)
            axes.set_title(literal(f"{title}: {what}"), fontsize=9)
            clean(axes)
    figure.supxlabel(BARS, fontsize=8)
    return figure


def frontier(comparison: Comparison) -> Figure | None:
    """The main metric against cost per episode (tokens where the cost is not known for all); the
    line joins what nothing cheaper equals. Without conditions that give the answer away; points at
    one place are moved apart. None where neither is known."""
    means = comparison.means
    tokens = [
        None if a.value is None or b.value is None else a.value + b.value
        for a, b in zip(means["input_tokens"], means["output_tokens"], strict=True)
    ]
    known = {"cost_usd": [each.value for each in means["cost_usd"]], "tokens": tokens}
    across = next((name for name, values in known.items() if None not in values), None)
    if across is None:
        return None
    scores, costs = means[comparison.metric], known[across]
    arms = comparison.study.arms
    points = [
        (cost, score.value, i)
        for i, (cost, score) in enumerate(zip(costs, scores, strict=True))
        if cost is not None and score.value is not None and not arms[i].gives_away
    ]
    if not points:
        return None
    wide = max(cost for cost, _, _ in points) or 1.0
    tall = max(value for _, value, _ in points) if comparison.is_error else 1.0
    shifts = dodged([point[:2] for point in points], (wide, tall or 1.0))
    figure = Figure(figsize=(7.5, 5.2), layout="constrained")
    axes = figure.subplots()
    best: list[Point] = []  # the points that are better than every cheaper one
    sign = -1 if comparison.is_error else 1
    for point in sorted(points, key=lambda p: (p[0], -sign * p[1])):
        if not best or sign * point[1] > sign * best[-1][1]:
            best.append(point)
    _costs_and_scores(axes, comparison, points, shifts)
    moved = dict(zip(points, shifts, strict=True))
    axes.plot([p[0] + moved[p] for p in best], [p[1] for p in best], color="#888888", linewidth=1,
              zorder=0)  # fmt: skip
    unit = "US dollars" if across == "cost_usd" else "tokens (input and output)"
    axes.set_xlabel(
        f"{unit} per episode\n({BARS}; points at one place are moved apart)", fontsize=8
    )
    axes.set_ylabel(words(comparison.metric))
    limit(axes, comparison)
    axes.set_xlim(left=0)
    clean(axes)
    legend(figure, [axes])
    return figure


def _costs_and_scores(
    axes: Axes, comparison: Comparison, points: Sequence[Point], shifts: Sequence[float]
) -> None:
    """A mark for each point: a colour and shape for each condition, a filling for each run."""
    arms, styles, runs = comparison.study.arms, looks(comparison.study.arms), runs_of(comparison)
    fillings = {
        i: FILLINGS[k % len(FILLINGS)] for k, indices in enumerate(runs.values()) for i in indices
    }
    for (cost, value, i), shift in zip(points, shifts, strict=True):
        look = styles[arms[i].name_in_run]
        _, errors = bars_of([comparison.means[comparison.metric][i]])
        axes.errorbar(cost + shift, value, yerr=errors, color=look.colour, elinewidth=0.8,
                      capsize=2, linestyle="none")  # fmt: skip
        axes.plot(cost + shift, value, color=look.colour, marker=look.marker, markersize=9,
                  fillstyle=fillings[i], markerfacecoloralt="white", linestyle="none")  # fmt: skip
    for name in dict.fromkeys(arms[i].name_in_run for _, _, i in points):
        axes.plot([], [], linestyle="none", color=styles[name].colour, marker=styles[name].marker,
                  label=literal(name))  # fmt: skip
    for title, indices in runs.items() if len(runs) > 1 else ():
        axes.plot([], [], linestyle="none", color="#777777", marker="o", markersize=9,
                  fillstyle=fillings[indices[0]], markerfacecoloralt="white",
                  label=literal(title))  # fmt: skip


MAKERS: Mapping[str, Callable[[Comparison], Figure | None]] = {
    "forest": forest,
    "conditions": condition_bars,
    "frontier": frontier,
}
