"""Contrasts looked at cluster by cluster, in an order fixed by a seed.

What is estimated is the mean over clusters, each of which counts once, however many samples it has.
Samples that no other shares anything with are clusters of their own. One randomly drawn sample of
each cluster comes first, whose difference is an unbiased estimate of its cluster's mean; the means
of whole clusters follow as a second stage (see `rule`).

The plain mean is too far from 0 where a lucky start ended the test. The first observations have no
such bias: nothing could have stopped before. So has their mean over all orders in which the same
observations could have come without an earlier stop: the estimate of Girshick, Mosteller and Savage
(1946) in Blackwell's general form (Conditional expectation and unbiased sequential estimation,
Annals of Mathematical Statistics 18(1), 1947). It is unbiased where any order of the observations
is as likely as another. The orders are drawn at random, and those that stop earlier or go on are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import exp

import numpy as np

from agent_env.analysis.contrast_text import parse_contrasts
from agent_env.analysis.contrasts import PlannedContrast
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.betting import REACHED, Capital, Horizon, Look, plain
from agent_env.analysis.sequential.rule import Decision, SequentialTest, StoppingRule
from agent_env.analysis.study import Arm
from agent_env.errors import ConfigError
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Sample

ORDERS = 1000


def mean_after_stopping(
    looks: Sequence[Look],
    margin: float | None,
    goal: float,
    horizon: Horizon,
    orders: int = ORDERS,
    seed: int = 0,
) -> float:
    """The mean given these looks, of which only the last may have ended the test, which ends at
    `goal` times the capital on a difference or on none larger than the margin."""
    margins = () if margin is None else (margin, -margin)
    means = np.array([[0.0], *([each] for each in margins)])
    first = _earliest(means, goal, horizon, len(looks))
    rng = np.random.default_rng(seed)
    values = np.tile([look.value for look in looks], (orders, 1))
    values[1:] = rng.permuted(values[1:], axis=1)
    capital = Capital(means, goal, horizon, (orders,))
    going_on = np.ones(orders, bool)
    stops = ~going_on
    for column in values.T:
        going_on &= ~stops
        capital.add(column)
        stops = _stops(capital)
    going_on &= stops == stops[0]
    going_on[0] = True  # these very looks
    return float(values[going_on, :first].mean())


def _earliest(means: Floats, goal: float, horizon: Horizon, looks: int) -> int:
    """No test stops after fewer looks."""
    capital = Capital(means, goal, horizon, (2,))
    for number in range(1, looks):
        capital.add(np.array([1.0, 0.0]))
        if _stops(capital).any():
            return number
    return looks


def _stops(capital: Capital) -> np.ndarray:
    """By order: whether the evidence suffices."""
    reached = capital.sides.sum(axis=0) >= REACHED
    return np.asarray(reached[0] | (reached[1:].all(axis=0) & (len(reached) > 1)))


RIDGE, SHRUNK, UNEVEN = 20.0, 0.7, 0.6
"""Samples that a prediction of no effect of the covariates is worth; the share of the regression
that is taken; the least usual step of what is left (see `betting`)."""


@dataclass(frozen=True, slots=True)
class Order:
    """In which order samples are asked and looked at."""

    looks: tuple[tuple[int, ...], ...]
    """Rows of the samples of each look."""
    draws: tuple[Draw, ...] | None = None
    """How each was drawn, where the claim is on these very samples; None for all such samples."""
    first: int | None = None
    """Looks of the first stage; None where there is no other."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The samples in the order of asking."""
        return tuple(dict.fromkeys(row for look in self.looks for row in look))

    def stage(self, look: int) -> int:
        """0 or 1, for a look counted from 0."""
        return int(self.first is not None and look >= self.first)

    def horizons(self, effect: float | None) -> tuple[Horizon, ...]:
        """Of each stage, for a test that is to find such an effect."""
        if self.draws is not None:
            information = tuple(1 / draw.weight**2 for draw in self.draws)
            return (Horizon(information, effect, UNEVEN),)
        if self.first is None:
            return (plain(len(self.looks), effect),)
        return plain(self.first, effect), plain(len(self.looks) - self.first, effect)


