"""Accuracy over the number of events, a panel for each category, as one SVG without a library.

Lines differ in colour (Okabe and Ito's), dash and marker, so that they can be told in grey too.
The dotted line is the ceiling of the best possible answers, the thin one the constant answer.
Every point has its 95 % interval; no line goes through a point of a single question.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from agent_env.families.traveler.figures import Answered, Figure, labels, means
from agent_env.families.traveler.sample import CATEGORIES

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")
DASHES = ("", "7 3", "2 2", "8 2 2 2")
MARKERS = (
    '<circle cx="{x}" cy="{y}" r="3.5"/>',
    '<rect x="{x0}" y="{y0}" width="7" height="7"/>',
    '<path d="M {x} {y0} l 4.5 7 h -9 z"/>',
    '<path d="M {x} {y1} l 4.5 -7 h -9 z"/>',
)
WIDTH, HEIGHT, GAP, LEFT, TOP = 280, 220, 46, 48, 40
GREY = "#666666"


def length_curves(rows: Sequence[Answered]) -> str:
    """The SVG; panels stand for the categories that were asked."""
    names = labels(rows)
    asked = [c for c in CATEGORIES if any(row.category == c for row in rows)]
    legend = TOP + HEIGHT + 52
    wide = LEFT + len(asked) * (WIDTH + GAP)
    high = legend + 18 * (len(names) + 1) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
    ]
    for at, category in enumerate(asked):
        kept = [row for row in rows if row.category == category]
        parts += _panel(LEFT + at * (WIDTH + GAP), category, kept, names)
    parts += _legend(legend, names)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(left: int, category: str, rows: Sequence[Answered], names: Sequence[str]) -> list[str]:
    sizes = sorted({row.size for row in rows})
    across = {size: left + _place(at, len(sizes)) for at, size in enumerate(sizes)}
    parts = [f'<text x="{left + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle">{category}</text>']
    parts += _axes(left, across)
    found = means(rows, lambda row: (row.label, row.size))
    for value, dash, width in (("ceiling", "1 4", 2.0), ("always_no", "", 0.8)):
        means_of = means(rows, lambda row: row.size, value)
        kept = [(across[size], means_of[size]) for size in sizes]
        parts += _lines(kept, GREY, dash, width)
    for at, name in enumerate(names):
        kept = [(across[s] + 3 * at, found[name, s]) for s in sizes if (name, s) in found]
        colour = COLOURS[at % len(COLOURS)]
        parts += _lines(kept, colour, DASHES[at % len(DASHES)], 1.8)
        for x, figure in kept:
            parts.append(_line([(x, _down(figure.low)), (x, _down(figure.high))], colour, "", 0.8))
            parts.append(_marker(at, x, _down(figure.value)))
    return parts


def _axes(left: int, across: dict[int, float]) -> list[str]:
    bottom = TOP + HEIGHT
    parts = [
        f'<path d="M {left} {TOP} V {bottom} H {left + WIDTH}" fill="none" stroke="black"/>',
        f'<text x="{left + WIDTH / 2}" y="{bottom + 36}" text-anchor="middle">events</text>',
    ]
    for tenth in range(0, 11, 2):
        y = _down(tenth / 10)
        parts.append(f'<path d="M {left} {y:.1f} h {WIDTH}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10}</text>')
    for size, x in across.items():
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{size}</text>')
    return parts


def _legend(top: int, names: Sequence[str]) -> list[str]:
    parts = []
    for at, name in enumerate(names):
        y = top + 18 * at
        line = [(LEFT, y), (LEFT + 40, y)]
        parts.append(_line(line, COLOURS[at % len(COLOURS)], DASHES[at % len(DASHES)], 1.8))
        parts.append(_marker(at, LEFT + 20, y))
        parts.append(f'<text x="{LEFT + 50}" y="{y + 4}">{escape(name)}</text>')
    y = top + 18 * len(names)
    parts.append(_line([(LEFT, y), (LEFT + 40, y)], GREY, "1 4", 2.0))
    parts.append(f'<text x="{LEFT + 50}" y="{y + 4}">best possible answers</text>')
    parts.append(_line([(LEFT + 220, y), (LEFT + 260, y)], GREY, "", 0.8))
    parts.append(f'<text x="{LEFT + 270}" y="{y + 4}">always no, nobody, 0, never</text>')
    return parts


def _place(at: int, count: int) -> float:
    """Sizes stand at even distances, half a step from the edges."""
    return WIDTH * (at + 0.5) / count


def _down(share: float) -> float:
    return TOP + HEIGHT * (1 - share)


def _lines(
    points: Sequence[tuple[float, Figure]], colour: str, dash: str, width: float
) -> list[str]:
    """Through neighbours that are means of several answers each."""
    parts = []
    for several, some in groupby(points, lambda point: point[1].n > 1):
        kept = [(x, _down(figure.value)) for x, figure in some]
        if several and len(kept) > 1:
            parts.append(_line(kept, colour, dash, width))
    return parts


def _line(points: Sequence[tuple[float, float]], colour: str, dash: str, width: float) -> str:
    told = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="{width}"{dashes}/>'
    )


def _marker(at: int, x: float, y: float) -> str:
    shape = MARKERS[at % len(MARKERS)].format(
        x=f"{x:.1f}", y=f"{y:.1f}", x0=f"{x - 3.5:.1f}", y0=f"{y - 3.5:.1f}", y1=f"{y + 3.5:.1f}"
    )
    shape = shape.replace(f"M {x:.1f} {y - 3.5:.1f}", f"M {x:.1f} {y - 4:.1f}")
    return f'<g fill="{COLOURS[at % len(COLOURS)]}">{shape}</g>'
