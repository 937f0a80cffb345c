"""Probabilities that a vague adverbial fits an event at a distance, parametric or measured.

Parametric: p = 1 / (1 + exp(-k_A (log10 t - m_A - d_e))), t in minutes; k and m by adverbial, d by
event type. The default figures are a fit to published survey medians (RMSE 0.09).
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Literal, Protocol

from agent_env.errors import ConfigError, DatasetError
from agent_env.families.traveler.interpolation import Method, interpolate, log_minutes, pchip_slopes

ADVERBIALS = ("just", "recently", "some time ago", "long time ago")
SHAPES = {
    "just": (-2.73, 2.21),
    "recently": (-1.30, 3.04),
    "some time ago": (0.87, 2.65),
    "long time ago": (2.80, 3.97),
}
"""k and m by adverbial."""

Aggregate = Literal["mean", "median"]
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


def read_curves(
    file: Path,
    aggregate: Aggregate,
    method: Method,
    beyond: Beyond,
    parametric: Parametric,
) -> Measured:
    """From JSON {event: {adverbial: {minutes: p or [votes]}}}; the first defect is named."""
    try:
        content = json.loads(file.read_bytes(), object_pairs_hook=_reject_duplicates(file))
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"not JSON: {exc}") from exc
    points = {}
    for event, adverbials in _object(file, "the file", content).items():
        for adverbial, measured in _object(file, f"'{event}'", adverbials).items():
            if adverbial not in ADVERBIALS:
                known = ", ".join(ADVERBIALS)
                reason = f"unknown adverbial '{adverbial}' of '{event}'; known: {known}"
                raise DatasetError(file, None, reason)
            where = f"'{adverbial}' of '{event}'"
            votes = _object(file, where, measured)
            points[event, adverbial] = _curve(file, where, votes, aggregate, method)
    if not points:
        raise DatasetError(file, None, "holds no curve")
    return Measured(file.name, points, method, beyond, parametric)


def _reject_duplicates(file: Path) -> Callable[[list[tuple[str, object]]], dict[str, object]]:
    def to_dict(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            duplicate = next(name for name in names if names.count(name) > 1)
            raise DatasetError(file, None, f"'{duplicate}' stands twice")
        return dict(pairs)

    return to_dict


def _object(file: Path, what: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DatasetError(file, None, f"{what} must be a JSON object")
    return value


def _curve(
    file: Path, where: str, votes: Mapping[str, object], aggregate: Aggregate, method: Method
) -> Curve:
    minutes = [_minutes(file, where, text) for text in votes]
    if len(minutes) < 2:
        raise DatasetError(file, None, f"{where} needs two times or more, has {len(minutes)}")
    for before, after in pairwise(minutes):
        if after <= before:
            raise DatasetError(
                file, None, f"{where}: times are unsorted, {after:g} after {before:g}"
            )
    values = [_value(file, f"{where} at {at}", value, aggregate) for at, value in votes.items()]
    slopes = None
    if method == "pchip":
        slopes = tuple(pchip_slopes([log_minutes(t) for t in minutes], values))
    return Curve(tuple(minutes), tuple(values), slopes)


def _minutes(file: Path, where: str, text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 < minutes < math.inf:
        raise DatasetError(file, None, f"{where}: '{text}' is no number of minutes above 0")
    return minutes


def _value(file: Path, where: str, value: object, aggregate: Aggregate) -> float:
    votes: list[float] = []
    for vote in value if isinstance(value, list) else [value]:
        if not isinstance(vote, int | float) or not 0 <= vote <= 1:
            raise DatasetError(file, None, f"{where}: {vote!r} does not lie in [0, 1]")
        votes.append(vote)
    if not votes:
        raise DatasetError(file, None, f"{where}: there are no votes")
    return float(fmean(votes) if aggregate == "mean" else median(votes))