@dataclass(frozen=True, slots=True)
class Guess:
    """What was predicted of the difference of a cluster before it was looked at."""

    own: float = 0.0
    left: float = 0.0
    """The sum of predictions over all clusters not looked at before, this one included."""
    low: float = 0.0
    """The lowest prediction of all."""
    high: float = 0.0


NO_GUESS = Guess()


class Predictor:
    """Predicts the differences of one contrast from what was known before: ridge regression on the
    samples looked at so far, shrunk, as a bounded bet wins less by a large prediction than the
    variance that it explains."""

    def __init__(self, known: Floats) -> None:
        """`known`: rows by covariates."""
        spread = known.std(axis=0)
        self._known: Floats = (known - known.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self._left = np.ones(len(known), bool)
        self._seen: list[int] = []
        self._values: list[float] = []

    def guess(self, row: int) -> Guess:
        """For the next sample."""
        chosen = self._known[self._seen]
        values = np.array(self._values) - (np.mean(self._values) if self._seen else 0.0)
        ridge = chosen.T @ chosen + RIDGE * np.eye(self._known.shape[1])
        slopes = SHRUNK * np.linalg.solve(ridge, chosen.T @ values)
        guesses = np.clip(self._known @ slopes, -0.5, 0.5)
        left = float(guesses[self._left].sum())
        return Guess(float(guesses[row]), left, float(guesses.min()), float(guesses.max()))

    def add(self, row: int, value: float) -> None:
        self._left[row] = False
        self._seen.append(row)
        self._values.append(value)


@dataclass(frozen=True, slots=True)
class Draw:
    """How a sample was drawn at random among those that were left."""

    left: int
    """This one included."""
    count: int
    """Of all samples."""

    @property
    def weight(self) -> float:
        return self.left / self.count

    def look(self, before: float, value: float, guess: Guess = NO_GUESS) -> Look:
        """The observation of a difference, after others of this sum: an estimate of the mean over
        all samples, unbiased whatever came before (Des Raj, JASA 51, 1956, section 2) and whatever
        was predicted, as long as that rests on samples looked at before."""
        known = (before + guess.left) / self.count
        return Look(
            known + (value - guess.own) * self.weight,
            known - self.weight * (1 + guess.high),
            known + self.weight * (1 - guess.low),
        )


def look_order(clusters: Sequence[str], seed: int, most: int | None = None) -> Order:
    """Whole clusters, as many as hold at most `most` samples; `clusters`: by sample, its cluster's
    name. Two of them come in the same order whatever others there are."""
    members: dict[str, list[int]] = {}
    for row, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(row)
    order, samples = [], 0
    for name in sorted(members, key=lambda name: _rank(name, seed)):
        if most is not None and samples + len(members[name]) > most:
            break
        order.append(tuple(members[name]))
        samples += len(members[name])
    return Order(tuple(order))


def set_order(names: Sequence[str], seed: int, most: int | None = None) -> Order:
    """Each sample by itself, for a claim on these samples alone."""
    looks = look_order(names, seed, most).looks
    return Order(looks, tuple(Draw(len(names) - n, len(names)) for n in range(len(looks))))


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


def _rank(name: str, seed: int) -> int:
    return -int.from_bytes(sha256(f"{seed}/{name}".encode()).digest()[:7], "big")


def order_of(
    samples: Sequence[Sample], clusters: Sequence[str], settings: StoppingSettings
) -> Order:
    """The order that run.json has. With earlier results the claim is on these samples alone."""
    names = [sample.id for sample in samples]
    if settings.known:
        return set_order(names, settings.seed, settings.max_samples)
    if settings.interleaved:
        return interleaved_order(names, clusters, settings.seed, settings.max_samples)
    return look_order(clusters, settings.seed, settings.max_samples)


def known_scores(
    settings: StoppingSettings, arms: Sequence[Arm], samples: Sequence[Sample]
) -> dict[str, list[float]]:
    """By arm, what earlier runs say of each sample under its condition; where they did not ask it,
    their mean over the others."""
    known = {}
    for arm in arms:
        if scores := settings.known.get(arm.condition.name):
            mean = sum(scores.values()) / len(scores)
            known[arm.label] = [scores.get(sample.id, mean) for sample in samples]
    return known


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
    """Corrected for stopping, unless the claim is on these samples alone; with the anytime-valid
    interval."""
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
        self,
        contrasts: Sequence[PlannedContrast],
        order: Order,
        rule: StoppingRule,
        known: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """`known`: by arm, what earlier runs say of each sample, if the order is drawn from."""
        self.contrasts, self.order = tuple(contrasts), order
        self._sums = [0.0] * len(self.contrasts)
        self._arms = [{label: w for label, w in each.weights if w} for each in contrasts]
        self._scales = [sum(w for w in arms.values() if w > 0) for arms in self._arms]
        self._test = SequentialTest(rule, order.horizons(rule.effect), self._scales)
        self._scores: dict[str, dict[int, float]] = {}
        self._next = [0] * len(self.contrasts)
        self._rows: list[list[list[int]]] = [[] for _ in self.contrasts]
        self._last = {row: number for number, rows in enumerate(order.looks) for row in rows}
        self._predictors = [_predictor(arms, known or {}) for arms in self._arms]

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
            look = self._drawn(k, draws[place], mean)
        elif known:
            look = Look(mean)
        else:
            return
        self._sums[k] += mean
        self._rows[k].append(list(known))
        self._test.look(k, look, self.order.stage(place))

    def _drawn(self, k: int, draw: Draw, value: float) -> Look:
        (row,), predictor = self.order.looks[self._next[k] - 1], self._predictors[k]
        if predictor is None:
            return draw.look(self._sums[k], value)
        look = draw.look(self._sums[k], value, predictor.guess(row))
        predictor.add(row, value)
        return look

    def _result(self, k: int, p_value: float) -> SequentialResult:
        verdict, scale = self._test.verdict(k), self._scales[k]
        evidence = self._test.evidence[k]
        looked = self._rows[k][: verdict.stop]
        estimate, uncorrected = Estimate(None, method="no pair"), None
        if looked:
            stage = self._stage_shown(k)
            places = [n for n in range(verdict.stop) if evidence.stages[n] == stage]
            looks = [evidence.looks[n] for n in places]
            low, high = evidence.interval(stage, verdict.stop)
            mean = sum(look.value for look in looks) / len(looks)
            uncorrected = mean * scale
            if self.order.draws is None:
                goal = exp(verdict.threshold) / evidence.shares[stage]
                mean = mean_after_stopping(looks, evidence.margin, goal, evidence.horizons[stage])
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
            plain_mean=uncorrected,
            p_value=p_value,
        )

    def _stage_shown(self, k: int) -> int:
        """The stage that decided the contrast; else the one whose interval is narrower."""
        verdict, evidence = self._test.verdict(k), self._test.evidence[k]
        stages = evidence.stages[: verdict.stop]
        if self.is_decided(k) or stages[-1] == stages[0]:
            return stages[-1]

        def width(stage: int) -> float:
            low, high = evidence.interval(stage, verdict.stop)
            return high - low

        return min(stages[0], stages[-1], key=width)


def _predictor(arms: Mapping[str, float], known: Mapping[str, Sequence[float]]) -> Predictor | None:
    """From the difference that earlier runs saw, and from their mean score."""
    columns = [np.array(known[arm]) * weight for arm, weight in arms.items() if arm in known]
    if len(columns) < len(arms):
        return None
    level = np.mean([np.array(known[arm]) for arm in arms], axis=0)
    return Predictor(np.stack([np.sum(columns, axis=0), level], axis=1))
