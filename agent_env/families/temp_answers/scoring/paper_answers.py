"""Answer parser of the published pipeline for TempAnswerQA, rule by rule: the `paper` mode.

It serves the comparison with published figures only: digits after a comma are cut off, durations
are parsed by the position of their keys, an object without a key is a duration of zero, and the
response's own keys decide its kind. Where the published code would raise an exception, the answer
is unparsable and `rule` gives the reason.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from agent_env.families.temp_answers.scoring.paper_dates import fuzzy_date, seconds_of, strict_date

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


@dataclass(frozen=True, slots=True)
class PaperItem:
    """One response under the published rules."""

    error: float | None
    """Response minus label, dates in whole days; None where they cannot be subtracted."""
    amount: float | None
    """The response as a number, dates as seconds since 1970; None where it is unparsable."""
    gold: float | None
    """The label, likewise."""
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
        return _time_and_day(content), "time and day"
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


def _time_and_day(content: dict[str, Any]) -> timedelta:
    parts = [int(part) for part in content["time"].split(":")]
    if len(parts) > len(_PARTS):
        raise IndexError("more parts than hours, minutes and seconds")
    day = str(content["day"]).replace("same_day", "0").replace("previous_day", "-1")
    return timedelta(days=int(day), **dict(zip(_PARTS, parts, strict=False)))


# Errors -------------------------------------------------------------------------------------------


def compare(answer: PaperReading, gold: PaperReading, unit: str) -> PaperItem:
    """The error of a response against its label."""
    return PaperItem(
        _error(answer.value, gold.value, unit), _digit(answer.value, unit),
        _digit(gold.value, unit), answer.rule,
    )  # fmt: skip


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
