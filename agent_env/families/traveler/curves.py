"""Probabilities that a vague adverbial fits an event at a distance, parametric or measured.

Parametric: p = 1 / (1 + exp(-k_A (log10 t - m_A - d_e))), t in minutes; k and m by adverbial, d by
event type. The default figures are a fit to published survey medians (RMSE 0.09).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from agent_env.errors import ConfigError
from agent_env.families.traveler.interpolation import Method, interpolate

ADVERBIALS = ("just", "recently", "some time ago", "long time ago")
SHAPES = {
    "just": (-2.73, 2.21),
    "recently": (-1.30, 3.04),
    "some time ago": (0.87, 2.65),
    "long time ago": (2.80, 3.97),
}
"""k and m by adverbial."""

Beyond = Literal["clamp", "parametric", "error"]


class Curves(Protocol):
    """The probability that an adverbial applies."""

    @property
    def name(self) -> str:
        """As it is stored with a question."""

    def p(self, event: str, adverbial: str, minutes: float) -> float:
        """In [0, 1]; ConfigError for an event or adverbial that it does not know."""


@dataclass(frozen=True, slots=True)
class Parametric:
    """The fitted curves."""

    offsets: Mapping[str, float]
    """d by event type."""
    name: str = "parametric"

    def p(self, event: str, adverbial: str, minutes: float) -> float:
        if adverbial not in SHAPES:
            raise ConfigError(f"unknown adverbial '{adverbial}'; known: {', '.join(SHAPES)}")
        if event not in self.offsets:
            known = ", ".join(self.offsets)
            raise ConfigError(f"no curve for the event '{event}'; known: {known}")
        k, m = SHAPES[adverbial]
        x = k * (math.log10(max(minutes, 1.0)) - m - self.offsets[event])
        return 1.0 / (1.0 + math.exp(-x))


@dataclass(frozen=True, slots=True)
class Curve:
    """One measured curve."""

    minutes: tuple[float, ...]
    """Ascending."""
    values: tuple[float, ...]
    slopes: tuple[float, ...] | None
    """Over log10 minutes, for PCHIP."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Curves through measured points. Before the first point its value holds; past the last one
    `beyond` says: its value (clamp), the parametric curve, or an error."""

    name: str
    points: Mapping[tuple[str, str], Curve]
    method: Method
    beyond: Beyond
    parametric: Parametric

    def p(self, event: str, adverbial: str, minutes: float) -> float:
        curve = self.points.get((event, adverbial))
        if curve is None:
            raise ConfigError(self._unknown(event, adverbial))
        if minutes <= curve.minutes[0]:
            return curve.values[0]
        if minutes >= curve.minutes[-1]:
            return self._past(event, adverbial, minutes, curve)
        at = bisect_right(curve.minutes, minutes) - 1
        value = interpolate(self.method, curve.minutes, curve.values, curve.slopes, at, minutes)
        return min(1.0, max(0.0, value))  # rounding must not lead out

    def _past(self, event: str, adverbial: str, minutes: float, curve: Curve) -> float:
        if minutes == curve.minutes[-1] or self.beyond == "clamp":
            return curve.values[-1]
        if self.beyond == "parametric":
            return self.parametric.p(event, adverbial, minutes)
        raise ConfigError(
            f"{self.name}: '{adverbial}' of '{event}' is measured up to {curve.minutes[-1]:g}"
            f" minutes, not {minutes:g}; choose beyond=clamp or beyond=parametric"
        )

    def _unknown(self, event: str, adverbial: str) -> str:
        if event not in {name for name, _ in self.points}:
            known = ", ".join(dict.fromkeys(name for name, _ in self.points))
            return f"{self.name}: no curve for the event '{event}'; known: {known}"
        known = ", ".join(a for name, a in self.points if name == event)
        return f"{self.name}: no '{adverbial}' for the event '{event}'; known: {known}"
