"""The published pipeline for TempAnswerQA, rule by rule (the `paper` mode): its answer parser, its
date parsers and its clusters of labels.

It serves the comparison with published figures only: digits after a comma are cut off, durations
are parsed by the position of their keys, an object without a key is a duration of zero, and the
response's own keys decide its kind. Where the published code would raise an exception, the answer
is unparsable and `rule` gives the reason.

Date parsers complete missing parts from a date that the caller passes, not from today's, so that
results are reproducible; they need the extra `answers`.

Centroids come from one-dimensional HDBSCAN of scikit-learn (paper, Appendix E). The distances to
the k-th neighbour are computed here from the distinct values: scikit-learn's public class keeps
n · k distances (1 GB for the 14,000 labels in years). It is used where scikit-learn's internal
functions have moved.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from agent_env.sdk.commands import need_extra

MODE = "--mode paper"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST = 200
"""Characters of a value; a longer one is not a date."""
_MISSING = ("", "nan", "nat", "none", "null", "na", "n/a")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose, as the published code
_FIRST, _LAST = datetime(1677, 9, 21), datetime(2262, 4, 11)  # noqa: DTZ001
"""The range of 64-bit nanoseconds; other dates were unparsable."""


def strict_date(value: Any, clock: date) -> datetime | None:
    """One value by the rules of pandas' date parser; month before day."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        try:
            return _EPOCH + timedelta(microseconds=value / 1000)
        except (OverflowError, ValueError):
            return None
    return _parse_text(value, clock) if isinstance(value, str) else None


@lru_cache(maxsize=8192)
def _parse_text(text: str, clock: date) -> datetime | None:
    stripped = text.strip()
    if _ISO.fullmatch(stripped):
        try:
            return _in_range(datetime.strptime(stripped, "%Y-%m-%d"))  # noqa: DTZ007
        except ValueError:
            return None
    if len(stripped) > _LONGEST or stripped.lower() in _MISSING:
        return None
    need_extra("dateutil", what=MODE)
    from dateutil.parser import parse

    default = datetime(1, 1, 1)  # noqa: DTZ001
    if re.match(r"\d{1,2}:\d{2}", stripped):  # a time alone is completed from the clock
        default = datetime(clock.year, clock.month, clock.day)  # noqa: DTZ001
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _in_range(parse(stripped, default=default))
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _in_range(moment: datetime) -> datetime | None:
    return moment if _FIRST <= moment.replace(tzinfo=None) <= _LAST else None


