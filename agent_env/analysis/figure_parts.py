"""What several figures share: the look of a condition, bars, panels, legends, marks moved apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.drawing import COLOURS, HATCHES, LINES, MARKERS
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.study import Arm

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
    names = list(dict.fromkeys(arm.name_in_run for arm in arms))
    return {
        name: Look(
            COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)],
            LINES[i % len(LINES)], HATCHES[i % len(HATCHES)],
        )
        for i, name in enumerate(names)
    }  # fmt: skip


def runs_of(comparison: Comparison) -> dict[str, list[int]]:
    """Places of each run's arms; the title is the model's name where that tells runs apart. Logs
    of other tools, of one condition each, stand together."""
    runs: dict[str, list[int]] = {}
    if all(arm.is_log for arm in comparison.study.arms):
        return {comparison.study.task: list(range(len(comparison.study.arms)))}
    for i, arm in enumerate(comparison.study.arms):
        runs.setdefault(arm.run, []).append(i)
    models = [comparison.study.arms[own[0]].model for own in runs.values()]
    apart = len(set(models)) == len(models)
    return {m if apart else run: own for m, (run, own) in zip(models, runs.items(), strict=True)}


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


def panels(count: int, sharey: bool = False, sharex: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, three in a row."""
    columns = min(3, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.2 * columns + 1.2, 3.2 * rows + 0.9), layout="constrained")
    axeses = figure.subplots(rows, columns, sharey=sharey, sharex=sharex, squeeze=False)
    for axes in axeses.flat[count:]:
        axes.set_visible(False)
    return figure, list(axeses.flat[:count])


def dodged(points: Sequence[tuple[float, float]], spans: tuple[float, float]) -> list[float]:
    """How far to move each point to the right so that none hides another; `spans` are the lengths
    of the axes."""
    placed: list[tuple[float, float]] = []
    shifts = []
    for x, y in points:
        moved = x
        while any(
            abs(moved - other) < 0.026 * spans[0] and abs(y - height) < 0.06 * spans[1]
            for other, height in placed
        ):
            moved += 0.03 * spans[0]
        placed.append((moved, y))
        shifts.append(moved - x)
    return shifts
