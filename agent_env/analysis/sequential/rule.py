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

import numpy as np

from agent_env.analysis.sequential.betting import (
    REACHED,
    Capital,
    Horizon,
    Look,
    confidence_interval,
)
from agent_env.analysis.significance import holm

Decision = Literal["difference", "none larger", "undecided"]
_CLAIMS: tuple[Decision, ...] = ("difference", "none larger")

SHARES = {1: (1.0,), 2: (0.9, 0.1)}
"""Of alpha, by number of stages; most contrasts that are decided are decided in the first one."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a contrast is decided."""

    alpha: float = 0.05
    margin: float | None = None
    """Differences up to this size are none that matter; None: only a difference ends a contrast."""
    effect: float | None = None
    """The difference that is to be found with the fewest samples; None: no certain one."""


class ContrastEvidence:
    """Logarithms of the evidence of one contrast after each look; scores in [-1, 1]."""

    def __init__(
        self, margin: float | None, horizons: Sequence[Horizon], alpha: float, contrasts: int = 1
    ) -> None:
        """`horizons`: of each stage; `alpha`: of this contrast alone, `contrasts`: how many are
        corrected for."""
        self.margin, self.horizons, self.alpha = margin, horizons, alpha
        self.shares = SHARES[len(horizons)]
        """Of alpha, by stage."""
        self.looks: list[Look] = []
        self.stages: list[int] = []
        """Of each look."""
        self.difference: list[float] = []
        """Against the mean 0, after each look, with the logarithm of its stage's share added."""
        self.none_larger: list[float] = []
        """Against every mean beyond the margin."""
        self._goal = contrasts / alpha

    def add(self, look: Look, stage: int = 0) -> None:
        if not self.stages or stage > self.stages[-1]:
            margins = () if self.margin is None else (self.margin, -self.margin)
            goal = self._goal / self.shares[stage]
            self._capital = Capital(np.array([0.0, *margins]), goal, self.horizons[stage])
        self.looks.append(look)
        self.stages.append(stage)
        self._capital.add(look.value, look.low, look.high)
        (_, *above), (_, *below) = self._capital.sides
        both = self._capital.sides.sum(axis=0)
        evidence = [float(both[0])]
        if self.margin is not None:  # of the side that matters, where it is the greater one
            evidence.append(
                min(
                    float(both[1] if below[0] > above[0] else below[0]),
                    float(both[2] if above[1] > below[1] else above[1]),
                )
            )
        logs = [log(max(each / REACHED * self._goal, 1e-300)) for each in evidence]
        least = log(1 / self.alpha)
        if max(logs) >= least:  # the interval is to say the same
            low, high = self.interval(stage)
            margin = -1.0 if self.margin is None else self.margin
            agrees = (low >= 0 or high <= 0, -margin <= low and high <= margin)
            logs = [e if ok else min(e, least - 1e-6) for e, ok in zip(logs, agrees, strict=False)]
        self.difference.append(logs[0])
        self.none_larger += logs[1:]

    def interval(self, stage: int, looks: int | None = None) -> tuple[float, float]:
        """The anytime-valid one of a stage, after this many looks at the contrast."""
        chosen = [x for x, s in zip(self.looks[:looks], self.stages, strict=False) if s == stage]
        share = self.shares[stage]
        return confidence_interval(
            chosen, self.alpha * share, self.horizons[stage], self._goal / share
        )

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
        self, rule: StoppingRule, horizons: Sequence[Horizon], scales: Sequence[float] = (1.0,)
    ) -> None:
        """`horizons`: of each stage; `scales`: of each contrast, what 1 stands for in its looks."""
        self.rule = rule
        self.evidence = [
            ContrastEvidence(
                None if rule.margin is None else rule.margin / scale,
                [each.scaled(scale) for each in horizons],
                rule.alpha,
                len(scales),
            )
            for scale in scales
        ]
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