@lru_cache(maxsize=8192)
def fuzzy_date(line: str, clock: date) -> datetime | None:
    """The first date of a line by the fuzzy date finder; missing parts come from `clock`."""
    need_extra("datefinder", what=MODE)
    import datefinder

    # version 1 has a new engine and keeps the published one, 0.7.3, under this name
    find_dates = getattr(datefinder, "find_dates_legacy", datefinder.find_dates)
    base = datetime(clock.year, clock.month, clock.day)  # noqa: DTZ001
    try:
        with warnings.catch_warnings():  # about unknown zones
            warnings.simplefilter("ignore")
            return next(iter(find_dates(line, base_date=base)), None)
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def seconds_of(moment: datetime) -> float:
    """Seconds since 1970, as on a machine whose zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


Value = int | float | timedelta | datetime
CLOCK = date(2025, 5, 20)
"""Replaces the date of the published run, which is not documented. A day before the 10th would
complete `May 1989` to the label of a question about the first days of a month."""

MOST_DIGITS = 300
"""More digits overflow a float."""
LONGEST = 1000
"""Characters of a line in which a date is searched."""
_NUMBER = re.compile(r"Final Answer:(?:(?!Final Answer:)[^\d\n])*+(\d+)")
_YEAR = re.compile(r"Final Answer:(?:(?!Final Answer:|\d{4}).)*+(\d{4})")
_LINE = re.compile(r"Final Answer:(.*)")
MARKER = "Final Answer:"
_BEGIN = re.compile(r'{"explanation"\s*:')
_PARTS = ("hours", "minutes", "seconds")
DATE_FORMAT = "%B %d, %Y"


@dataclass(frozen=True, slots=True)
class PaperReading:
    """A parsed value, or the reason why there is none."""

    value: Value | None
    rule: str


def read_line(text: str, form: str, clock: date = CLOCK) -> PaperReading:
    """The value of a TTQA response by its declared format."""
    if form == DATE_FORMAT:
        match = _LINE.search(text)
        if match is None:
            return PaperReading(None, "no Final Answer:")
        moment = fuzzy_date(match[1][:LONGEST], clock)
        cut = f" in the first {LONGEST} characters" if len(match[1]) > LONGEST else ""
        return PaperReading(moment, ("no date" if moment is None else "date finder") + cut)
    match = (_YEAR if form == "yyyy" else _NUMBER).search(text)
    if match is None:
        return PaperReading(None, "no digits" if _LINE.search(text) else "no Final Answer:")
    if len(match[1]) > MOST_DIGITS:
        return PaperReading(None, "more digits than a number has")
    return PaperReading(int(match[1]), "first digits")


def read_label(label: str, form: str, clock: date = CLOCK) -> PaperReading:
    """The value of a TTQA label."""
    if form == DATE_FORMAT:
        return PaperReading(strict_date(label, clock), "date")
    try:
        if len(label) <= MOST_DIGITS:
            return PaperReading(int(label), "number")
    except ValueError:
        pass
    try:
        number = float(label)
    except ValueError:
        return PaperReading(None, "no number")
    return PaperReading(number if abs(number) < 1e300 else None, "number")


def read_object(text: str, prefilled: bool, clock: date = CLOCK) -> PaperReading:
    """The value of a ToT response: strict JSON from the explanation to the last brace."""
    content = strict_object(text, prefilled)
    if isinstance(content, str):
        return PaperReading(None, content)
    return read_keys({k: v for k, v in content.items() if k != "explanation"}, clock)


def strict_object(text: str, prefilled: bool) -> dict[str, Any] | str:
    """The object of a ToT response, or why there is none."""
    whole = ('{"explanation":' + text).strip() if prefilled else text
    begin, end = _BEGIN.search(whole), whole.rfind("}")
    if begin is None or end < begin.end():
        return "no object"
    try:
        content: dict[str, Any] = json.loads(whole[begin.start() : end + 1].replace("\n", " "))
    except (ValueError, RecursionError):
        return "no strict JSON"
    return content


def read_keys(content: dict[str, Any], clock: date = CLOCK) -> PaperReading:
    """The value of an object by its own keys."""
    try:
        value, rule = _by_keys(content, clock)
    except ValueError:
        return PaperReading(None, "no number of the right form")
    except (TypeError, OverflowError, IndexError, AttributeError, KeyError, RecursionError):
        kind = "null" if None in content.values() else "value"
        return PaperReading(None, f"a {kind} that stops the published run")
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        return PaperReading(None, "more digits than a number has")
    return PaperReading(value, rule)


def _by_keys(content: dict[str, Any], clock: date) -> tuple[Value | None, str]:
    keys = set(content)
    if "age" in keys:
        return int(content["age"]), "age"
    if "date" in keys:
        return strict_date(content["date"], clock), "date"
    if "answer" in keys:
        return _unspecified(content["answer"], clock), "answer"
    if keys in ({"A", "B", "C"}, {"X", "Y", "Z"}, {"H", "M", "S"}) or keys <= set(_PARTS):
        values = [int(value) for value in content.values()]
        return timedelta(**dict(zip(_PARTS, values, strict=False))), "keys by position"
    if {"time", "day"} <= keys:
        parts = [int(part) for part in content["time"].split(":")]
        if len(parts) > len(_PARTS):
            raise IndexError("more parts than hours, minutes and seconds")
        day = str(content["day"]).replace("same_day", "0").replace("previous_day", "-1")
        return timedelta(days=int(day), **dict(zip(_PARTS, parts, strict=False))), "time and day"
    if {"days", *_PARTS} <= keys:
        return timedelta(**{key: int(value) for key, value in content.items()}), "parts"
    return None, "unknown keys"


def _unspecified(answer: Any, clock: date) -> Value | None:
    if isinstance(answer, int) or str(answer).isdigit():
        return int(answer)
    if not isinstance(answer, str):
        return None
    for era, sign in (("BC", -1), ("AD", 1)):
        if era in answer:
            return sign * int(answer.replace(era, ""))
    return strict_date(answer, clock)


# Errors -------------------------------------------------------------------------------------------


def compare(
    answer: PaperReading, gold: PaperReading, unit: str
) -> tuple[float | None, float | None, float | None]:
    """The error of a response against its label, dates in whole days, and both as numbers, dates as
    seconds since 1970; None where it cannot be said."""
    error = _error(answer.value, gold.value, unit)
    return error, _digit(answer.value, unit), _digit(gold.value, unit)


def _error(answer: Value | None, gold: Value | None, unit: str) -> float | None:
    try:
        error: Any = answer - gold  # type: ignore[operator]
    except TypeError:
        return None
    if unit == "date":
        dates = isinstance(answer, datetime) and isinstance(gold, datetime)
        return float(error.days) if dates else None
    if isinstance(error, timedelta):
        return _in_unit(error, unit)
    numeric = unit in ("days", "months", "years", "date_years")
    return error if numeric and isinstance(error, (int, float)) else None


def _digit(value: Value | None, unit: str) -> float | None:
    if isinstance(value, timedelta):
        return _in_unit(value, unit)
    if isinstance(value, datetime):
        return seconds_of(value) if unit == "date" else None
    numeric = unit in ("days", "months", "years", "date_years")
    return value if numeric and value is not None else None


def _in_unit(span: timedelta, unit: str) -> float | None:
    if unit == "seconds":
        return span.total_seconds()
    return span.total_seconds() / 60 if unit == "minutes" else None


def percentage_error(answer: float | None, gold: float | None) -> float:
    """100 · |ŷ − y| / (|ŷ| + |y|); 0/0 is 0, and 100 where either is unparsable."""
    if answer is None or gold is None:
        return 100.0
    total = abs(answer) + abs(gold)
    return 0.0 if total == 0 else 100.0 * abs(answer - gold) / total


def scaled_error(answer: float | None, gold: float | None, centroid: float | None) -> float | None:
    """|ŷ − y| / |y − centroid|: 0/0 is 0, x/0 is infinite, None where anything is unparsable."""
    if answer is None or gold is None or centroid is None:
        return None
    error, scale = abs(answer - gold), abs(gold - centroid)
    if scale <= 1e-12 * abs(gold):  # the mean of equal labels is rounded
        return 0.0 if error == 0 else float("inf")
    return error / scale


SHARE = 0.3
"""Of the labels, the smallest cluster."""


@dataclass(frozen=True, slots=True)
class Clustering:
    centroids: tuple[float, ...]
    labels: tuple[int, ...]
    """Each label's cluster; for a noise point that of the nearest centroid."""

    def own(self) -> list[float]:
        """The centroid of each label's cluster."""
        return [self.centroids[label] for label in self.labels]


