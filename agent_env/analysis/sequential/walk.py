"""Contrasts looked at cluster by cluster, in an order fixed by a seed.

What is estimated is the mean over clusters, each of which counts once, however many samples it has.
Samples that no other shares anything with are clusters of their own. One randomly drawn sample of
each cluster comes first, whose difference is an unbiased estimate of its cluster's mean; the means
of whole clusters follow as a second stage (see `rule`).

The plain mean is too far from 0 where a lucky start ended the test. The first observation has no
such bias: nothing has stopped anything yet. So does its mean over all orders in which the same
observations could have come without an earlier stop: the estimate of Girshick, Mosteller and Savage
(1946) in Blackwell's general form (Conditional expectation and unbiased sequential estimation,
Annals of Mathematical Statistics 18(1), 1947). It is unbiased where any order of the observations
is as likely as another. The orders are drawn at random, from the last look back to the first, and
the orders that would have stopped earlier are replaced by copies of others (a particle filter).
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
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.rule import (
    LOG_SHARES,
    ONE_STAGE,
    TWO_STAGES,
    Decision,
    Look,
    SequentialTest,
    StoppingRule,
    confidence_interval,
    gains,
    mirrored,
)
from agent_env.analysis.study import Arm
from agent_env.errors import ConfigError
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Sample

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
        self.gains: Floats = np.stack([gains(stream, mean) for stream, mean in pairs], axis=1)
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


NEUTRAL = 0.5
"""The pass rate of a sample that no earlier run asked."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order samples are asked and looked at."""

    looks: tuple[tuple[int, ...], ...]
    """Rows of the samples of each look."""
    draws: tuple[Draw, ...] | None = None
    """How each was drawn, where some were likelier than others; None where all were alike."""
    first: int | None = None
    """Looks of the first stage; None where there is no other."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The samples in the order of asking."""
        return tuple(dict.fromkeys(row for look in self.looks for row in look))

    def stage(self, look: int) -> int:
        """0 or 1, for a look counted from 0."""
        return int(self.first is not None and look >= self.first)


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
    """Whole clusters; `clusters`: by sample, the name of its cluster; `chances`: relative ones, by
    cluster. Draws one cluster after another, which leaves two of them in the same order whatever
    others there are (Efraimidis and Spirakis 2006); as many as hold at most `most` samples."""
    members: dict[str, list[int]] = {}
    for row, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(row)
    ranked = sorted(members, key=lambda name: _rank(name, seed, chances))
    order, samples = [], 0
    for name in ranked:
        if most is not None and samples + len(members[name]) > most:
            break
        order.append(tuple(members[name]))
        samples += len(members[name])
    draws = None if chances is None else _draws([chances[name] for name in ranked])[: len(order)]
    return Order(tuple(order), draws)


def interleaved_order(
    names: Sequence[str], clusters: Sequence[str], seed: int, most: int | None = None
) -> Order:
    """One sample of each cluster, drawn at random, then the whole clusters, without the samples
    beyond the first `most` of them. `names` and `clusters`: by sample."""
    whole = look_order(clusters, seed).looks
    drawn = [sorted(rows, key=lambda row: _rank(f"sample/{names[row]}", seed)) for rows in whole]
    singles = tuple((rows[0],) for rows in drawn)
    rows = [row for (row,) in singles] + [row for cluster in drawn for row in cluster[1:]]
    head = set(rows[:most])
    looks = tuple(look for look in singles if head.issuperset(look))
    second = tuple(look for each in whole if (look := tuple(row for row in each if row in head)))
    if len(second) == len(head):
        return Order(looks)
    return Order((*looks, *second), first=len(looks))


def _rank(name: str, seed: int, chances: Mapping[str, float] | None = None) -> float:
    digest = sha256(f"{seed}/{name}".encode()).digest()
    uniform = (int.from_bytes(digest[:7], "big") + 0.5) / 2**56
    return -log(uniform) / (1.0 if chances is None else chances[name])


def _draws(chances: Sequence[float]) -> tuple[Draw, ...]:
    rest, least, draws = 0.0, inf, list[Draw]()
    for chance in reversed(chances):
        rest, least = rest + chance, min(least, chance)
        draws.append(Draw(rest / chance / len(chances), rest / least / len(chances), len(chances)))
    return tuple(reversed(draws))


