"""Bars of tokens and time over the steps of an episode, as figures for SVG attributes.

Lengths are attributes and not styles, so that the pages need no inline style.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_env.viewer.story import Step

HEIGHT = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """One rectangle."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One step."""

    step: int
    x: float
    width: float
    words: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """All steps beside each other."""

    width: float
    bars: tuple[Bar, ...]
    most: str
    """What the full height stands for."""


def token_chart(steps: Sequence[Step]) -> Chart | None:
    """Input tokens (cached ones apart) with output on top; None where none is known."""
    figures = [_tokens(step) for step in steps]
    most = max((sum(f for _, f in figure) for figure in figures), default=0.0)
    if most <= 0:
        return None
    words = [
        f"step {step.number}: {_number(step.input_tokens)} in, {_number(step.output_tokens)} out"
        for step in steps
    ]
    return _chart(steps, figures, most, words, f"{most:,.0f} tokens")


def time_chart(steps: Sequence[Step]) -> Chart | None:
    """Seconds in the model with those in tools on top; None where there are none."""
    figures = [[("model", step.model_s), ("tool", step.tools_s)] for step in steps]
    most = max((sum(f for _, f in figure) for figure in figures), default=0.0)
    if most <= 0:
        return None
    words = [
        f"step {step.number}: model {step.model_s:.3f} s, tools {step.tools_s:.3f} s"
        for step in steps
    ]
    return _chart(steps, figures, most, words, f"{most:.3g} s")


def _tokens(step: Step) -> list[tuple[str, float]]:
    usage = step.model.reply.usage if step.model and step.model.reply else None
    if usage is None:
        return []
    cached = usage.cached_tokens or 0
    fresh = max(0, (usage.input_tokens or 0) - cached)
    return [("cached", cached), ("input", fresh), ("output", usage.output_tokens or 0)]


def _chart(
    steps: Sequence[Step],
    figures: Sequence[Sequence[tuple[str, float]]],
    most: float,
    words: Sequence[str],
    full: str,
) -> Chart:
    wide = min(48.0, max(6.0, 720.0 / max(1, len(steps))))
    bars = []
    for i, step in enumerate(steps):
        x, top, parts = i * wide, HEIGHT, []
        for kind, figure in figures[i]:
            height = round(HEIGHT * figure / most, 2)
            if height > 0:
                top -= height
                parts.append(
                    Part(kind, round(x + 0.5, 2), round(top, 2), round(wide - 1, 2), height)
                )
        bars.append(Bar(step.number, round(x, 2), round(wide, 2), words[i], tuple(parts)))
    return Chart(round(wide * len(steps), 2), tuple(bars), full)


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
