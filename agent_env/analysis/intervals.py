"""Intervals at 95 %: of shares, of other means, of paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import stdtrit

from agent_env.analysis.resampling import Floats, Ints, means, standard_errors
from agent_env.analysis.summary import wilson

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval; both None where nothing was measured."""

    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    """How the interval was made, or why there is none."""
    samples: int = 0
    clusters: int = 0

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


def mean_estimates(values: Floats, clusters: Ints, drawn: Floats, share: bool) -> list[Estimate]:
    """The mean of each column. A `share` (of 0/1 outcomes) gets Wilson's interval at the effective
    number of samples, another mean the bootstrap's; `drawn` are the bootstrap means."""
    centre, errors = means(values), standard_errors(values, clusters)
    found = []
    for k in range(values.shape[1]):
        known = ~np.isnan(values[:, k])
        n, groups = int(known.sum()), len(np.unique(clusters[known]))
        if n == 0:
            found.append(Estimate(None, method="no finished episode"))
        elif groups < 2:
            found.append(Estimate(float(centre[k]), None, None, "one sample", n, groups))
        elif share:
            low, high = _share(float(centre[k]), float(errors[k]), groups)
            found.append(Estimate(float(centre[k]), low, high, "Wilson", n, groups))
        elif errors[k] <= 1e-12:
            found.append(Estimate(float(centre[k]), None, None, "all equal", n, groups))
        else:
            low, high = expanded_percentiles(drawn[:, k], groups)
            found.append(Estimate(float(centre[k]), low, high, "cluster bootstrap", n, groups))
    return found


def _share(p: float, error: float, groups: int) -> tuple[float, float]:
    """Wilson's interval at n = p(1-p)/SE², which takes in repeats and clusters (Korn and Graubard
    1998 do so for surveys); at 0 and 1, where SE says nothing, n is the number of clusters."""
    degenerate = p <= 0 or p >= 1 or error <= 1e-12
    raw = float(groups) if degenerate else p * (1 - p) / error**2 * (groups / (groups - 1))
    return wilson(min(max(p, 0.0), 1.0), raw)


def expanded_percentiles(drawn: Floats, groups: int) -> tuple[float, float]:
    """Percentiles of the bootstrap means, somewhat further out than 2.5 and 97.5 so that few
    clusters do not make it too narrow (Hesterberg 2015, section 5.2)."""
    t = stdtrit(groups - 1, 0.5 - LEVEL / 2)
    tail = NormalDist().cdf(float(t) * (groups / (groups - 1)) ** 0.5)
    known = drawn[~np.isnan(drawn)]
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
