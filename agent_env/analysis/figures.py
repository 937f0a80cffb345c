"""Figures of a comparison: SVG and PNG, readable in grey and by colour-blind readers.

Every condition has its own colour, marker, line and hatch, and keeps them through all figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.drawing import COLOURS, HATCHES, LINES, MARKERS, clean, literal, pale
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.statistics.reliability import pass_hat
from agent_env.analysis.study import Arm

Point = tuple[float, float, int]
"""Cost, score, and the place of the arm."""
BARS = "bars: 95 %; none for too few samples or equal values"


@dataclass(frozen=True, slots=True)
class Look:
    """How a condition is drawn."""

    colour: str
    marker: str
    line: str
    hatch: str


def looks(arms: tuple[Arm, ...]) -> dict[str, Look]:
    """By condition name; the same in every panel."""
    names = list(dict.fromkeys(arm.condition.name for arm in arms))
    return {
        name: Look(
            COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)],
            LINES[i % len(LINES)], HATCHES[i % len(HATCHES)],
        )
        for i, name in enumerate(names)
    }  # fmt: skip


def all_figures(comparison: Comparison) -> dict[str, Figure]:
    """By file name, those that the study has something for."""
    makers: dict[str, Callable[[Comparison], Figure | None]] = {
        "by-solutions": by_solutions,
        "conditions": condition_bars,
        "frontier": frontier,
        "flips": flips,
        "reliability": reliability,
    }
    figures = ((name, make(comparison)) for name, make in makers.items())
    return {name: figure for name, figure in figures if figure is not None}


def _by_run(comparison: Comparison) -> dict[str, list[int]]:
    """Places of each run's arms; the title is the model's name where that tells runs apart."""
    runs: dict[str, list[int]] = {}
    for i, arm in enumerate(comparison.study.arms):
        runs.setdefault(arm.run, []).append(i)
    models = [comparison.study.arms[own[0]].model for own in runs.values()]
    apart = len(set(models)) == len(models)
    return {m if apart else run: own for m, (run, own) in zip(models, runs.items(), strict=True)}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _limit(axes: Axes, comparison: Comparison) -> None:
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


def by_solutions(comparison: Comparison) -> Figure | None:
    """The main metric over the solution count, a panel per run, a line per condition; None where
    samples have no solution count."""
    if len(comparison.groups.get("solutions", {})) < 2:
        return None
    found = comparison.by_group("solutions", comparison.metric)
    runs, styles = _by_run(comparison), looks(comparison.study.arms)
    columns = min(3, len(runs))
    rows = -(-len(runs) // columns)
    figure = Figure(figsize=(4.2 * columns + 1.2, 3.2 * rows + 0.9), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, sharex=True, squeeze=False)
    for axes in panels.flat[len(runs) :]:
        axes.set_visible(False)
    for axes, (title, own) in zip(panels.flat, runs.items(), strict=False):
        for k, i in enumerate(own):
            name = comparison.study.arms[i].condition.name
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
        _limit(axes, comparison)
        clean(axes)
    figure.supxlabel(f"number of solutions ({BARS})", fontsize=10)
    figure.supylabel(_words(comparison.metric), fontsize=10)
    _legend(figure, panels.flat[0])
    return figure


def _legend(figure: Figure, axes: Axes) -> None:
    """Above everything, outside the panels, so that it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(6, len(labels)),
                  frameon=False, fontsize=9)  # fmt: skip


def condition_bars(comparison: Comparison) -> Figure | None:
    """The main metric and output tokens as bars with error bars, a row per run."""
    runs, styles = _by_run(comparison), looks(comparison.study.arms)
    scores = comparison.means[comparison.metric]
    tokens = comparison.means["output_tokens"]
    quantities = [(_words(comparison.metric), scores, "{:.2f}")]
    if any(e.value is not None for e in tokens):
        quantities.append(("output tokens", tokens, "{:,.0f}"))
    widest = max(len(own) for own in runs.values())
    figure = Figure(
        figsize=((0.75 * widest + 1.6) * len(quantities), 2.7 * len(runs) + 0.4),
        layout="constrained",
    )
    panels = figure.subplots(len(runs), len(quantities), squeeze=False)
    for row, (title, own) in zip(panels, runs.items(), strict=True):
        for axes, (what, estimates, form) in zip(row, quantities, strict=True):
            values, errors = bars_of([estimates[i] for i in own])
            names = [comparison.study.arms[i].condition.name for i in own]
            top = max((v + e for v, e in zip(values, errors[1], strict=True)), default=1.0) or 1.0
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


def frontier(comparison: Comparison) -> Figure | None:
    """The main metric against cost per episode (tokens where the cost is not known for all); the
    line joins what nothing cheaper equals. None where neither is known."""
    across = next((q for q in ("cost_usd", "tokens") if _has_costs(comparison, q)), None)
    if across is None:
        return None
    scores, costs = comparison.means[comparison.metric], _costs(comparison, across)
    points = [
        (cost, score.value, i)
        for i, (cost, score) in enumerate(zip(costs, scores, strict=True))
        if cost is not None and score.value is not None
    ]
    figure = Figure(figsize=(6.8, 4.2), layout="constrained")
    axes = figure.subplots()
    styles, runs = looks(comparison.study.arms), _by_run(comparison)
    filled = {i: k == 0 for k, own in enumerate(runs.values()) for i in own}
    names = {i: run for run, own in runs.items() for i in own}
    for cost, value, i in points:
        arm = comparison.study.arms[i]
        look = styles[arm.condition.name]
        label = arm.condition.name if len(runs) == 1 else f"{names[i]} {arm.condition.name}"
        _, errors = bars_of([scores[i]])
        axes.errorbar(cost, value, yerr=[errors[0], errors[1]], color=look.colour,
                      marker=look.marker, markersize=8, label=literal(label), capsize=2,
                      elinewidth=0.8, linestyle="none",
                      markerfacecolor=look.colour if filled[i] else "white")  # fmt: skip
    best = _pareto_front(points, comparison.is_error)
    axes.plot([p[0] for p in best], [p[1] for p in best], color="#888888", linewidth=1, zorder=0)
    unit = "US dollars" if across == "cost_usd" else "tokens (input and output)"
    axes.set_xlabel(f"{unit} per episode ({BARS})")
    axes.set_ylabel(_words(comparison.metric))
    _limit(axes, comparison)
    axes.set_xlim(left=0)
    clean(axes)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


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
    longest = max(len(c.name) for c in rows)
    figure = Figure(figsize=(5.2 + 0.075 * longest, 0.42 * len(rows) + 1.3), layout="constrained")
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
    axes.set_yticks(range(len(rows)), [literal(c.name) for c in reversed(rows)], fontsize=8)
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
    runs, styles = _by_run(comparison), looks(comparison.study.arms)
    figure = Figure(figsize=(3.6 * len(runs) + 0.8, 3.8), layout="constrained")
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)
    for axes, (title, own) in zip(panels.flat, runs.items(), strict=True):
        for k, i in enumerate(own):
            name = comparison.study.arms[i].condition.name
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
    panels.flat[0].set_ylabel("pass^k")
    _legend(figure, panels.flat[0])
    return figure
