"""Student's t without a dependency: tails by the incomplete beta function, quantiles by halving."""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, lgamma, log

_TINY = 1e-300


def student_tail(t: float, df: float) -> float:
    """The chance of more than `t` with `df` degrees of freedom."""
    if t < 0:
        return 1.0 - student_tail(-t, df)
    return 0.5 * _beta(df / (df + t * t), t * t / (df + t * t), df / 2, 0.5)


@lru_cache(maxsize=256)
def student_quantile(tail: float, df: float) -> float:
    """What is exceeded with the chance `tail`, of at most 0.5."""
    low, high = 0.0, 1.0
    while student_tail(high, df) > tail and high < 1e12:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if student_tail(middle, df) > tail else (low, middle)
    return (low + high) / 2


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """The regularised incomplete beta function at x = 1 − rest, by Lentz's continued fraction,
    which converges fast on the side of the mean that is taken."""
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(rest, x, b, a)
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)) / a
    c, d = 1.0, 1.0 / _away(1 - (a + b) * x / (a + 1))
    fraction, before = d, inf
    step = 1
    while abs(fraction - before) > 1e-15 * abs(fraction) and step < 500:
        before = fraction
        for numerator in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            d = 1.0 / _away(1 + numerator * d)
            c = _away(1 + numerator / c)
            fraction *= c * d
        step += 1
    return scale * fraction


def _away(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
