"""Probabilities that a vague adverbial fits an event at a distance, parametric or measured.

Parametric: p = 1 / (1 + exp(-k_A (log10 t - m_A - d_e))), t in minutes; k and m by adverbial, d by
event type. The default figures are a fit to published survey medians (RMSE 0.09).

Measured: one JSON file {event: {adverbial: {minutes: p or [votes]}}}, or a folder; between its
points linear, linear over log10 of the minutes, or PCHIP over it. A file or folder may lack the
outer levels where its names give them: `eat_risotto.json` with {adverbial: {minutes: …}},
`eat_risotto/curves.json` likewise, `eat_risotto/long_time_ago.json` with {minutes: …}. In names,
letter case, articles, `_` and `-` do not count. Minutes are in any order.

The folder of FuzzyLLI, the survey behind the slides, is read as published: one folder for each
event, such as `tom_eating_risotto`, with the answers in `cleanedData_minutes.json` or one of its
other forms (PUBLISHED); its other files (event_properties.json, difficulties.json, sentences in
place of minutes) are no curves. Events that the vocabulary does not have keep their folder's name.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Literal

from agent_env.sdk.errors import ConfigError, DatasetError

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
    inner = [_inner(*pair) for pair in pairwise(zip(widths, rises, strict=True))]
    first = _end(widths[0], widths[1], rises[0], rises[1])
    last = _end(widths[-1], widths[-2], rises[-1], rises[-2])
    return [first, *inner, last]


def _inner(before: tuple[float, float], after: tuple[float, float]) -> float:
    (h0, d0), (h1, d1) = before, after
    if d0 * d1 <= 0:
        return 0.0
    w0, w1 = 2 * h1 + h0, h1 + 2 * h0
    return (w0 + w1) / (w0 / d0 + w1 / d1)


def _end(h0: float, h1: float, d0: float, d1: float) -> float:
    slope = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if slope * d0 <= 0:
        return 0.0
    return 3 * d0 if d0 * d1 < 0 and abs(slope) > 3 * abs(d0) else slope


ADVERBIALS = ("just", "recently", "some time ago", "long time ago")
SHAPES = {
    "just": (-2.73, 2.21),
    "recently": (-1.30, 3.04),
    "some time ago": (0.87, 2.65),
    "long time ago": (2.80, 3.97),
}
"""k and m by adverbial."""

Beyond = Literal["clamp", "parametric", "error"]


@dataclass(frozen=True, slots=True)
class Parametric:
    """The fitted curves, with the probability that an adverbial applies."""

    offsets: Mapping[str, float]
    """d by event type."""
    name: str = "parametric"

    def p(self, event: str, adverbial: str, minutes: float) -> float:
        """In [0, 1]; ConfigError for an event or adverbial that it does not know."""
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
            if minutes == curve.minutes[-1] or self.beyond == "clamp":
                return curve.values[-1]
            if self.beyond == "parametric":
                return self.parametric.p(event, adverbial, minutes)
            raise ConfigError(
                f"{self.name}: '{adverbial}' of '{event}' is measured up to {curve.minutes[-1]:g}"
                f" minutes, not {minutes:g}; choose beyond=clamp or beyond=parametric"
            )
        at = bisect_right(curve.minutes, minutes) - 1
        value = interpolate(self.method, curve.minutes, curve.values, curve.slopes, at, minutes)
        return min(1.0, max(0.0, value))  # rounding must not lead out

    def _unknown(self, event: str, adverbial: str) -> str:
        if event not in {name for name, _ in self.points}:
            known = ", ".join(dict.fromkeys(name for name, _ in self.points))
            return f"{self.name}: no curve for the event '{event}'; known: {known}"
        known = ", ".join(a for name, a in self.points if name == event)
        return f"{self.name}: no '{adverbial}' for the event '{event}'; known: {known}"


Curves = Parametric | Measured
Aggregate = Literal["mean", "median"]


def read_curves(
    source: Path,
    aggregate: Aggregate,
    method: Method,
    beyond: Beyond,
    parametric: Parametric,
) -> Measured:
    """The curves of a file or folder; the first defect is named. Event types are those of the
    parametric curves, and in a whole file any other."""
    points: dict[tuple[str, str], Curve] = {}
    origin: dict[tuple[str, str], Path] = {}
    for file in curve_files(source):
        for event, adverbial, votes in _entries(file, parametric.offsets):
            if (event, adverbial) in points:
                first = origin[event, adverbial]
                raise DatasetError(file, None, f"'{adverbial}' of '{event}' stands in {first} too")
            where = f"'{adverbial}' of '{event}'"
            points[event, adverbial] = _curve(file, where, votes, aggregate, method)
            origin[event, adverbial] = file
    if not points:
        raise DatasetError(source, None, "holds no curve")
    return Measured(source.name, points, method, beyond, parametric)


PUBLISHED = (
    "cleanedData_minutes.json", "cleanedData_perPerson_minutes.json",
    "cleanedData_median_minutes.json",
)  # fmt: skip
"""The files of FuzzyLLI that hold the same answers, the fullest first."""


def curve_files(source: Path) -> list[Path]:
    """The file itself, or the JSON files of a folder; of a published one a file for each event."""
    if not source.is_dir():
        return [source]
    files = sorted(source.rglob("*.json"))
    published: dict[Path, Path] = {}
    for name in PUBLISHED:
        for file in files:
            if file.name == name:
                published.setdefault(file.parent, file)
    return sorted(published.values()) or files


def curves_digest(source: Path) -> str:
    """Of the files' bytes, to be stored with a question."""
    whole = hashlib.sha256()
    for file in curve_files(source):
        whole.update(file.read_bytes())
    return whole.hexdigest()[:12]


