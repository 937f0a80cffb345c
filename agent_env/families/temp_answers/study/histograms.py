"""Histograms of scored answers: gold answers by unit and cluster, sizes of the errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from agent_env.analysis.drawing import COLOURS, HATCHES, clean, literal, pale
from agent_env.families.temp_answers.study import curves
from agent_env.families.temp_answers.study.layouts import Answers, Cell, Row

UNITS = {"date": "year", "calendar years": "year"}
"""The axis labels of points in time."""


def number(cell: Cell) -> float:
    """NaN, which is not drawn, for an unknown value."""
    return float(cell) if isinstance(cell, (int, float)) and math.isfinite(cell) else math.nan


def bars(row: Row, value: str, low: str, high: str) -> list[list[float]]:
    """Lengths below and above for `errorbar`; 0 without an interval."""
    middle = number(row[value])
    ends = (middle - number(row[low]), number(row[high]) - middle)
    return [[0.0 if math.isnan(end) else max(0.0, end)] for end in ends]


def distinct(rows: Sequence[Row], column: str) -> list[str]:
    """The values of a column, in order."""
    return list(dict.fromkeys(str(row[column]) for row in rows))


def panel_grid(
    count: int,
    most: int,
    width: float,
    height: float,
    margins: tuple[float, float],
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels, at most `most` in a row; sizes in inches."""
    columns = min(most, count)
    lines = -(-count // columns)
    size = (width * columns + margins[0], height * lines + margins[1])
    figure = Figure(figsize=size, layout="constrained")
    panels = list(figure.subplots(lines, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels[:count]


def label_densities(answers: Answers) -> dict[str, Figure]:
    """By file name: the gold answers of a dataset and split, with a panel for each unit, and a
    colour and hatch for each cluster."""
    by_split: dict[tuple[str, str], list[Row]] = {}
    for row in curves.label_densities(answers).by_column():
        by_split.setdefault((str(row["dataset"]), str(row["split"])), []).append(row)
    return {
        f"figures_6_10_labels_{_safe(dataset)}_{_safe(split)}": _densities(
            f"{dataset} {split}", rows, answers.mode
        )
        for (dataset, split), rows in by_split.items()
    }


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "-" for c in name)


def _densities(title: str, rows: Sequence[Row], mode: str) -> Figure:
    units = distinct(rows, "unit")
    figure, panels = panel_grid(len(units), 3, 3.9, 2.9, (0.4, 0.5))
    for axes, unit in zip(panels, units, strict=True):
        _density(axes, unit, [row for row in rows if row["unit"] == unit], mode)
    figure.suptitle(f"{literal(title)}: gold answers of distinct questions", fontsize=11)
    return figure


def _density(axes: Axes, unit: str, rows: Sequence[Row], mode: str) -> None:
    clusters = sorted({int(number(row["cluster"])) for row in rows})
    below: dict[Cell, float] = {}
    # a date's amount in seconds or days is drawn as a year
    year = (31_556_952 if mode == "paper" else 365.2425) if unit == "date" else 1
    equal = len({row["from"] for row in rows}) == 1
    for cluster in clusters if not equal else ():
        own = [row for row in rows if row["cluster"] == cluster]
        start = 1970 if unit == "date" else 0
        ends = [(start + number(r["from"]) / year, start + number(r["to"]) / year) for r in own]
        axes.bar(
            [low for low, _ in ends],
            [number(r["density"]) * year for r in own],
            width=[high - low for low, high in ends], align="edge",
            bottom=[below.get(r["from"], 0.0) for r in own], linewidth=0.6, edgecolor="black",
            color=pale(COLOURS[(cluster + 1) % len(COLOURS)]),
            hatch=HATCHES[cluster % len(HATCHES)], label=f"cluster {cluster + 1}",
        )  # fmt: skip
        for row in own:
            below[row["from"]] = below.get(row["from"], 0.0) + number(row["density"]) * year
    total = sum(int(number(row["count"])) for row in rows)
    axes.set_title(f"{literal(unit)} (n = {total:,})", fontsize=10)
    axes.set_xlabel(UNITS.get(unit, unit), fontsize=9)
    axes.set_ylabel(f"density per {UNITS.get(unit, unit).removesuffix('s')}", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=unit in UNITS, min_n_ticks=1))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda v, _: f"{v:.0f}" if unit in UNITS else _short(v))
    )
    axes.yaxis.set_major_locator(MaxNLocator(4))
    if equal:  # one gold answer or equal ones have no density
        value = (1970 if unit == "date" else 0) + number(rows[0]["from"]) / year
        axes.bar([value], [1.0], width=1, align="edge", color=pale(COLOURS[1]), edgecolor="black",
                 linewidth=0.6)  # fmt: skip
        axes.set_xlim(value - 3, value + 4)
        axes.set_xticks([value])
        axes.set_ylabel("share", fontsize=9)
    axes.tick_params(labelsize=8)
    if len(clusters) > 1 and not equal:
        axes.legend(fontsize=8, frameon=False)
    clean(axes)


def _short(value: float) -> str:
    """`120k`, `3.5M`: short tick labels."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 10 * size or (size > 1e3 and abs(value) >= size):
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def error_sizes(answers: Answers) -> Figure | None:
    """|e| of the wrong answers, a panel for each dataset."""
    rows = curves.error_sizes(answers).by_column()
    if not rows:
        return None
    datasets = distinct(rows, "dataset")
    figure, panels = panel_grid(len(datasets), len(datasets), 5.2, 3.5, (0.4, 0), sharey=True)
    for axes, dataset in zip(panels, datasets, strict=True):
        own = [row for row in rows if row["dataset"] == dataset]
        for place, row in enumerate(own):
            share, hatch = number(row["share_percent"]), HATCHES[1] if row["error"] == "1" else ""
            axes.bar(place, share, color=pale(COLOURS[1]), linewidth=0.8, edgecolor="black",
                     hatch=hatch)  # fmt: skip
            axes.errorbar(place, share, yerr=bars(row, "share_percent", "low", "high"),
                          color="black", capsize=3, linewidth=1)  # fmt: skip
        axes.set_xticks(range(len(own)), [str(row["error"]) for row in own], rotation=35,
                        ha="right", fontsize=8.5)  # fmt: skip
        total = sum(int(number(row["count"])) for row in own)
        axes.set_title(f"{literal(dataset)} (n = {total:,} wrong by an amount)", fontsize=10)
        clean(axes)
    figure.supxlabel("|e| in the declared unit", fontsize=10)
    panels[0].set_ylabel("share of the wrong answers (%)")
    return figure
