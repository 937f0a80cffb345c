"""Slopes of the score on a dose within each sample: what rises and falls with steps or tokens.

For a sample i and its arms j, with centred doses d and scores y, the slope is Σᵢⱼ d·y / Σᵢⱼ d²: the
least-squares estimate with an intercept for each sample. Models choose their doses themselves, so a
slope is an association, no effect.
"""

from __future__ import annotations

import numpy as np

from agent_env.analysis.resampling import Floats

UNITS = {"cost_usd": (0.01, "cent"), "duration_s": (1.0, "second"), "steps": (1.0, "step"),
         "tool_calls": (1.0, "tool call")}  # fmt: skip
"""How much of a dose the slope is per, and its name; of tokens 1,000."""
TOKENS = (1000.0, "1,000 tokens")


def unit_of(dose: str) -> tuple[float, str]:
    """The unit of a slope: its size and its name."""
    return UNITS.get(dose, TOKENS)


def slope_parts(scores: Floats, doses: Floats) -> tuple[Floats, Floats]:
    """Each sample's Σ d·y and Σ d² over its arms (columns), NaN for samples with fewer than two
    arms where both are known."""
    known = ~np.isnan(scores) & ~np.isnan(doses)
    counts = known.sum(axis=1, keepdims=True)
    centred = []
    for values in (doses, scores):
        filled = np.where(known, values, 0.0)
        means = filled.sum(axis=1, keepdims=True) / np.maximum(counts, 1)
        centred.append(np.where(known, filled - means, 0.0))
    products, squares = (centred[0] * centred[1]).sum(axis=1), (centred[0] ** 2).sum(axis=1)
    lacking = counts[:, 0] < 2
    products[lacking], squares[lacking] = np.nan, np.nan
    return products, squares
