"""Figures of a comparison: readable in grey and by colour-blind readers.

Every condition has its own colour, marker, line and hatch, and keeps them through all figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrast_figures import FIGURE_DOSES, dose_response, forest
from agent_env.analysis.drawing import COLOURS, clean, literal, pale, wrapped
from agent_env.analysis.figure_parts import (
    BARS,
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
from agent_env.analysis.statistics.reliability import pass_hat

if TYPE_CHECKING:
    from matplotlib.typing import FillStyleType

FILLINGS: tuple[FillStyleType, ...] = ("full", "none", "left", "top", "right", "bottom")
"""Of marks, by run."""
Point = tuple[float, float, int]
"""Cost, score, and the place of the arm."""


def all_figures(comparison: Comparison) -> dict[str, Figure]:
    """By file name, those that the study has something for."""
    makers: dict[str, Callable[[Comparison], Figure | None]] = {
        "forest": forest,
        "by-solutions": by_solutions,
        "conditions": condition_bars,
        "frontier": frontier,
        **{f"dose-{dose}": partial(dose_response, dose=dose) for dose in FIGURE_DOSES},
        "flips": flips,
        "reliability": reliability,
    }
    figures = ((name, make(comparison)) for name, make in makers.items())
    return {name: figure for name, figure in figures if figure is not None}


def by_solutions(comparison: Comparison) -> Figure | None:
    """The main metric over the solution count, a panel per run, a line per condition; None where
    samples have no solution count."""
    if len(comparison.groups.get("solutions", {})) < 2:
        return None
    found = comparison.by_group("solutions", comparison.metric)
    runs, styles = runs_of(comparison), looks(comparison.study.arms)
    figure, axeses = panels(len(runs), sharey=True, sharex=True)
    for axes, (title, own) in zip(axeses, runs.items(), strict=True):
        for k, i in enumerate(own):
            name = comparison.study.arms[i].name_in_run
            values, errors = bars_of([estimates[i] for estimates in found.values()])
            shift = (k - (len(own) - 1) / 2) * 0.09
            known = [j for j, e in enumerate(found.values()) if e[i].value is not None]
            look = styles[name]
            axes.errorbar(
                [j + shift for j in known], [values[j] for j in known],
                yerr=[[errors[s][j] for j in known] for s in (0, 1)], label=literal(name),
                color=look.colour, marker=look.marker, linestyle=look.line, markersize=5,
                linewidth=1.4, elinewidth=0.7, capsize=2,
            )  # fmt: skip
        axes.set_title(literal(title), fontsize=10)
        axes.set_xticks(range(len(found)), list(found))
        limit(axes, comparison)
        clean(axes)
    figure.supxlabel(f"number of solutions ({BARS})", fontsize=10)
    figure.supylabel(words(comparison.metric), fontsize=10)
    legend(figure, axeses)
    return figure


def condition_bars(comparison: Comparison) -> Figure | None:
    """The main metric and output tokens as bars with error bars, a row per run."""
    runs, styles = runs_of(comparison), looks(comparison.study.arms)
    scores = comparison.means[comparison.metric]
    tokens = comparison.means["output_tokens"]
    quantities = [(words(comparison.metric), scores, "{:.2f}")]
    if any(e.value is not None for e in tokens):
        quantities.append(("output tokens", tokens, "{:,.0f}"))
    widest = max(len(own) for own in runs.values())
    figure = Figure(
        figsize=((0.75 * widest + 1.6) * len(quantities), 2.7 * len(runs) + 0.4),
        layout="constrained",
    )
    axeses = figure.subplots(len(runs), len(quantities), squeeze=False)
    tops = [_top(estimates) for _, estimates, _ in quantities]
    for row, (title, own) in zip(axeses, runs.items(), strict=True):
        for axes, (what, estimates, form), top in zip(row, quantities, tops, strict=True):
            values, errors = bars_of([estimates[i] for i in own])
            names = [comparison.study.arms[i].name_in_run for i in own]
            for j, name in enumerate(names):
                look, known = styles[name], estimates[own[j]].value is not None
                axes.bar(j, values[j], width=0.7, color=pale(look.colour), edgecolor="black",
                         linewidth=0.8, hatch=look.hatch)  # fmt: skip
                if known and (errors[0][j] or errors[1][j]):
                    axes.errorbar(j, values[j], yerr=[[errors[0][j]], [errors[1][j]]],
                                  color="black", capsize=3, linewidth=1)  # fmt: skip
                said = form.format(values[j]) if known else "unknown"
                axes.text(j, values[j] + errors[1][j] + 0.02 * top, said, ha="center",
                          va="bottom", fontsize=8)  # fmt: skip
            axes.set_xticks(range(len(names)), [literal(name) for name in names], rotation=30,
                            ha="right", fontsize=8)  # fmt: skip
            axes.set_ylim(0, 1.16 * top)
            axes.set_title(literal(f"{title}: {what}"), fontsize=9)
            clean(axes)
    figure.supxlabel(BARS, fontsize=8)
    return figure


def _top(estimates: Sequence[Estimate]) -> float:
    """Of the highest bar with its interval; the same in all rows, so that they can be compared."""
    values, errors = bars_of(list(estimates))
    return max((v + e for v, e in zip(values, errors[1], strict=True)), default=1.0) or 1.0


def frontier(comparison: Comparison) -> Figure | None:
    """The main metric against cost per episode (tokens where the cost is not known for all); the
    line joins what nothing cheaper equals. Without conditions that give the answer away; points at
    one place are moved apart. None where neither is known."""
    across = next((q for q in ("cost_usd", "tokens") if _has_costs(comparison, q)), None)
    if across is None:
        return None
    scores, costs = comparison.means[comparison.metric], _costs(comparison, across)
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
    best = _pareto_front(points, comparison.is_error)
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
    fillings = {i: FILLINGS[k % len(FILLINGS)] for k, own in enumerate(runs.values()) for i in own}
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
    for title, own in runs.items() if len(runs) > 1 else ():
        axes.plot([], [], linestyle="none", color="#777777", marker="o", markersize=9,
                  fillstyle=fillings[own[0]], markerfacecoloralt="white",
                  label=literal(title))  # fmt: skip


def _has_costs(comparison: Comparison, across: str) -> bool:
    return all(cost is not None for cost in _costs(comparison, across))


def _costs(comparison: Comparison, across: str) -> list[float | None]:
    if across == "cost_usd":
        return [e.value for e in comparison.means["cost_usd"]]
    parts = (comparison.means["input_tokens"], comparison.means["output_tokens"])
    return [
        None if a.value is None or b.value is None else a.value + b.value
        for a, b in zip(*parts, strict=True)
    ]


def _pareto_front(points: list[Point], is_error: bool) -> list[Point]:
    """The points that are better than every cheaper one."""
    best: list[Point] = []
    sign = -1 if is_error else 1
    for point in sorted(points, key=lambda p: (p[0], -sign * p[1])):
        if not best or sign * point[1] > sign * best[-1][1]:
            best.append(point)
    return best


def flips(comparison: Comparison) -> Figure | None:
    """For each planned difference: on how many samples it got better, worse, stayed; None where
    nothing is planned."""
    rows = [c for c in comparison.contrasts if c.planned.is_simple and c.pairs]
    if not rows:
        return None
    labels = [wrapped(c.name) for c in reversed(rows)]
    lines = [line for label in labels for line in label.split("\n")]
    height = 0.42 * len(rows) + 0.14 * (len(lines) - len(rows)) + 1.3
    figure = Figure(figsize=(5.2 + 0.075 * max(map(len, lines)), height), layout="constrained")
    axes = figure.subplots()
    most = max(max(c.better, c.worse) for c in rows) or 1
    for place, c in enumerate(reversed(rows)):
        axes.barh(place, c.better, color=pale(COLOURS[1]), edgecolor="black", linewidth=0.8,
                  label="better" if place == 0 else None)  # fmt: skip
        axes.barh(place, -c.worse, color=pale(COLOURS[2]), edgecolor="black", linewidth=0.8,
                  hatch="////", label="worse" if place == 0 else None)  # fmt: skip
        up = " *" if c.is_significant and c.better >= c.worse else ""
        down = "* " if c.is_significant and not up else ""
        axes.text(c.better + 0.02 * most, place, f"{c.better}{up}", va="center", fontsize=8)
        axes.text(
            -c.worse - 0.02 * most, place, f"{down}{c.worse}", va="center", ha="right", fontsize=8
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.set_xlim(-1.18 * most, 1.18 * most)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    ticks = [t for t in axes.get_xticks() if abs(t) <= 1.18 * most]
    axes.set_xticks(ticks, [f"{abs(t):g}" for t in ticks])
    axes.set_xlabel(f"samples that changed, of {rows[0].pairs} "
                    "(* significant after Holm's correction)")  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return figure


def reliability(comparison: Comparison) -> Figure | None:
    """pass^k over k, a line per condition and a panel per run; None without repeats."""
    by_k = pass_hat(comparison)
    if len(by_k) < 2:
        return None
    runs, styles = runs_of(comparison), looks(comparison.study.arms)
    figure = Figure(figsize=(3.6 * len(runs) + 0.8, 3.8), layout="constrained")
    axeses = figure.subplots(1, len(runs), sharey=True, squeeze=False)
    for axes, (title, own) in zip(axeses.flat, runs.items(), strict=True):
        for k, i in enumerate(own):
            name = comparison.study.arms[i].name_in_run
            look = styles[name]
            points = [(at, by[i]) for at, by in by_k.items() if by[i].value is not None]
            values, errors = bars_of([e for _, e in points])
            shift = (k - (len(own) - 1) / 2) * 0.035
            axes.errorbar([at + shift for at, _ in points], values, yerr=errors,
                          label=literal(name), color=look.colour, marker=look.marker,
                          linestyle=look.line, markersize=5, elinewidth=0.7, capsize=2)  # fmt: skip
        axes.set_title(literal(title), fontsize=10)
        axes.set_xticks(list(by_k))
        axes.set_ylim(-0.04, 1.04)
        clean(axes)
    figure.supxlabel(f"k episodes of one sample, all right ({BARS})", fontsize=10)
    axeses.flat[0].set_ylabel("pass^k")
    legend(figure, axeses.flat)
    return figure
