"""Figures 2, 3 and 5 of the paper: a line for each model, shortcuts in grey behind them."""

from __future__ import annotations

from matplotlib.figure import Figure

from agent_env.families.tdbench.layouts import Layout
from agent_env.sdk.results import COLOURS, LINES, MARKERS, clean, literal

GREY = "#8a8a8a"
FIGURES = ("fig2", "fig3", "fig5")
SHORTCUTS_DRAWN = ("constant", "latest-row", "ignore-time")


def layout_figure(layout: Layout) -> Figure:
    """Values over the columns, with 95 % bars."""
    figure = Figure(figsize=(2.2 + 0.62 * len(layout.columns), 4.4), layout="constrained")
    axes = figure.subplots()
    places = range(len(layout.columns))
    for k, row in enumerate(row for row in layout.rows if row in SHORTCUTS_DRAWN):
        values = _values(layout, row)
        axes.plot(places, values, LINES[1 + k], color=GREY, linewidth=1, label=f"[{row}]")
    models = [row for row in layout.rows if row not in layout.shortcuts]
    for k, row in enumerate(models):
        values, cells = _values(layout, row), [layout.cells[row, c] for c in layout.columns]
        below = [0.0 if e.low is None else (e.value or 0.0) - e.low for e in cells]
        above = [0.0 if e.high is None else e.high - (e.value or 0.0) for e in cells]
        shift = 0.16 * (k - (len(models) - 1) / 2) / max(1, len(models) - 1)
        axes.errorbar(
            [place + shift for place in places], values, [below, above],
            color=COLOURS[(k + 1) % len(COLOURS)], marker=MARKERS[k % len(MARKERS)],
            markersize=4.5, linewidth=1.4, elinewidth=0.8, capsize=2, label=literal(row),
        )  # fmt: skip
    ns = [max(layout.cells[row, c].samples for row in models) for c in layout.columns]
    names = [f"{literal(c)}\nn={n}" for c, n in zip(layout.columns, ns, strict=True)]
    axes.set_xticks(list(places), names, rotation=40, ha="right", fontsize=8)
    axes.set_ylim(-3, 103)
    axes.set_ylabel("A, % (bars: 95 %)")
    axes.set_title(literal(layout.title), fontsize=10)
    clean(axes)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _values(layout: Layout, row: str) -> list[float]:
    values = (layout.cells[row, column].value for column in layout.columns)
    return [float("nan") if value is None else value for value in values]
