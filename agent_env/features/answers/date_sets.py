"""The set of days that an answer gives: exact match, F1 and Jaccard (Time Puzzles, Appendix B.1),
and its distance in days.

For the distance the sets are matched one to one with the least sum of distances. Sorted dates match
in order; if one set is larger, dynamic programming finds the best choice of its dates. An unmatched
date costs `unmatched_days`.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date


def exact_match(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """1 where the sets are equal, else 0."""
    return float(gold == predicted)


def f1(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """Harmonic mean of precision and recall, of dates or names; 1 for two empty sets, 0 if one is
    empty."""
    if not gold and not predicted:
        return 1.0
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


def jaccard(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """Intersection over union; 1 for two empty sets."""
    if not gold and not predicted:
        return 1.0
    return len(gold & predicted) / len(gold | predicted)


UNMATCHED_DAYS = 365.0


def days_off(gold: AbstractSet[str], answer: AbstractSet[str]) -> float | None:
    """Mean distance in days of the best matching, 365 for an unmatched date; 0 for equal sets.
    None where exactly one set is empty: no distance is defined."""
    if gold == answer:
        return 0.0
    return match_dates(gold, answer).mean_days if gold and answer else None


@dataclass(frozen=True, slots=True)
class Matching:
    """The best one-to-one matching of two sets of dates."""

    mean_days: float
    """Total distance divided by the size of the larger set; 0 for two empty sets."""
    matched: int
    matched_days: int
    """Total distance of the matched pairs."""
    unmatched: int
    """Unmatched dates of the larger set."""


def match_dates(
    gold: Iterable[str], answer: Iterable[str], unmatched_days: float = UNMATCHED_DAYS
) -> Matching:
    """The matching of two sets of ISO dates; symmetric, 0 only for equal sets."""
    few, many = sorted((_days(gold), _days(answer)), key=len)
    # least sum of distances between all of `few` and distinct dates of `many`, both sorted
    slack = len(many) - len(few)
    best = [0] * (slack + 1)  # best[s]: cost so far with s of `many` skipped
    for k, day in enumerate(few):
        row, least = [], None
        for s in range(slack + 1):
            least = best[s] if least is None else min(least, best[s])
            row.append(least + abs(many[k + s] - day))
        best = row
    unmatched, total = len(many) - len(few), min(best) if few else 0
    mean = (total + unmatched * unmatched_days) / len(many) if many else 0.0
    return Matching(mean, len(few), total, unmatched)


def _days(dates: Iterable[str]) -> list[int]:
    return sorted({date.fromisoformat(text).toordinal() for text in dates})
