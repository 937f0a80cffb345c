"""The paper's Figures 2–13 and a histogram of Table 3, drawn from the tables of `layouts`.

Every figure states its number of answers, questions or files; bars are 95 % intervals, where the
table has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import ConnectionPatch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from agent_env.families.temp_answers.study import layouts as curves
from agent_env.families.temp_answers.study.layouts import Answers, Cell, Row
from agent_env.sdk.results import COLOURS, HATCHES, clean, literal, pale

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


WORDS = {"exact_match": "exact match (%)", "smape": "sMAPE (%)", "mase": "MASE"}
Fill = Literal["full", "none", "left", "top"]
FILLS: tuple[Fill, ...] = ("full", "none", "left", "top")
"""By prompting method."""
SHAPES = "osD^v<>p"
"""By model; all can be hollow."""
BETTER, WORSE, SAME = "#0072B2", "#D55E00", "#777777"


def all_figures(answers: Answers) -> dict[str, Figure]:
    """The figures with data, by file name."""
    makers: dict[str, Callable[[Answers], Figure | None]] = {
        "figure_2_ranking_smape": partial(ranking, metric="smape"),
        "figure_3_ranking_mase": partial(ranking, metric="mase"),
        "figure_4_correlations": correlations,
        "figure_5_possible": possible_smape,
        "figure_11_reasoning": reasoning,
        "figure_12_smape": partial(scatter, metric="smape"),
        "figure_13_mase": partial(scatter, metric="mase"),
        "table_3_errors": error_sizes,
    }
    figures = ((name, make(answers)) for name, make in makers.items())
    return {name: f for name, f in figures if f is not None} | label_densities(answers)


def _plain(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _log(axis: Axes, which: str) -> None:
    """Makes an axis logarithmic, with plain numbers."""
    getattr(axis, f"set_{which}scale")("log")
    place = axis.xaxis if which == "x" else axis.yaxis
    place.set_major_formatter(FuncFormatter(_plain))
    place.set_minor_formatter(NullFormatter())


# Rankings (Figures 2 and 3) -----------------------------------------------------------------------


def ranking(answers: Answers, metric: str) -> Figure | None:
    """Models by exact match and by another metric, with lines between their ranks."""
    rows = curves.rankings(answers).by_column()
    sides = [[row for row in rows if row["metric"] == name] for name in ("exact_match", metric)]
    if not sides[1]:
        return None
    points = curves.scatter(answers).by_column()
    most = max(map(len, sides))
    figure = Figure(figsize=(10.5, 0.42 * most + 1.9), layout="constrained")
    panels = figure.subplots(1, 2, gridspec_kw={"wspace": 0.22})
    for axes, name, side_rows in zip(panels, ("exact_match", metric), sides, strict=True):
        if name == "mase" and all(number(row["mean"]) > 0 for row in side_rows):
            _log(axes, "x")
            axes.axvline(1, color=SAME, linestyle=":", linewidth=1)
        for place, row in enumerate(side_rows, start=1):
            own = [number(p[name]) for p in points if p["model"] == row["model"]]
            axes.plot(own, [place] * len(own), "o", color="#999999", markersize=4, alpha=0.6,
                      zorder=1)  # fmt: skip
            axes.errorbar(number(row["mean"]), place, xerr=bars(row, "mean", "low", "high"),
                          color="black", marker="s", markersize=4, capsize=4)  # fmt: skip
        axes.set_yticks(
            range(1, len(side_rows) + 1),
            [literal(f"{row['rank']}  {row['model']}") for row in side_rows], fontsize=9,
        )  # fmt: skip
        axes.set_ylim(most + 0.6, 0.4)
        if name != "mase":
            axes.set_xlim(0, 100)
        axes.set_xlabel(f"{WORDS[name]}, {'more' if name == 'exact_match' else 'less'} is better")
        clean(axes, "x")
    panels[1].yaxis.tick_right()
    panels[1].spines[["left", "right"]].set_visible(False)
    _moves(figure, panels, *sides)
    _key(
        figure,
        [Line2D([], [], color="black", marker="s", markersize=4, label="mean, 95 % interval"),
         Line2D([], [], color="#999999", marker="o", linestyle="none", label="one file"),
         Line2D([], [], color=BETTER, label="rank rises"),
         Line2D([], [], color=WORSE, linestyle="--", label="rank falls"),
         Line2D([], [], color=SAME, linestyle=":", label="rank stays")],
        f"n = {_files(sides[0])}, {sum(s.n for s in answers.summaries):,} answers"
        + (f"; on the right {_files(sides[1])}" if _files(sides[0]) != _files(sides[1]) else ""),
    )  # fmt: skip
    _note_infinite(figure, answers, metric)
    return figure


def _files(rows: Sequence[Row]) -> str:
    count = sum(int(number(row["files"])) for row in rows)
    return f"{count} file" if count == 1 else f"{count} files"


def _note_infinite(figure: Figure, answers: Answers, *metrics: str) -> None:
    """Notes below the figure the number of files with an infinite mean."""
    notes = [
        f"{answers.infinite(name)} of {len(answers.files)} files not drawn: infinite {WORDS[name]}"
        for name in metrics
        if answers.infinite(name)
    ]
    if notes:
        figure.text(0.01, -0.01, "; ".join(notes), fontsize=8.5, va="top")


def _moves(
    figure: Figure, panels: Sequence[Axes], before: Sequence[Row], after: Sequence[Row]
) -> None:
    """Draws a line from each model's rank on the left to that on the right."""
    places = {row["model"]: place for place, row in enumerate(before, start=1)}
    for new, row in enumerate(after, start=1):
        old, gained = places[row["model"]], number(row["ranks_gained_on_exact_match"])
        colour, line = (BETTER, "-") if gained > 0 else (WORSE, "--") if gained else (SAME, ":")
        figure.add_artist(
            ConnectionPatch(
                (1.01, old), (-0.01, new), panels[0].get_yaxis_transform(),
                panels[1].get_yaxis_transform(), color=colour, linestyle=line, linewidth=1.6,
                arrowstyle="->", mutation_scale=12,
            )
        )  # fmt: skip


