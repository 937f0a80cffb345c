"""Evidence on a mean of bounded differences that may be looked at after every observation.

A gambler who bets against a mean multiplies his capital by more than C with a chance of at most
1/C if that is the true mean, however often one looks (Ville 1939). The bets are those of
Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86(1),
2024, sections 4 and 5: one gambler bets that the mean is higher, one that it is lower, half of the
capital each. Each spreads his half over fixed fractions of what he may lose (Cover's universal
portfolio). For differences of -1, 0 and 1 and the mean 0 that is a mixture of sequential
probability ratio tests on the discordant pairs. No observation is assumed to be of some
distribution; each must have the tested mean given those before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np

from agent_env.analysis.resampling import Floats

FRACTIONS: Floats = (np.arange(20) + 0.5) / 20
"""Of what could be lost at most; below 1, so that nobody is ruined."""
_SHARES = FRACTIONS * (1 - FRACTIONS)
LOG_SHARES: Floats = np.log(_SHARES / _SHARES.sum())
"""Of the capital: most on middling fractions, which suit differences of 5 to 30 points."""
_HALF = float(np.log(2))


@dataclass(frozen=True, slots=True)
class Look:
    """One observation: the mean difference of a cluster of samples."""

    value: float
    low: float = -1.0
    """The least value possible, known before the observation."""
    high: float = 1.0


class Capital:
    """Logarithms of both gamblers' capital against one mean; both began with a half."""

    __slots__ = ("_higher", "_lower", "mean")

    def __init__(self, mean: float) -> None:
        self.mean = mean
        self._higher, self._lower = LOG_SHARES - _HALF, LOG_SHARES - _HALF

    def add(self, look: Look) -> None:
        self._higher = self._higher + _gain(look, self.mean)
        self._lower = self._lower + _gain(_mirrored(look), -self.mean)

    @property
    def higher(self) -> float:
        """Of the gambler who bets that the mean is higher."""
        return log_sum(self._higher)

    @property
    def lower(self) -> float:
        return log_sum(self._lower)


def gains(looks: Sequence[Look], mean: float) -> Floats:
    """Looks by fractions: the logarithm of what betting on a higher mean multiplies. It falls with
    the mean. Infinite where no value as low as the mean was possible."""
    height, room = np.array([(x.value - x.low, mean - x.low) for x in looks]).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):
        multiples: Floats = np.log1p(np.multiply.outer(height / room - 1, FRACTIONS))
    multiples[room <= 0] = np.inf
    return multiples


def _gain(look: Look, mean: float) -> Floats:
    """`gains` of one look, in a tenth of the time."""
    room = mean - look.low
    excess = (look.value - look.low) / room - 1 if room > 0 else inf
    gain: Floats = np.log1p(FRACTIONS * excess)
    return gain


def log_sum(logarithms: Floats) -> float:
    """The logarithm of the sum of the numbers whose logarithms these are."""
    top = float(logarithms.max())
    return top + log(float(np.exp(logarithms - top).sum())) if top < inf else inf


def _mirrored(look: Look) -> Look:
    return Look(-look.value, -look.high, -look.low)


def mirrored(looks: Sequence[Look]) -> list[Look]:
    """The looks with the sign of the difference changed."""
    return [_mirrored(look) for look in looks]


def confidence_interval(looks: Sequence[Look], alpha: float) -> tuple[float, float]:
    """The means that neither gambler has refuted at 1/alpha; of all such intervals, one after each
    look, every one covers the mean with a chance of at least 1 - alpha."""
    return _lower_bound(looks, alpha), -_lower_bound(mirrored(looks), alpha)


def _lower_bound(looks: Sequence[Look], alpha: float) -> float:
    """The highest refuted mean, by bisection, as the capital falls with the mean."""
    counts = Counter(looks)
    distinct, times = list(counts), np.array(list(counts.values()))[:, None]

    def is_refuted(mean: float) -> bool:
        capital = (times * gains(distinct, mean)).sum(axis=0) + LOG_SHARES - _HALF
        return log_sum(capital) >= -log(alpha)

    low, high = -1.0, 1.0
    if not looks or not is_refuted(low + 1e-9):
        return low
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low
