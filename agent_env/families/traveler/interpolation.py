"""Between measured points: linear, linear over log10 of the minutes, or PCHIP over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

Method = Literal["linear", "log-linear", "pchip"]


def log_minutes(minutes: float) -> float:
    """The scale of log-linear and PCHIP, as distances range from minutes to months."""
    return math.log10(minutes)


def interpolate(
    method: Method,
    minutes: Sequence[float],
    values: Sequence[float],
    slopes: Sequence[float] | None,
    at: int,
    x: float,
) -> float:
    """The value at `x` minutes, which lies between the points `at` and `at + 1`."""
    scale = float if method == "linear" else log_minutes
    low, high = scale(minutes[at]), scale(minutes[at + 1])
    width, t = high - low, (scale(x) - low) / (high - low)
    before, after = values[at], values[at + 1]
    if slopes is None:
        return before + t * (after - before)
    return (
        (1 + 2 * t) * (1 - t) ** 2 * before
        + t * (1 - t) ** 2 * width * slopes[at]
        + t * t * (3 - 2 * t) * after
        - t * t * (1 - t) * width * slopes[at + 1]
    )


def pchip_slopes(x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Slopes at the points that keep a cubic monotone wherever the points are: Fritsch and
    Butland's weighted harmonic means within, one-sided three-point slopes at the ends."""
    widths = [b - a for a, b in pairwise(x)]
    rises = [(b - a) / h for (a, b), h in zip(pairwise(y), widths, strict=True)]
    if len(rises) == 1:
        return [rises[0], rises[0]]
    inner = [
        _inner(widths[i], widths[i + 1], rises[i], rises[i + 1]) for i in range(len(rises) - 1)
    ]
    first = _end(widths[0], widths[1], rises[0], rises[1])
    last = _end(widths[-1], widths[-2], rises[-1], rises[-2])
    return [first, *inner, last]


def _inner(h0: float, h1: float, d0: float, d1: float) -> float:
    if d0 * d1 <= 0:
        return 0.0
    w0, w1 = 2 * h1 + h0, h1 + 2 * h0
    return (w0 + w1) / (w0 / d0 + w1 / d1)


def _end(h0: float, h1: float, d0: float, d1: float) -> float:
    slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if slope * d0 <= 0:
        return 0.0
    return 3 * d0 if d0 * d1 < 0 and abs(slope) > 3 * abs(d0) else slope