def given_centroids(values: Sequence[float], centroids: Sequence[float]) -> Clustering:
    """Each label assigned to the nearest of the given centroids."""
    nearest = [min(range(len(centroids)), key=lambda k: abs(centroids[k] - v)) for v in values]
    return Clustering(tuple(centroids), tuple(nearest))


def cluster(values: Sequence[float]) -> Clustering:
    """Clusters of the labels, whose order affects the published result slightly. One cluster at
    their mean where 0.3 · n is below 2, or where all labels are noise."""
    size = int(len(values) * SHARE)
    if size <= 1:
        return _one(values)
    array = np.asarray(values, dtype=np.float64)
    labels, strengths = _labels(array, size)
    count = int(labels.max()) + 1
    if count <= 0:
        return _one(values)
    centroids = np.array(
        [np.average(array[labels == k], weights=strengths[labels == k]) for k in range(count)]
    )
    noise = labels < 0
    labels[noise] = np.abs(centroids[:, None] - array[noise]).argmin(axis=0)
    return Clustering(tuple(centroids.tolist()), tuple(labels.tolist()))


def _one(values: Sequence[float]) -> Clustering:
    mean = sum(values) / len(values)
    return Clustering((mean,), (0,) * len(values))


def _labels(array: Any, size: int) -> tuple[Any, Any]:
    """Cluster numbers (-1 for noise) and strengths of membership."""
    need_extra("sklearn", what=MODE)
    try:
        from sklearn.cluster._hdbscan._linkage import make_single_linkage, mst_from_data_matrix
        from sklearn.cluster._hdbscan._tree import tree_to_labels
        from sklearn.metrics import DistanceMetric
    except ImportError:
        return public_labels(array, size)
    euclidean = DistanceMetric.get_metric("euclidean")
    tree = mst_from_data_matrix(array.reshape(-1, 1), core_distances(array, size), euclidean)
    linkage = make_single_linkage(tree[tree["distance"].argsort()])
    labels, strengths = tree_to_labels(linkage, size, "eom", True, 0.0, None)
    return labels, strengths


def public_labels(array: Any, size: int) -> tuple[Any, Any]:
    """The same by scikit-learn's public class; needs memory for n · size distances."""
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(min_cluster_size=size, allow_single_cluster=True, copy=True)
    model.fit(array.reshape(-1, 1))
    return model.labels_.copy(), model.probabilities_


def core_distances(array: Any, size: int) -> Any:
    """Each label's distance to its size-th nearest, itself included; of equal labels once."""
    distinct, places = np.unique(array, return_inverse=True)
    nearest = (np.partition(np.abs(array - value), size - 1)[size - 1] for value in distinct)
    return np.fromiter(nearest, float)[places]
