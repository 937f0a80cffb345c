"""What every figure is drawn with: colours, marks, names, files.

Colours are Okabe and Ito's, which colour-blind readers tell apart. No global state of the plotting
library is changed for longer than a file is written.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agent_env.errors import ConfigError
from agent_env.records.escaping import visible

INK, SOFT, FAINT, BETTER, WORSE = "#1b1d22", "#5b606b", "#d5d9df", "#0b62a8", "#b8470b"
PALETTE = {INK: "ink", SOFT: "soft", FAINT: "line", BETTER: "better", WORSE: "worse",
           "#ffffff": "paper"}  # fmt: skip
"""Colours of a page by its names, so that a figure within it goes dark with it."""
COLOURS = (INK, "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F")
MARKERS = "osD^vPX*"
LINES = ("-", "--", "-.", ":")
DPI = 150
UNDATED: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None},
}  # fmt: skip
"""By the endings of a figure's files, what keeps the date out, so that equal figures are equal."""
LONGEST, LINES_OF_NAME = 100, 6
"""Characters, and lines, of a name."""


def save(figure: Figure, folder: Path, name: str) -> Iterator[Path]:
    """Write NAME.svg, NAME.png and NAME.pdf; ConfigError where that cannot be."""
    FigureCanvasAgg(figure)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, undated in UNDATED.items():
            file = folder / f"{name}.{ending}"
            figure.savefig(file, dpi=DPI, bbox_inches="tight", metadata=undated)
            yield file
    except OSError as exc:
        raise ConfigError(f"cannot write to {folder}: {exc.strerror}") from exc


def literal(text: str) -> str:
    """A name as it is: a `$` in it begins no formula, control characters and turners of
    direction are seen. A long one is cut, as the figure would grow with it."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return visible(cut).replace("$", r"\$")


def wrapped(text: str, width: int = 46) -> str:
    """A name of any length as lines, whole unless it has more than LINES_OF_NAME."""
    lines = textwrap.wrap(visible(text), width, max_lines=LINES_OF_NAME, placeholder=" …")
    return "\n".join(map(literal, lines))


def series_look(k: int) -> tuple[str, str, str]:
    """Colour, marker and line of the series at place k; the first 64 differ."""
    marker = MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]
    return COLOURS[k % len(COLOURS)], marker, LINES[k % len(LINES)]


def clean(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """No frame, thin lines behind the marks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=SOFT, labelsize=9, length=0)
    axes.grid(axis=grid, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
