"""Metrics of a predicted set of dates against the gold set (Time Puzzles, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Set as AbstractSet


def exact_match(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """1 where the sets are equal, else 0."""
    return float(gold == predicted)


def f1(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """Harmonic mean of precision and recall; 1 for two empty sets, 0 if one is empty."""
    if not gold and not predicted:
        return 1.0
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


def jaccard(gold: AbstractSet[str], predicted: AbstractSet[str]) -> float:
    """Intersection over union; 1 for two empty sets."""
    if not gold and not predicted:
        return 1.0
    return len(gold & predicted) / len(gold | predicted)
