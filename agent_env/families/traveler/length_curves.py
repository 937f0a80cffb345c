"""Accuracy by the number of events, a panel for each category.

Lines differ in colour, dash and marker, so that they are distinct in grey too. The dotted line
is the ceiling of the best possible answers, the thin one the constant answer, the dashed one the
answer that ignores the time. Every point has its
95 % CI; no line goes through a point of a single question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent_env.analysis.drawing import COLOURS, LINES, MARKERS, clean, literal
from agent_env.families.traveler.figures import Mean, ScoredEpisode, labels, means
from agent_env.families.traveler.sample import CATEGORIES

GREY = "#666666"
PANEL = (3.4, 3.0)
"""Inches."""


def length_curves(rows: Sequence[ScoredEpisode]) -> Figure:
    """The figure, with a panel for each category of the rows."""
    categories = [c for c in CATEGORIES if any(row.category == c for row in rows)]
    figure = Figure(
        figsize=(PANEL[0] * max(len(categories), 1), PANEL[1] + 1), layout="constrained"
    )
    panels = figure.subplots(1, max(len(categories), 1), squeeze=False, sharey=True)[0]
    names = labels(rows)
    for axes, category in zip(panels, categories, strict=False):
        _panel(axes, category, [row for row in rows if row.category == category], names)
    if categories:
        handles, texts = panels[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside lower center", ncols=2, frameon=False)
        panels[0].set_ylabel("accuracy")
    return figure


def _panel(axes: Axes, category: str, rows: Sequence[ScoredEpisode], names: Sequence[str]) -> None:
    sizes = sorted({row.size for row in rows})
    values = means(rows, lambda row: (row.label, row.size))
    for at, name in enumerate(names):
        at_sizes = {n: values[name, size] for n, size in enumerate(sizes) if (name, size) in values}
        _curve(axes, at, literal(name), at_sizes)
    for value, dash, label in (
        ("ceiling", ":", "best possible answers"),
        ("always_no", "-", "always no, nobody, 0, never"),
        ("ignore_time", "--", "the time ignored"),
    ):
        by_size = means(rows, lambda row: row.size, value)
        line = _line_values({n: by_size[size] for n, size in enumerate(sizes)})
        axes.plot(range(len(sizes)), line, dash, color=GREY, linewidth=1, label=label)
    axes.set_title(category)
    axes.set_xlabel("events")
    axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
    axes.set_ylim(-0.03, 1.03)
    clean(axes)


def _curve(axes: Axes, at: int, label: str, by_place: Mapping[int, Mean]) -> None:
    """One model's means with their intervals, a little to the right of the model before."""
    across = [place + 0.04 * at for place in by_place]
    values = [mean.value for mean in by_place.values()]
    low = [mean.value - mean.low for mean in by_place.values()]
    high = [mean.high - mean.value for mean in by_place.values()]
    colour = COLOURS[1:][at % (len(COLOURS) - 1)]
    axes.plot(across, _line_values(by_place), LINES[at % len(LINES)], color=colour)
    axes.errorbar(
        across, values, (low, high), fmt=MARKERS[at % len(MARKERS)], color=colour, markersize=4,
        elinewidth=0.8, label=label,
    )  # fmt: skip


def _line_values(by_place: Mapping[int, Mean]) -> list[float]:
    """The means; NaN, where a line breaks, for those of one question."""
    return [mean.value if mean.n > 1 else float("nan") for mean in by_place.values()]