def order_of(
    samples: Sequence[Sample], clusters: Sequence[str], settings: StoppingSettings
) -> Order:
    """The order that run.json has. With pass rates of other models, a sample's chance grows with
    the standard deviation of its scores, by its square root: steeper chances give the rare draws
    such weights that the test gets slower. The claim is on these samples alone then, so that each
    is drawn by itself."""
    names = [sample.id for sample in samples]
    if settings.pass_rates:
        units = names if settings.interleaved else clusters
        weights: dict[str, list[float]] = {}
        for sample, unit in zip(samples, units, strict=True):
            rate = settings.pass_rates.get(sample.id, NEUTRAL)
            weights.setdefault(unit, []).append((rate * (1 - rate)) ** 0.25)
        chances = {name: sum(parts) / len(parts) for name, parts in weights.items()}
        return look_order(units, settings.seed, settings.max_samples, chances)
    if settings.interleaved:
        return interleaved_order(names, clusters, settings.seed, settings.max_samples)
    return look_order(clusters, settings.seed, settings.max_samples)


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
    """Of the samples that the estimate is of."""
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
        self.contrasts, self.order = tuple(contrasts), order
        self._sums = [0.0] * len(self.contrasts)
        self._arms = [{label: w for label, w in each.weights if w} for each in contrasts]
        self._scales = [sum(w for w in arms.values() if w > 0) for arms in self._arms]
        shares = ONE_STAGE if order.first is None else TWO_STAGES
        self._test = SequentialTest(rule, self._scales, shares)
        self._scores: dict[str, dict[int, float]] = {}
        self._next = [0] * len(self.contrasts)
        self._rows: list[list[list[int]]] = [[] for _ in self.contrasts]
        self._last = {row: number for number, rows in enumerate(order.looks) for row in rows}

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
        last = self._last.get(row)
        contrasts = [k for k, arms in enumerate(self._arms) if arm in arms]
        return last is not None and any(
            last >= self._next[k]
            for k in contrasts or range(len(self._arms))
            if not self.is_decided(k)
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
        if self._next[k] >= len(self.order.looks):
            return False
        rows = self.order.looks[self._next[k]]
        return all(row in self._scores.get(arm, ()) for arm in self._arms[k] for row in rows)

    def _look(self, k: int) -> None:
        if self._test.is_decided(k) or not self._is_ready(k):
            return
        place, draws = self._next[k], self.order.draws
        self._next[k] += 1
        values = {
            row: sum(w * self._scores[arm][row] for arm, w in self._arms[k].items())
            for row in self.order.looks[place]
        }
        known = {row: value for row, value in values.items() if not np.isnan(value)}
        mean = sum(known.values()) / len(known) / self._scales[k] if known else 0.0
        if draws is not None:  # a sample without a pair counts as one without a difference
            look = draws[place].look(self._sums[k], mean)
        elif known:
            look = Look(mean)
        else:
            return
        self._sums[k] += mean
        self._rows[k].append(list(known))
        self._test.look(k, look, self.order.stage(place))

    def _result(self, k: int, p_value: float) -> SequentialResult:
        verdict, scale = self._test.verdict(k), self._scales[k]
        evidence = self._test.evidence[k]
        looked = self._rows[k][: verdict.stop]
        estimate, plain = Estimate(None, method="no pair"), None
        if looked:
            stage = self._stage_shown(k)
            places = [n for n in range(verdict.stop) if evidence.stages[n] == stage]
            looks = [evidence.looks[n] for n in places]
            share = evidence.shares[stage]
            low, high = confidence_interval(looks, self._test.rule.alpha * share)
            mean = sum(look.value for look in looks) / len(looks)
            plain = mean * scale
            if self.order.draws is None:
                threshold = verdict.threshold - log(share)
                mean = mean_after_stopping(looks, evidence.margin, threshold)
            method = "anytime-valid, by betting"
            cell = (mean * scale, low * scale, high * scale)
            samples = sum(len(looked[n]) for n in places)
            estimate = Estimate(*cell, method, samples, len(looks))
        return SequentialResult(
            contrast=self.contrasts[k],
            planned=len(self._last),
            looked=len({row for rows in looked for row in rows}),
            clusters=estimate.clusters,
            alpha=self._test.rule.alpha,
            margin=self._test.rule.margin,
            decision=verdict.decision,
            estimate=estimate,
            plain_mean=plain,
            p_value=p_value,
        )

    def _stage_shown(self, k: int) -> int:
        """The stage that decided the contrast; else the one whose interval is narrower."""
        verdict, evidence = self._test.verdict(k), self._test.evidence[k]
        stages = evidence.stages[: verdict.stop]
        if self.is_decided(k) or stages[-1] == stages[0]:
            return stages[-1]

        def width(stage: int) -> float:
            looks = [look for look, s in zip(evidence.looks, stages, strict=True) if s == stage]
            alpha = self._test.rule.alpha * evidence.shares[stage]
            low, high = confidence_interval(looks, alpha)
            return high - low

        return min(stages[0], stages[-1], key=width)
