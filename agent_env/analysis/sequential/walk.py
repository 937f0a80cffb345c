"""Contrasts looked at cluster by cluster, in an order fixed by a seed.

What is estimated is the mean over clusters: each counts once by the mean of its samples, however
many it has. Samples that no other shares anything with are clusters of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf, log

import numpy as np

from agent_env.analysis.contrast_text import parse_contrasts
from agent_env.analysis.contrasts import PlannedContrast
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.sequential.capital import Look, confidence_interval
from agent_env.analysis.sequential.rule import Decision, SequentialTest, StoppingRule
from agent_env.analysis.sequential.unbiased import mean_after_stopping
from agent_env.analysis.study import Arm
from agent_env.errors import ConfigError
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Sample

NEUTRAL = 0.5
"""The pass rate of a sample that no earlier run asked."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order clusters are looked at."""

    clusters: tuple[tuple[int, ...], ...]
    """Rows of their samples."""
    draws: tuple[Draw, ...] | None = None
    """How each was drawn, where some were likelier than others; None where all were alike."""


@dataclass(frozen=True, slots=True)
class Draw:
    """How a cluster was drawn among those that were left; chances add up to 1."""

    weight: float
    """1 / (chance × all clusters)."""
    most: float
    """The weight of the least likely of those left."""
    count: int
    """Of all clusters."""

    def look(self, before: float, value: float) -> Look:
        """The observation of a difference, after others of this sum: an estimate of the mean over
        all clusters, unbiased whatever came before (Des Raj, JASA 51, 1956, section 2)."""
        known = before / self.count
        return Look(known + value * self.weight, known - self.most, known + self.most)


def look_order(
    clusters: Sequence[str],
    seed: int,
    most: int | None = None,
    chances: Mapping[str, float] | None = None,
) -> Order:
    """`clusters`: by sample, the name of its cluster; `chances`: relative ones, by cluster. Draws
    one cluster after another, which leaves two of them in the same order whatever others there are
    (Efraimidis and Spirakis 2006); as many whole ones as hold at most `most` samples."""
    members: dict[str, list[int]] = {}
    for row, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(row)

    def rank(name: str) -> float:
        digest = sha256(f"{seed}/{name}".encode()).digest()
        uniform = (int.from_bytes(digest[:7], "big") + 0.5) / 2**56
        return -log(uniform) / (1.0 if chances is None else chances[name])

    ranked = sorted(members, key=rank)
    order, samples = [], 0
    for name in ranked:
        if most is not None and samples + len(members[name]) > most:
            break
        order.append(tuple(members[name]))
        samples += len(members[name])
    draws = None if chances is None else _draws([chances[name] for name in ranked])[: len(order)]
    return Order(tuple(order), draws)


def _draws(chances: Sequence[float]) -> tuple[Draw, ...]:
    left, least, draws = 0.0, inf, list[Draw]()
    for chance in reversed(chances):
        left, least = left + chance, min(least, chance)
        draws.append(Draw(left / chance / len(chances), left / least / len(chances), len(chances)))
    return tuple(reversed(draws))


def order_of(
    samples: Sequence[Sample], clusters: Sequence[str], settings: StoppingSettings
) -> Order:
    """The order that run.json has. With pass rates of other models, a cluster's chance grows with
    the standard deviation of its samples' scores, by its square root: steeper chances give the rare
    draws such weights that the test gets slower."""
    if not settings.pass_rates:
        return look_order(clusters, settings.seed, settings.max_samples)
    own: dict[str, list[float]] = {}
    for sample, cluster in zip(samples, clusters, strict=True):
        rate = settings.pass_rates.get(sample.id, NEUTRAL)
        own.setdefault(cluster, []).append((rate * (1 - rate)) ** 0.25)
    chances = {name: sum(parts) / len(parts) for name, parts in own.items()}
    return look_order(clusters, settings.seed, settings.max_samples, chances)


def stoppable_contrasts(
    texts: Sequence[str], arms: Sequence[Arm], is_error: bool
) -> tuple[PlannedContrast, ...]:
    """The contrasts of these texts. ConfigError for one that has no value for each sample, and
    where the metric says how far off an answer is, so that it is no score."""
    if is_error:
        raise ConfigError("a sequential test needs a score in [0, 1], and this metric is an error")
    contrasts = parse_contrasts(texts, arms) if texts else ()
    for each in contrasts:
        if each.dose is not None:
            raise ConfigError(
                f"--until {each.name}: a trend has no value for each sample; name two conditions"
            )
    return contrasts


@dataclass(frozen=True, slots=True)
class SequentialResult:
    """One contrast of a test that may stop early; numbers are of samples."""

    contrast: PlannedContrast
    planned: int
    looked: int
    """With a score in every arm concerned, up to the decision; all such where there is none."""
    clusters: int
    """Of the samples looked at."""
    alpha: float
    margin: float | None
    decision: Decision
    estimate: Estimate
    """Corrected for stopping, unless the order was weighted; with the anytime-valid interval."""
    plain_mean: float | None
    """Of the samples looked at; too far from 0 where the test stopped early."""
    p_value: float
    """Anytime-valid, with Holm's correction over the contrasts."""

    @property
    def name(self) -> str:
        """The contrast's."""
        return self.contrast.name