def _key(figure: Figure, handles: Sequence[Line2D], n_label: str) -> None:
    """Adds the legend and n above the panels."""
    figure.legend(handles=[*handles, Line2D([], [], linestyle="none", label=n_label)],
                  loc="outside upper center", ncols=6, frameon=False,
                  fontsize=8.5)  # fmt: skip


# Correlations (Figure 4) --------------------------------------------------------------------------


def correlations(answers: Answers) -> Figure | None:
    """Spearman's rank correlations between the metrics, a matrix for each dataset."""
    rows = [r for r in curves.correlations(answers).by_column() if r["spearman"] is not None]
    datasets = distinct(rows, "dataset")
    if not datasets:
        return None
    figure, panels = panel_grid(len(datasets), len(datasets), 3.9, 3.3, (0.8, 0))
    across, down = ("exact match", "sMAPE"), ("sMAPE", "MASE")
    names = {"exact_match": "exact match", "smape": "sMAPE", "mase": "MASE"}
    for axes, dataset in zip(panels, datasets, strict=True):
        grid = [[math.nan] * 2 for _ in range(2)]
        own = [row for row in rows if row["dataset"] == dataset]
        for row in own:
            x, y = across.index(names[str(row["metric"])]), down.index(names[str(row["other"])])
            value = grid[y][x] = number(row["spearman"])
            label = f"{value:+.2f}"
            if row["low"] is not None:
                label += f"\n[{number(row['low']):+.2f}, {number(row['high']):+.2f}]"
            axes.text(x, y, label, ha="center", va="center", fontsize=9,
                      color="white" if abs(value) > 0.6 else "black")  # fmt: skip
        image = axes.imshow(grid, cmap="PuOr", vmin=-1, vmax=1)
        axes.set_xticks(range(2), across)
        axes.set_yticks(range(2), down)
        axes.spines[:].set_visible(False)
        counts = sorted({int(number(row["n"])) for row in own})
        label = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        axes.set_title(f"{literal(dataset)} (n = {label} files)", fontsize=10)
    _note_infinite(figure, answers, "mase")
    figure.colorbar(image, ax=panels, label="Spearman's rank correlation", shrink=0.9)
    return figure


# Possible sMAPE (Figure 5) ------------------------------------------------------------------------


def possible_smape(answers: Answers) -> Figure:
    """The possible range of sMAPE by exact match, with the files as points."""
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    bands: dict[Cell, list[Row]] = {}
    for row in curves.possible_smape(answers).by_column():
        bands.setdefault(row["least_error"], []).append(row)
    for k, (least, band) in enumerate(bands.items()):
        xs = [number(row["exact_match"]) for row in band]
        lows = [number(row["low"]) for row in band]
        axes.fill_between(xs, lows, [number(row["high"]) for row in band], alpha=0.55,
                          facecolor=pale(COLOURS[k + 1]), edgecolor=COLOURS[k + 1],
                          hatch=("", "//", "xx")[k % 3], linewidth=1.2,
                          label=f"wrong answers off by at least {least} %")  # fmt: skip
    points = [p for p in curves.scatter(answers).by_column() if p["smape"] is not None]
    axes.plot([number(p["exact_match"]) for p in points], [number(p["smape"]) for p in points],
              linestyle="none", marker="o", color="black", markersize=4,
              label=f"files (n = {len(points)})")  # fmt: skip
    axes.set_xlabel(WORDS["exact_match"])
    axes.set_ylabel(WORDS["smape"])
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    clean(axes)
    axes.legend(loc="upper right", frameon=False, fontsize=9)
    return figure


# Reasoning (Figure 11) ----------------------------------------------------------------------------


