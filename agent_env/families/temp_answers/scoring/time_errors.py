"""Errors of time answers against their golds, and their summary (paper, section 3.2).

A measure that is not defined for an item is None; a mean comes with its number of items.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from agent_env.families.temp_answers.scoring.answer_spec import (
    Amount,
    AnswerKind,
    AnswerSpec,
    Outcome,
    TimeAnswer,
    same,
)

NO_RATIO: tuple[AnswerKind, ...] = ("year", "month", "date", "time")
"""Points in time, which have no zero and therefore no percentage error."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean and spread of the gold answers of one split and unit, independent of any model."""

    mean: float
    deviation: float
    """Mean absolute deviation; 0 for one answer or equal ones."""
    items: int


@dataclass(frozen=True, slots=True)
class TimeError:
    """One answer against its gold."""

    outcome: Outcome
    exact: bool
    error: Amount | None
    """Answer less gold in the declared unit; None where the answer gives no amount."""
    percentage: float | None
    """100 · |ŷ − y| / (|ŷ| + |y|), 0/0 is 0, 100 where the answer gives no amount; None for points
    in time."""
    scaled: float | None
    """|e| / mean absolute deviation of the gold answers; None without an amount or a deviation."""
    distance: float | None = None
    """From the gold to the farthest amount that the answer can mean; |e| of a plain amount. Ranges
    and coarse dates have one, though no amount."""
    floor: bool = False
    """Whether both ends of the answer have as many completed units as the gold."""
    rounded: bool = False
    """Whether both ends, rounded to whole units (a half upwards), are the gold."""


def measure(answer: TimeAnswer, gold: Amount, spec: AnswerSpec, scale: Scale | None) -> TimeError:
    amount = answer.amount
    ratio = spec.kind not in NO_RATIO
    ends = answer.interval
    distance = None if ends is None else float(max(abs(end - gold) for end in ends))
    if amount is None:
        percent = 100.0 if ratio else None
        return TimeError(answer.outcome, False, None, percent, None, distance)
    assert ends is not None  # an amount is in an interval
    exact = same(amount, gold)
    error: Amount = 0 if exact else amount - gold
    return TimeError(
        answer.outcome,
        exact,
        error,
        (0.0 if exact else percentage(amount, gold)) if ratio else None,
        None if scale is None or scale.deviation == 0 else float(abs(error)) / scale.deviation,
        distance,
        exact or all(int(end) == int(gold) for end in ends),
        exact or all(_nearest_whole(end) == _nearest_whole(gold) for end in ends),
    )


def _nearest_whole(amount: Amount) -> int:
    return math.floor(abs(amount) + 0.5) * (1 if amount >= 0 else -1)


def percentage(amount: Amount, gold: Amount) -> float:
    """The summand of sMAPE in percent, between 0 and 100; without the factor ½ below."""
    total = abs(amount) + abs(gold)
    return 0.0 if total == 0 else min(100.0, 100.0 * (abs(amount - gold) / total))


def scale_of(golds: Iterable[Amount]) -> Scale | None:
    """The scale of the gold answers of distinct questions; None for no answer."""
    values = sorted(golds)
    if not values:
        return None
    mean = fmean(values)
    return Scale(mean, fmean(abs(value - mean) for value in values), len(values))


def within(distance: float | None, band: float) -> bool:
    """EM@k: all that the answer can mean is at most k of the declared unit away; False for none."""
    return distance is not None and distance <= band


def is_transitional(error: Amount | None, spec: AnswerSpec, years_only: bool) -> bool:
    """Off by one year where the question gives years only: both answers can be true."""
    return years_only and error is not None and abs(error) == 1 and spec.unit == "years"


@dataclass(frozen=True, slots=True)
class ErrorProfile:
    """Size and direction of the errors that are not 0."""

    wrong: int
    """Answers with an amount that is not the gold's."""
    median_signed: float | None
    """Over all answers with an amount, right ones included."""
    too_small: int
    too_large: int
    off_by_one: int
    off_by_one_share: float | None
    """Of the wrong ones."""
    transitional: int


def profile(errors: Sequence[Amount], transitional: int = 0) -> ErrorProfile:
    """The profile of the errors of answers with an amount, in their declared units."""
    wrong = [error for error in errors if error != 0]
    ones = sum(abs(error) == 1 for error in wrong)
    return ErrorProfile(
        len(wrong),
        float(median(errors)) if errors else None,
        sum(error < 0 for error in wrong),
        sum(error > 0 for error in wrong),
        ones,
        ones / len(wrong) if wrong else None,
        transitional,
    )
