"""An estimate of a mean after a test that stopped when it knew.

The plain mean is too far from 0 where a lucky start ended the test. The first observation has no
such bias: nothing has stopped anything yet. So does its mean over all orders in which the same
observations could have come without an earlier stop: the estimate of Girshick, Mosteller and Savage
(1946) in Blackwell's general form (Conditional expectation and unbiased sequential estimation,
Annals of Mathematical Statistics 18(1), 1947). It is unbiased where any order of the observations
is as likely as another. The orders are drawn at random, from the last look back to the first, and
the orders that would have stopped earlier are replaced by copies of others (a particle filter).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.capital import LOG_SHARES, Look, gains, mirrored

ORDERS = 1000


def mean_after_stopping(
    looks: Sequence[Look],
    margin: float | None,
    threshold: float,
    orders: int = ORDERS,
    seed: int = 0,
) -> float:
    """The mean given these looks, of which only the last may have ended the test, which ended at
    evidence of `threshold` (a logarithm) on a difference or on none larger than the margin."""
    bets = _Bets(looks, margin, threshold)
    values = np.array([look.value for look in looks])
    rng = np.random.default_rng(seed)
    rows = np.arange(orders)
    order = np.tile(np.arange(len(looks)), (orders, 1))
    capital = np.tile(bets.gains.sum(axis=0) + LOG_SHARES, (orders, 1, 1))
    for size in range(len(looks) - 1, bets.earliest - 1, -1):
        place = rng.integers(0, size + 1, orders)
        last = order[rows, place]
        order[rows, place] = order[:, size]
        capital -= bets.gains[last]
        going_on = np.flatnonzero(~bets.stops(capital))
        if not len(going_on):  # every order of these looks would have stopped earlier
            break
        if len(going_on) < orders:
            copies = rng.choice(going_on, orders)
            order, capital = order[copies], capital[copies]
    return float(values[order[:, : bets.earliest]].mean())


class _Bets:
    """What each look multiplies the gamblers' capital by, and when the test would stop."""

    def __init__(self, looks: Sequence[Look], margin: float | None, threshold: float) -> None:
        pairs = [(looks, 0.0), (mirrored(looks), 0.0)]
        if margin is not None:
            pairs += [(looks, -margin), (mirrored(looks), -margin)]
        self.gains: Floats = np.stack([gains(own, mean) for own, mean in pairs], axis=1)
        """Looks by gamblers by fractions."""
        self.threshold = threshold + float(np.log(2))
        self.earliest = self._earliest()

    def stops(self, capital: Floats) -> np.ndarray:
        """By order: whether the evidence suffices."""
        with np.errstate(over="ignore"):
            evidence = np.exp(capital - self.threshold).sum(axis=-1) >= 1
        stop = evidence[:, 0] | evidence[:, 1]
        if evidence.shape[1] == 4:
            stop |= evidence[:, 2] & evidence[:, 3]
        return np.asarray(stop)

    def _earliest(self) -> int:
        """No order stops after fewer looks."""
        best = np.sort(self.gains, axis=0)[::-1].cumsum(axis=0) + LOG_SHARES
        stops = np.flatnonzero(self.stops(best))
        return int(stops[0]) + 1 if len(stops) else len(self.gains)