class Walk:
    """The test over samples whose scores come in any order, always looked at in the same."""

    def __init__(
        self, contrasts: Sequence[PlannedContrast], order: Order, rule: StoppingRule
    ) -> None:
        self.contrasts, self.order = tuple(contrasts), order.clusters
        self._draws = order.draws
        self._sums = [0.0] * len(self.contrasts)
        self._arms = [{label: w for label, w in each.weights if w} for each in contrasts]
        self._scales = [sum(w for w in arms.values() if w > 0) for arms in self._arms]
        self._test = SequentialTest(rule, self._scales)
        self._scores: dict[str, dict[int, float]] = {}
        self._next = [0] * len(self.contrasts)
        self._sizes: list[list[int]] = [[] for _ in self.contrasts]
        self._unit = {row: unit for unit, rows in enumerate(order.clusters) for row in rows}

    def note(self, arm: str, row: int, score: float | None) -> None:
        """Takes an arm's mean score of one sample; None where all its episodes failed. ConfigError
        for a score outside of [0, 1]."""
        if score is not None and not 0 <= score <= 1:
            raise ConfigError(
                f"a score of {score:g}: a sequential test needs a metric in [0, 1]; "
                "drop --until or --sequential"
            )
        self._scores.setdefault(arm, {})[row] = np.nan if score is None else score

    def advance(self) -> list[int]:
        """Looks at all clusters that are complete; returns the contrasts decided by that."""
        before = self._undecided()
        waiting = list(before)
        while waiting:
            for k in waiting:  # in turn, so that the order of arrival does not matter
                self._look(k)
            waiting = [k for k in waiting if not self._test.is_decided(k) and self._is_ready(k)]
        return [k for k in before if self._test.is_decided(k)]

    def is_needed(self, arm: str, row: int) -> bool:
        """Whether an undecided contrast still needs this; an arm of no contrast goes along with
        the others."""
        unit = self._unit.get(row)
        own = [k for k, arms in enumerate(self._arms) if arm in arms]
        return unit is not None and any(
            unit >= self._next[k] for k in own or range(len(self._arms)) if not self.is_decided(k)
        )

    def is_decided(self, contrast: int) -> bool:
        return self._test.is_decided(contrast)

    @property
    def is_over(self) -> bool:
        """Whether every contrast is decided."""
        return not self._undecided()

    def results(self) -> tuple[SequentialResult, ...]:
        """What can be said of each contrast now."""
        p_values = self._test.p_values
        return tuple(self._result(k, p_values[k]) for k in range(len(self.contrasts)))

    def _undecided(self) -> list[int]:
        return [k for k in range(len(self.contrasts)) if not self._test.is_decided(k)]

    def _is_ready(self, k: int) -> bool:
        if self._next[k] >= len(self.order):
            return False
        rows = self.order[self._next[k]]
        return all(row in self._scores.get(arm, ()) for arm in self._arms[k] for row in rows)

    def _look(self, k: int) -> None:
        if self._test.is_decided(k) or not self._is_ready(k):
            return
        rows = self.order[self._next[k]]
        self._next[k] += 1
        sums = [sum(w * self._scores[arm][row] for arm, w in self._arms[k].items()) for row in rows]
        values = [value for value in sums if not np.isnan(value)]
        mean = sum(values) / len(values) / self._scales[k] if values else 0.0
        if self._draws is not None:  # a cluster without a pair counts as one without a difference
            look = self._draws[self._next[k] - 1].look(self._sums[k], mean)
        elif values:
            look = Look(mean)
        else:
            return
        self._sums[k] += mean
        self._sizes[k].append(len(values))
        self._test.look(k, look)

    def _result(self, k: int, p_value: float) -> SequentialResult:
        verdict, scale = self._test.verdict(k), self._scales[k]
        evidence = self._test.evidence[k]
        looks, samples = evidence.looks[: verdict.stop], sum(self._sizes[k][: verdict.stop])
        estimate, plain = Estimate(None, method="no pair"), None
        if looks:
            low, high = confidence_interval(looks, self._test.rule.alpha)
            mean = sum(look.value for look in looks) / len(looks)
            plain = mean * scale
            if self._draws is None:
                mean = mean_after_stopping(looks, evidence.margin, verdict.threshold)
            method = "anytime-valid, by betting"
            cell = (mean * scale, low * scale, high * scale)
            estimate = Estimate(*cell, method, samples, len(looks))
        return SequentialResult(
            contrast=self.contrasts[k],
            planned=sum(map(len, self.order)),
            looked=samples,
            clusters=len(looks),
            alpha=self._test.rule.alpha,
            margin=self._test.rule.margin,
            decision=verdict.decision,
            estimate=estimate,
            plain_mean=plain,
            p_value=p_value,
        )
