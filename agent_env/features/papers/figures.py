"""Figures of a reproduction: the paper's values beside ours with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.features.papers.paper import Quantity
from agent_env.features.papers.results import ExperimentResult, PaperRow
from agent_env.sdk.results import clean, literal, series_look

GREY = "#9a9a9a"
MOST_NAMES = 12
"""With more rows and models than these, rows are on the vertical axis."""
MOST_GOLDS = 2
"""More readings of the gold are in the table only."""
CAPTION = (
    "Filled marks and bars: ours with 95 % intervals. Hollow marks: the paper's row that ours is "
    "compared with. Small grey marks and lines: the paper's other rows."
)


def paper_figure(result: ExperimentResult) -> Figure | None:
    """A panel for each unit; curves where the quantities have a place on an axis. None where there
    is nothing of ours. Of the readings of the gold it has the first two."""
    if not result.is_reproduced:
        return None
    golds = list(dict.fromkeys(row.gold for row in result.rows))[:MOST_GOLDS]
    result = replace(result, rows=tuple(row for row in result.rows if row.gold in golds))
    is_curve = result.experiment.is_curve
    if not is_curve and len(_names(result)) > MOST_NAMES:
        # rows on the vertical axis, a panel for each quantity, a colour for each model and reading
        labels = list(dict.fromkeys(row.row for row in result.rows))
        sources = list(dict.fromkeys(_name(row, with_row=False) for row in result.rows))
        count = len(result.experiment.quantities)
        size = (2.2 + 3.2 * count, 1.4 + 0.13 * len(labels) * (1 + len(sources)))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(1, count, squeeze=False, sharey=True)[0]
        for axes, quantity in zip(panels, result.experiment.quantities, strict=True):
            rows = [r for r in result.rows if r.quantity == quantity and r.ours.value is not None]
            for row in rows:
                k = sources.index(_name(row, with_row=False))
                place = labels.index(row.row) + 0.7 * ((k + 1) / (len(sources) + 1) - 0.5)
                _mark(axes, row, place, k)
            values = [v for r in rows for v in (r.ours.value, r.paper) if v is not None]
            if values and min(values) > 0 and max(values) > 100 * min(values):
                axes.set_xscale("log")
            own_unit = "" if quantity.unit == quantity.name else f" ({quantity.unit})"
            axes.set_xlabel(literal(f"{quantity.name}{own_unit}"))
            clean(axes, "x")
        panels[0].set_yticks(range(len(labels)), [literal(label) for label in labels], fontsize=8)
        panels[0].set_ylim(len(labels) - 0.4, -0.6)
        for k, source in enumerate(sources):
            colour, marker, _ = series_look(k)
            panels[0].plot([], [], marker, color=colour, label=literal(source or "ours"))
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8
        )
        return figure
    units = list(dict.fromkeys(quantity.unit for quantity in result.experiment.quantities))
    tallest = max(sum(q.unit == unit for q in result.experiment.quantities) for unit in units)
    height = 3.4 if is_curve else 1.3 + 0.2 * tallest * max(1, len(_names(result)))
    figure = Figure(figsize=(1.5 + 4.6 * len(units), height + 0.5), layout="constrained")
    panels = figure.subplots(1, len(units), squeeze=False)[0]
    for axes, unit in zip(panels, units, strict=True):
        own = [quantity for quantity in result.experiment.quantities if quantity.unit == unit]
        (_curves if is_curve else _points)(axes, result, own)
        clean(axes, "y" if is_curve else "x")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _names(result: ExperimentResult) -> list[str]:
    return list(dict.fromkeys(_name(row) for row in result.rows))


def _name(row: PaperRow, with_row: bool = True) -> str:
    parts = (row.row if with_row else "", row.model, row.gold)
    return ", ".join(filter(None, parts))


def _points(axes: Axes, result: ExperimentResult, quantities: Sequence[Quantity]) -> None:
    names = _names(result)
    for place, quantity in enumerate(quantities):
        paper = [
            value for values in result.experiment.published.values()
            if (value := values[result.experiment.quantities.index(quantity)]) is not None
        ]  # fmt: skip
        axes.plot(paper, [place] * len(paper), "|", color=GREY, markersize=9, zorder=1)
        for row in result.rows:
            if row.quantity == quantity and row.ours.value is not None:
                k = names.index(_name(row))
                _mark(axes, row, place + 0.6 * ((k + 1) / (len(names) + 1) - 0.5), k)
    axes.set_yticks(range(len(quantities)), [literal(q.name) for q in quantities])
    axes.set_ylim(len(quantities) - 0.4, -0.6)
    axes.set_xlabel(literal(quantities[0].unit))
    for k, name in enumerate(names):
        colour, marker, _ = series_look(k)
        axes.plot([], [], marker, color=colour, label=literal(name))


def _mark(axes: Axes, row: PaperRow, y: float, k: int) -> None:
    colour, marker, _ = series_look(k)
    ours = row.ours
    if ours.low is not None and ours.high is not None:
        axes.plot([ours.low, ours.high], [y, y], color=colour, linewidth=1.4, zorder=2)
    axes.plot([_or_nan(ours.value)], [y], marker, color=colour, markersize=5.5, zorder=3)
    if row.paper is not None:
        axes.plot([row.paper], [y], marker, mfc="none", mec=colour, markersize=8, zorder=3)


def _curves(axes: Axes, result: ExperimentResult, quantities: Sequence[Quantity]) -> None:
    xs = [quantity.x for quantity in quantities if quantity.x is not None]
    places = [result.experiment.quantities.index(quantity) for quantity in quantities]
    for published in result.experiment.published.values():
        axes.plot(
            xs, [_or_nan(published[k]) for k in places], "-", color=GREY, linewidth=0.8, zorder=1
        )
    ours = list(dict.fromkeys(_name(row) for row in result.rows if not row.is_shortcut))
    for k, name in enumerate(_names(result)):
        rows = [
            row for row in result.rows
            if _name(row) == name and row.quantity in quantities and row.quantity.x is not None
            and row.ours.value is not None
        ]  # fmt: skip
        rows.sort(key=lambda row: row.quantity.x or 0.0)
        at = [row.quantity.x or 0.0 for row in rows]
        values = [_or_nan(row.ours.value) for row in rows]
        colour, marker, line = series_look(k)
        if not rows:
            continue  # nothing was measured
        if rows[0].is_shortcut:
            axes.plot(at, values, line, color=GREY, linewidth=1.1, label=literal(name), zorder=1)
            continue
        from_middle = ours.index(name) - (len(ours) - 1) / 2
        shift = 0.012 * (max(xs) - min(xs)) * from_middle  # intervals stay apart
        at = [place + shift for place in at]
        ends = [(_or_nan(row.ours.low), _or_nan(row.ours.high)) for row in rows]
        axes.vlines(at, [low for low, _ in ends], [high for _, high in ends], color=colour, lw=1)
        axes.plot(at, values, line, marker=marker, color=colour, markersize=4, label=literal(name))
    axes.set_xticks(xs)
    axes.set_ylabel(literal(quantities[0].unit))


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