def reasoning(answers: Answers) -> Figure | None:
    """The share of correct calculations in the responses, of right and of wrong answers."""
    rows = curves.reasoning(answers).by_column()
    if not rows:
        return None
    datasets, models = distinct(rows, "dataset"), distinct(rows, "model")
    height = 0.5 * len(models) + 1.7
    figure, panels = panel_grid(len(datasets), len(datasets), 4.6, height, (1.5, 0))
    looks: dict[bool, tuple[str, str, Fill, float]]
    looks = {True: (BETTER, "o", "full", -0.13), False: (WORSE, "s", "none", 0.13)}
    for axes, dataset in zip(panels, datasets, strict=True):
        own = [row for row in rows if row["dataset"] == dataset]
        counts = {(r["model"], r["answer_right"]): int(number(r["responses"])) for r in own}
        for row in own:
            colour, marker, fill, shift = looks[bool(row["answer_right"])]
            percent = {k: number(row[k]) * 100 for k in ("right_steps", "low", "high")}
            axes.errorbar(percent["right_steps"], models.index(str(row["model"])) + shift,
                          xerr=bars(dict(percent), "right_steps", "low", "high"), color=colour,
                          marker=marker, fillstyle=fill, capsize=2, markersize=6)  # fmt: skip
        axes.set_yticks(
            range(len(models)),
            [f"{literal(m)}\n(n = {counts.get((m, True), 0):,} / {counts.get((m, False), 0):,})"
             for m in models], fontsize=8,
        )  # fmt: skip
        axes.set_ylim(len(models) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_title(literal(dataset), fontsize=10)
        clean(axes, "x")
    figure.supxlabel("right calculations in the text (%)", fontsize=10)
    handles = [
        Line2D([], [], color=colour, marker=marker, fillstyle=fill,
               label=f"{'right' if right else 'wrong'} answers")
        for right, (colour, marker, fill, _) in looks.items()
    ]  # fmt: skip
    _key(figure, handles, "n = right / wrong answers with a calculation")
    return figure


# Scatter (Figures 12 and 13) ----------------------------------------------------------------------


def scatter(answers: Answers, metric: str) -> Figure | None:
    """Each file by exact match and another metric, a panel for each dataset and split."""
    rows = [r for r in curves.scatter(answers).by_column() if not math.isnan(number(r[metric]))]
    if not rows:
        return None
    splits = list(dict.fromkeys((str(r["dataset"]), str(r["split"])) for r in rows))
    models, methods = distinct(rows, "model"), distinct(rows, "prompting")
    figure, panels = panel_grid(len(splits), 2, 4.4, 3.5, (2.2, 0.5), sharex=True, sharey=True)
    for axes, split in zip(panels, splits, strict=True):
        own = [r for r in rows if (r["dataset"], r["split"]) == split]
        for row in own:
            k = models.index(str(row["model"]))
            axes.errorbar(
                number(row["exact_match"]), number(row[metric]), capsize=2, elinewidth=0.8,
                xerr=bars(row, "exact_match", "exact_match_low", "exact_match_high"),
                yerr=bars(row, metric, f"{metric}_low", f"{metric}_high"),
                fillstyle=FILLS[methods.index(str(row["prompting"])) % len(FILLS)],
                markersize=7, **_mark(k),
            )  # fmt: skip
        n_label = f"{own[0]['n']:,}" if len({r["n"] for r in own}) == 1 else "different numbers of"
        axes.set_title(f"{literal(' '.join(split))} (n = {n_label} answers a file)", fontsize=10)
        axes.set_xlim(-2, 102)
        if metric == "smape":
            axes.plot([0, 100], [100, 0], color=SAME, linestyle="--", linewidth=1)
            axes.set_ylim(bottom=0)
        else:
            axes.axhline(1, color=SAME, linestyle=":", linewidth=1)
        clean(axes)
    if metric == "smape":
        panels[0].set_ylim(0, min(105, 1.25 * max(_top(r, metric) for r in rows) or 1))
    elif all(number(r[metric]) > 0 for r in rows):
        _log(panels[0], "y")
    figure.supxlabel(WORDS["exact_match"], fontsize=10)
    figure.supylabel(WORDS[metric], fontsize=10)
    line = (
        Line2D([], [], color=SAME, linestyle="--", label="largest possible")
        if metric == "smape"
        else Line2D([], [], color=SAME, linestyle=":", label="MASE 1")
    )
    bars_handle = Line2D([], [], color="black", linestyle="none", marker="|", label="bars: 95 %")
    handles = [*_model_keys(models), *_prompting_keys(methods), line, bars_handle]
    _note_infinite(figure, answers, metric)
    figure.legend(handles=handles, loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def _top(row: Row, metric: str) -> float:
    high = number(row[f"{metric}_high"])
    return number(row[metric]) if math.isnan(high) else high


def _mark(k: int) -> dict[str, Any]:
    """Colour and marker of the k-th model; 64 differ."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": SHAPES[(k + k // len(COLOURS)) % len(SHAPES)],
        "linestyle": "none",
    }


def _model_keys(models: Iterable[str]) -> list[Line2D]:
    return [Line2D([], [], label=literal(m), **_mark(k)) for k, m in enumerate(models)]


def _prompting_keys(methods: Sequence[str]) -> list[Line2D]:
    return [
        Line2D([], [], color="#999999", marker="h", linestyle="none", markersize=8,
               label=f"fill: {literal(method or '–')}",
               fillstyle=FILLS[k % len(FILLS)])
        for k, method in enumerate(methods)
    ]  # fmt: skip
