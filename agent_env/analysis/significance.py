"""Tests on counts, and the correction for making many of them. No dependency."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb


def mcnemar_exact(better: int, worse: int) -> float | None:
    """Exact two-sided McNemar p on discordant pairs; None where no pair differs.

    Never rejects a true null too often, but for few pairs far too seldom (conservative).
    """
    n, k = better + worse, min(better, worse)
    return min(1.0, 2 * _tail(n, k)) if n else None


def mcnemar_mid(better: int, worse: int) -> float | None:
    """Mid-p McNemar: the outcome seen counts half (Fagerland, Lydersen and Laake 2013). Its rate
    of false alarms lies close to the level, where the exact test stays below it."""
    n, k = better + worse, min(better, worse)
    if not n:
        return None
    if better == worse:
        return 1.0 - 0.5 * comb(n, k) / float(2**n)
    return 2 * _tail(n, k) - comb(n, k) / float(2**n)


def _tail(n: int, k: int) -> float:
    below = sum(comb(n, i) for i in range(k + 1))
    return below / float(2**n)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment over the p-values that there are; None stays None."""
    ordered = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - rank) * p))
        adjusted[index] = highest
    return adjusted