def _entries(file: Path, known: Iterable[str]) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Event, adverbial and the values by minutes, with the outer levels from the names."""
    content = _object(file, "the file", _content(file))
    events = {_plain(name): name for name in known}
    adverbials = {_plain(name): name for name in ADVERBIALS}
    if content and all(isinstance(value, dict) for value in content.values()):
        content = _pooled(content) if all(_is_number(key) for key in content) else content
    if content and all(_is_number(key) for key in content):
        event, adverbial = file.parent.name, file.stem
        content = {_named(file, event, events): {adverbial: content}}
    elif any(_plain(key) in adverbials for key in content):
        content = {_event_of(file, events): content}
    for event, rows in content.items():
        event = events.get(_plain(event), event)
        for adverbial, values in _object(file, f"'{event}'", rows).items():
            name = adverbials.get(_plain(adverbial))
            if name is None:
                reason = f"unknown adverbial '{adverbial}' of '{event}'; known: "
                raise DatasetError(file, None, reason + ", ".join(ADVERBIALS))
            yield event, name, _object(file, f"'{name}' of '{event}'", values)


def _pooled(people: Mapping[str, object]) -> dict[str, object]:
    """The votes of all people, by adverbial and minutes, of an object with an entry for each."""
    votes: dict[str, dict[str, list[object]]] = {}
    for own in people.values():
        for adverbial, by_minutes in own.items() if isinstance(own, dict) else ():
            for minutes, values in by_minutes.items() if isinstance(by_minutes, dict) else ():
                pool = votes.setdefault(adverbial, {}).setdefault(minutes, [])
                pool += values if isinstance(values, list) else [values]
    return dict(votes)


def _event_of(file: Path, events: Mapping[str, str]) -> str:
    """The event in the file's name, else in its folder's."""
    for text in (file.stem, file.parent.name):
        if (name := _event_in(text, events)) is not None:
            return name
    if file.name in PUBLISHED:
        return _plain(file.parent.name)
    return _named(file, file.stem, events)


def _named(file: Path, text: str, events: Mapping[str, str]) -> str:
    if (name := _event_in(text, events)) is None:
        known = ", ".join(events.values())
        reason = f"it names no event, and '{text}' is none; known: {known}"
        raise DatasetError(file, None, reason)
    return name


def _event_in(text: str, events: Mapping[str, str]) -> str | None:
    """The event that the text is, or the longest that it holds; else one whose verb, in any form,
    and last word it has, as `tom_dancing_salsa` of `dance lively salsa`."""
    words = f" {_plain(text)} "
    held = [plain for plain in events if f" {plain} " in words]
    if not held:
        verbs = {verb for word in words.split() for verb in _verbs_of(word)}
        ends = {plain: (plain.split()[0], plain.split()[-1]) for plain in events}
        held = [p for p, (verb, last) in ends.items() if verb in verbs and f" {last} " in words]
    return events[max(held, key=len)] if held else None


def _verbs_of(word: str) -> tuple[str, ...]:
    """The verbs of which the word may be the form in -ing: storing of store, chatting of chat."""
    stem = word.removesuffix("ing")
    return (stem, f"{stem}e", stem[:-1]) if stem != word else (word,)


def _plain(name: str) -> str:
    """In lower case, words apart, without articles: EatRisotto and eat_a_risotto are one name."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", name).lower().split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*", text) is not None


def _content(file: Path) -> object:
    try:

        def to_dict(pairs: list[tuple[str, object]]) -> dict[str, object]:
            if len(dict(pairs)) < len(pairs):
                names = [name for name, _ in pairs]
                duplicate = next(name for name in names if names.count(name) > 1)
                raise DatasetError(file, None, f"'{duplicate}' appears twice")
            return dict(pairs)

        return json.loads(file.read_bytes(), object_pairs_hook=to_dict)
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"not JSON: {exc}") from exc


def _object(file: Path, what: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DatasetError(file, None, f"{what} must be a JSON object")
    return value


def _curve(
    file: Path, where: str, votes: Mapping[str, object], aggregate: Aggregate, method: Method
) -> Curve:
    points = sorted(
        (_minutes(file, where, at), _value(file, f"{where} at {at}", value, aggregate))
        for at, value in votes.items()
    )
    if len(points) < 2:
        raise DatasetError(file, None, f"{where} needs two times or more, has {len(points)}")
    minutes, values = zip(*points, strict=True)
    for before, after in pairwise(minutes):
        if after == before:
            raise DatasetError(file, None, f"{where}: {after:g} minutes appear twice")
    slopes = None
    if method == "pchip":
        slopes = tuple(pchip_slopes([log_minutes(t) for t in minutes], values))
    return Curve(minutes, values, slopes)


def _minutes(file: Path, where: str, text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 < minutes < math.inf:
        raise DatasetError(file, None, f"{where}: '{text}' is not a number of minutes above 0")
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
