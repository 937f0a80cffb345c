"""What so many samples can show, and how many would be needed."""

from __future__ import annotations

from math import ceil
from statistics import NormalDist

POWER = 0.8
LEVEL = 0.05


def minimum_detectable_effect(standard_error: float, power: float = POWER) -> float:
    """The true difference that a two-sided 5 % test finds with this power, by the normal
    approximation: (z₀.₉₇₅ + z_power) · SE."""
    normal = NormalDist()
    return (normal.inv_cdf(1 - LEVEL / 2) + normal.inv_cdf(power)) * standard_error


def samples_needed(
    standard_error: float, samples: int, difference: float, power: float = POWER
) -> int | None:
    """How many samples would show `difference`, as the standard error of `samples` shrinks with
    the root of their number; None for a difference of 0 or pairs that never differ."""
    if difference == 0 or standard_error == 0:
        return None
    ratio = minimum_detectable_effect(standard_error, power) / abs(difference)
    return ceil(samples * ratio**2)
