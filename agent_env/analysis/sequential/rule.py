"""Which of several contrasts is decided, by Holm's correction over their evidence.

A contrast is decided as a difference when the mean 0 is refuted, or as none larger than the margin
when all means beyond it are, both as `confidence_interval` shows it. The greatest evidence so far
is the inverse of an anytime-valid p-value, so that Holm's correction holds however the contrasts
depend on each other and whichever is looked at first (Vovk and Wang, E-values, Annals of Statistics
49(3), 2021). Among all contrasts, a false difference is claimed with a chance of at most alpha, and
so is a false "none larger".

Samples that share an event are no independent looks. So a test of clusters with several samples has
two stages: first one randomly drawn sample of each cluster, then the means of whole clusters, again
from the first cluster on and with evidence that begins anew. Each stage looks at every cluster once
and is a valid test of the same mean at its share of alpha, so that one of the two claims something
false with a chance of at most alpha.

The evidence on a mean of bounded differences may be looked at after every observation. A gambler
who bets against a mean multiplies his capital by more than C with a chance of at most 1/C if that
is the true mean, however often one looks (Ville 1939). The bets are those of Waudby-Smith and
Ramdas, Estimating means of bounded random variables by betting, JRSS B 86(1), 2024, sections 4 and
5: one gambler bets that the mean is higher, one that it is lower, half of the capital each. Each
spreads his half over fixed fractions of what he may lose (Cover's universal portfolio). For
differences of -1, 0 and 1 and the mean 0 that is a mixture of sequential probability ratio tests on
the discordant pairs. No observation is assumed to be of some distribution; each must have the
tested mean given those before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Literal

import numpy as np

from agent_env.analysis.resampling import Floats
from agent_env.analysis.significance import holm

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


Decision = Literal["difference", "none larger", "undecided"]
_CLAIMS: tuple[Decision, ...] = ("difference", "none larger")

ONE_STAGE = (1.0,)
TWO_STAGES = (0.9, 0.1)
"""The shares of alpha; nearly all contrasts that are decided are decided in the first stage."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a contrast is decided."""

    alpha: float = 0.05
    margin: float | None = None
    """Differences up to this size are none that matter; None: only a difference ends a contrast."""


class ContrastEvidence:
    """Logarithms of the evidence of one contrast after each look; scores in [-1, 1]."""

    def __init__(self, margin: float | None, shares: Sequence[float] = ONE_STAGE) -> None:
        """`shares`: of alpha, by stage."""
        self.margin, self.shares = margin, shares
        self.looks: list[Look] = []
        self.stages: list[int] = []
        """Of each look."""
        self.difference: list[float] = []
        """Against the mean 0, after each look, with the logarithm of its stage's share added."""
        self.none_larger: list[float] = []
        """Against every mean beyond the margin."""

    def add(self, look: Look, stage: int = 0) -> None:
        if not self.stages or stage > self.stages[-1]:
            self._zero = Capital(0.0)
            margins = () if self.margin is None else (self.margin, -self.margin)
            self._sides = tuple(map(Capital, margins))
        self.looks.append(look)
        self.stages.append(stage)
        share = log(self.shares[stage])
        self._zero.add(look)
        self.difference.append(share + max(self._zero.higher, self._zero.lower))
        for side in self._sides:
            side.add(look)
        if self._sides:
            self.none_larger.append(share + min(self._sides[0].lower, self._sides[1].higher))

    def history(self, decision: Decision) -> list[float]:
        """The evidence that the decision rests on; for an undecided contrast, on a difference."""
        return self.none_larger if decision == "none larger" else self.difference


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the test says of one contrast."""

    decision: Decision
    stop: int
    """Looks at the decision; all of them where there is none."""
    threshold: float
    """Evidence that was required, as a logarithm; for an undecided contrast, is required now."""


class SequentialTest:
    """Contrasts that are looked at in turn, and no more once they are decided."""

    def __init__(
        self,
        rule: StoppingRule,
        scales: Sequence[float] = (1.0,),
        shares: Sequence[float] = ONE_STAGE,
    ) -> None:
        """`scales`: of each contrast, what 1 stands for in its looks; `shares`: of alpha, by
        stage."""
        margins = [None if rule.margin is None else rule.margin / scale for scale in scales]
        self.rule = rule
        self.evidence = [ContrastEvidence(margin, shares) for margin in margins]
        self._decisions: list[Decision] = ["undecided"] * len(scales)
        self._thresholds = [log(len(scales) / rule.alpha)] * len(scales)

    def look(self, contrast: int, look: Look, stage: int = 0) -> None:
        """Add an observation of a contrast that is not decided."""
        self.evidence[contrast].add(look, stage)
        self._decide()

    def is_decided(self, contrast: int) -> bool:
        return self._decisions[contrast] != "undecided"

    def verdict(self, contrast: int) -> Verdict:
        """The decision so far, and after how many looks it could be made."""
        decision, threshold = self._decisions[contrast], self._thresholds[contrast]
        history = self.evidence[contrast].history(decision)
        if decision == "undecided":
            return Verdict(decision, len(history), threshold)
        stop = next(i for i, log_e in enumerate(history, 1) if log_e >= threshold)
        return Verdict(decision, stop, threshold)

    @property
    def p_values(self) -> list[float]:
        """That the mean is 0, by contrast: anytime-valid, Holm's correction included."""
        greatest = [max(e.difference, default=0.0) for e in self.evidence]
        adjusted = holm([min(1.0, exp(-log_e)) for log_e in greatest])
        return [1.0 if p is None else p for p in adjusted]

    def _decide(self) -> None:
        """Holm's steps in each family of hypotheses: the more are refuted, the less is required."""
        for decision in _CLAIMS:
            greatest = [max(e.history(decision), default=-inf) for e in self.evidence]
            count = self._decisions.count(decision)
            for contrast in sorted(range(len(greatest)), key=lambda i: -greatest[i]):
                threshold = log((len(greatest) - count) / self.rule.alpha)
                if self.is_decided(contrast):
                    continue
                if decision == "difference":
                    self._thresholds[contrast] = threshold
                if greatest[contrast] >= threshold:
                    self._decisions[contrast] = decision
                    self._thresholds[contrast] = threshold
                    count += 1
