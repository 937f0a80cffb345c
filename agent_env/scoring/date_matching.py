"""How far two sets of dates are apart in days, beside Jaccard and F1, which know only equal dates.

The sets are matched one to one so that the sum of distances is least. On a line the sorted dates
match in order; where one set is larger, the best choice of its dates is found by dynamic
programming. A date that is left without a partner costs `unmatched_days`.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date

UNMATCHED_DAYS = 365.0


def days_off(gold: AbstractSet[str], given: AbstractSet[str]) -> float | None:
    """Mean distance in days of the best matching, a date without a partner counting 365; 0 for
    equal sets. None where one set alone is empty: nothing is at no distance from a date."""
    if gold == given:
        return 0.0
    return match_dates(gold, given).mean_days if gold and given else None


@dataclass(frozen=True, slots=True)
class Matching:
    """The best one-to-one matching of two sets of dates."""

    mean_days: float
    """Total distance over the size of the larger set; 0 for two empty sets."""
    matched: int
    matched_days: int
    """Total distance of the matched pairs."""
    unmatched: int
    """Dates of the larger set without a partner."""


def match_dates(
    gold: Iterable[str], given: Iterable[str], unmatched_days: float = UNMATCHED_DAYS
) -> Matching:
    """Of ISO dates; symmetric, and 0 only for equal sets."""
    few, many = sorted((_days(gold), _days(given)), key=len)
    left = len(many) - len(few)
    total = _least_total(few, many)
    size = len(many)
    mean = (total + left * unmatched_days) / size if size else 0.0
    return Matching(mean, len(few), total, left)


def _days(dates: Iterable[str]) -> list[int]:
    return sorted({date.fromisoformat(text).toordinal() for text in dates})


def _least_total(few: list[int], many: list[int]) -> int:
    """Least sum of distances of all of `few` to distinct ones of `many`, both sorted."""
    slack = len(many) - len(few)
    best = [0] * (slack + 1)  # best[s]: the days so far are matched, s of `many` were passed over
    for k, day in enumerate(few):
        row, least = [], None
        for s in range(slack + 1):
            least = best[s] if least is None else min(least, best[s])
            row.append(least + abs(many[k + s] - day))
        best = row
    return min(best) if few else 0
