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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Literal

from agent_env.analysis.sequential.capital import Capital, Look
from agent_env.analysis.significance import holm

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


class Evidence:
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
        self.evidence = [Evidence(margin, shares) for margin in margins]
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
