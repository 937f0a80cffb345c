"""Contrasts between arms: which are planned, and their estimates with tests.

They are paired by sample, and samples of one cluster are never taken apart. Every contrast has its
own 95 % interval, one that holds for all of the table together, a sign-flip test with Holm's
correction, the minimum detectable effect, and with a margin a test of equivalence.

A trend is the slope of the score on a dose (steps, tokens) within each sample. For a sample i and
its arms j, with centred doses d and scores y, the slope is Σᵢⱼ d·y / Σᵢⱼ d²: the least-squares
estimate with an intercept for each sample. Models choose their doses themselves, so a slope is an
association, no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import NormalDist

import numpy as np

from agent_env.analysis.intervals import (
    Estimate,
    Interval,
    bootstrap_estimate,
    paired_share_interval,
)
from agent_env.analysis.resampling import (
    Floats,
    Ints,
    bootstrap_means,
    means,
    ratio,
    sign_flip_p,
    standard_errors,
)
from agent_env.analysis.significance import (
    holm,
    mcnemar_exact,
    mcnemar_mid,
    minimum_detectable_effect,
    samples_needed,
    student_quantile,
    tost_p,
)
from agent_env.analysis.study import Arm
from agent_env.analysis.tools_check import MARK
from agent_env.errors import ConfigError
from agent_env.tasks.conditions import is_twin


@dataclass(frozen=True, slots=True)
class PlannedContrast:
    """A weighted sum of arms, by label; the weights add up to 0."""

    name: str
    after: str
    before: str
    weights: tuple[tuple[str, float], ...]
    """Of a trend: its arms, all with 0."""
    is_interaction: bool = False
    dose: str | None = None
    """Of a trend: the quantity on which the score is regressed within each sample."""
    is_exploratory: bool = False
    """Whether it was chosen after the study began."""

    @property
    def is_simple(self) -> bool:
        """Whether it is the difference of two arms."""
        return not self.is_interaction and self.dose is None

    @property
    def reach(self) -> float:
        """The largest difference that scores in [0, 1] can have."""
        return sum(abs(weight) for _, weight in self.weights) / 2

    @property
    def key(self) -> tuple[str | None, frozenset[tuple[str, float]]]:
        """Equal for contrasts that estimate the same."""
        return self.dose, frozenset(self.weights)

    @property
    def subject(self) -> frozenset[tuple[str | None, frozenset[tuple[str, float]]]]:
        """Equal for contrasts that estimate the same, whichever way round."""
        reverse = frozenset((label, -weight) for label, weight in self.weights)
        return frozenset({self.key, (self.dose, reverse)})


@dataclass(frozen=True, slots=True)
class Contrast:
    planned: PlannedContrast
    difference: Estimate
    pairs: int
    """Samples that have a finished episode in every arm concerned."""
    unpaired: int
    """Samples that only some of the arms have; left out."""
    better: int
    worse: int
    simultaneous: Interval | None = None
    """The 95 % interval that holds for all contrasts of the table together; None for a single
    one."""
    p_value: float | None = None
    """Sign-flip permutation test of whole clusters, two-sided, mid-p; None where none is due."""
    p_holm: float | None = None
    """Holm's correction over all p-values of the table."""
    p_mcnemar: float | None = None
    """Exact McNemar; only for 0/1 scores with one episode per sample."""
    p_mcnemar_mid: float | None = None
    detectable: float | None = None
    """Minimum detectable effect: 80 % power at 5 %."""
    needed: int | None = None
    """Samples required for the target effect, at the same power."""
    p_equivalence: float | None = None
    """TOST that the difference is not larger than the margin; None without a margin."""
    p_equivalence_holm: float | None = None
    """Holm's correction over all of these."""

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def is_significant(self) -> bool:
        """Whether it stands after correction at 5 %."""
        return self.p_holm is not None and self.p_holm < 0.05

    @property
    def is_equivalent(self) -> bool:
        """Whether it is shown to be no larger than the margin, after correction at 5 %."""
        return self.p_equivalence_holm is not None and self.p_equivalence_holm < 0.05


def disturbed_arms(arms: Sequence[Arm], plain: Arm) -> list[Arm]:
    """The conditions of a plain one's run that differ from it in their disturbance alone."""
    return [
        arm
        for arm in arms
        if plain.condition.disturbance is None
        and arm.run == plain.run
        and arm.condition.disturbance is not None
        and is_twin(plain.condition, arm.condition, "disturbance")
    ]


def plan(arms: Sequence[Arm], baseline: str | None) -> tuple[PlannedContrast, ...]:
    """With the label of one arm as baseline, every other arm against it; with the name of a
    condition, in each run every other condition against its own. Without, in each run every
    condition against the run's first (in a forced form against the same in free form), and every
    condition of a later run against the same of the first run. Then the Web × CI interactions."""
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    if baseline is None:
        pairs = [(arm, _plain(arm, own) or own[0]) for own in runs.values() for arm in own[1:]]
        first, *later_runs = runs.values()
        by_name = {arm.condition.name: arm for arm in first}
        later = (arm for own in later_runs for arm in own if arm.condition.name in by_name)
        pairs += [(arm, by_name[arm.condition.name]) for arm in later]
    else:
        pairs = _against(baseline, arms)
    plans = [difference(after, before) for after, before in pairs]
    return (*plans, *(each for arms_of_run in runs.values() for each in _interactions(arms_of_run)))


def _plain(arm: Arm, arms: Sequence[Arm]) -> Arm | None:
    """The arm of the same condition whose answers are free; else whose world is not disturbed; else
    by our own loop; else on the run's first day; None for an arm that is one."""
    condition = arm.condition
    first = arms[0].condition.today
    kinds = ("answer_format", "free"), ("disturbance", None), ("agent", None), ("today", first)
    for field, plain in kinds:
        for each in arms if getattr(condition, field) != plain else ():
            is_plain = getattr(each.condition, field) == plain
            if is_plain and is_twin(condition, each.condition, field):
                return each
    return None


def _against(baseline: str, arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    label = next((arm for arm in arms if arm.label in (baseline, baseline + MARK)), None)
    if label is not None:
        return [(arm, label) for arm in arms if arm is not label]
    base = {arm.run: arm for arm in arms if arm.condition.name == baseline}
    if not base:
        names = dict.fromkeys([arm.condition.name for arm in arms] + [arm.label for arm in arms])
        raise ConfigError(f"no condition '{baseline}'; known: {', '.join(names)}")
    return [(arm, base[arm.run]) for arm in arms if arm.run in base and arm is not base[arm.run]]


def difference(after: Arm, before: Arm) -> PlannedContrast:
    name = contrast_name((after, before), (1.0, -1.0))
    weights = ((after.label, 1.0), (before.label, -1.0))
    return PlannedContrast(name, after.label, before.label, weights)


def contrast_name(arms: Sequence[Arm], weights: Sequence[float]) -> str:
    """`a − b`, `(a − b) − (c − d)`, or the signed sum of more."""
    labels = [arm.label for arm in arms]
    if len(labels) == 2:
        return f"{labels[0]} − {labels[1]}"
    if list(weights) == [1.0, -1.0, -1.0, 1.0]:
        return f"({labels[0]} − {labels[1]}) − ({labels[2]} − {labels[3]})"
    signs = ("−" if weight < 0 else "+" for weight in weights)
    return " ".join(f"{s} {label}" for s, label in zip(signs, labels, strict=True))[2:]


def _interactions(arms: Sequence[Arm]) -> list[PlannedContrast]:
    """(both − web) − (python − neither) for every set of other parts that has all four."""
    free = [arm for arm in arms if "~" not in arm.condition.name]
    by_parts = {frozenset(arm.condition.name.split("+")) - {"base"}: arm.label for arm in free}
    interactions = []
    for rest in by_parts:
        for web in ("web", "web-once"):
            four = (rest | {web, "python"}, rest | {web}, rest | {"python"}, rest)
            if rest & {"web", "web-once", "python"} or not all(parts in by_parts for parts in four):
                continue
            both, one, other, neither = (by_parts[parts] for parts in four)
            interactions.append(
                PlannedContrast(
                    f"{web} × python over {neither}",
                    both,
                    neither,
                    ((both, 1.0), (one, -1.0), (other, -1.0), (neither, 1.0)),
                    is_interaction=True,
                )
            )
    return interactions


UNITS = {"cost_usd": (0.01, "cent"), "duration_s": (1.0, "second"), "steps": (1.0, "step"),
         "tool_calls": (1.0, "tool call")}  # fmt: skip
"""How much of a dose the slope is per, and its name; of tokens 1,000."""
TOKENS = (1000.0, "1,000 tokens")


def unit_of(dose: str) -> tuple[float, str]:
    """The unit of a slope: its size and its name."""
    return UNITS.get(dose, TOKENS)


def slope_parts(scores: Floats, doses: Floats) -> tuple[Floats, Floats]:
    """Each sample's Σ d·y and Σ d² over its arms; NaN with fewer than two known arms."""
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


@dataclass(frozen=True, slots=True)
class ContrastValues:
    """What each sample contributes to each contrast, samples by contrasts; NaN where an arm
    lacks it. A contrast is the sum of `tops` over that of `bottoms`."""

    tops: Floats
    """A difference's own value; a trend's products of centred dose and score."""
    bottoms: Floats
    """1 for a difference; a trend's squared doses."""


def contrast_values(
    plans: Sequence[PlannedContrast],
    arms: Sequence[Arm],
    columns: Floats,
    doses: Callable[[str], Floats],
) -> ContrastValues:
    """Of scores by samples and arms; `doses` gives such columns of a dose, in its unit."""
    place = {arm.label: index for index, arm in enumerate(arms)}
    tops, bottoms = (np.zeros((len(columns), len(plans))) for _ in range(2))
    for k, planned in enumerate(plans):
        if planned.dose is not None:
            indices = [place[label] for label, _ in planned.weights]
            tops[:, k], bottoms[:, k] = slope_parts(
                columns[:, indices], doses(planned.dose)[:, indices]
            )
            continue
        for label, weight in planned.weights:
            tops[:, k] += weight * columns[:, place[label]]
        bottoms[:, k] = np.where(np.isnan(tops[:, k]), np.nan, 1.0)
    return ContrastValues(tops, bottoms)


@dataclass(frozen=True, slots=True)
class Scale:
    """What the scores are that are compared, and what is wanted of them."""

    share: bool
    """Whether they are 0 or 1."""
    single: bool
    """Whether there is one episode per sample."""
    target_effect: float
    """The difference for the required sample size."""
    margin: float | None = None
    """Of equivalence."""
    bounded: bool = True
    """Whether they lie in [0, 1]."""


def measure(
    plans: Sequence[PlannedContrast],
    values: ContrastValues,
    clusters: Ints,
    scale: Scale,
    weights: Floats,
    seed: int,
) -> tuple[Contrast, ...]:
    if not plans:
        return ()
    # columns whose means are the contrasts and whose standard errors are theirs: a ratio's
    # linearisation, for a difference the values themselves
    slopes = ratio(np.nansum(values.tops, axis=0), np.nansum(values.bottoms, axis=0))
    linear = slopes + ratio(values.tops - slopes * values.bottoms, means(values.bottoms))
    draws = ratio(
        bootstrap_means(values.tops, clusters, weights),
        bootstrap_means(values.bottoms, clusters, weights),
    )
    p_values = sign_flip_p(values.tops, clusters, len(weights), seed)
    errors = standard_errors(linear, clusters)
    contrasts = []
    for k, planned in enumerate(plans):
        top, line, error = values.tops[:, k], linear[:, k], float(errors[k])
        contrasts.append(
            _contrast(planned, top, line, clusters, error, draws[:, k], p_values[k], scale)
        )
    adjusted = holm([contrast.p_value for contrast in contrasts])
    equivalent = holm([contrast.p_equivalence for contrast in contrasts])
    intervals = _simultaneous(contrasts, errors, draws, scale)
    return tuple(
        replace(c, p_holm=p, p_equivalence_holm=tost, simultaneous=interval)
        for c, p, tost, interval in zip(contrasts, adjusted, equivalent, intervals, strict=True)
    )


def _contrast(
    planned: PlannedContrast,
    top: Floats,
    line: Floats,
    clusters: Ints,
    error: float,
    draws: Floats,
    p_value: float | None,
    scale: Scale,
) -> Contrast:
    """The contrast with its interval and counts, and with tests and power where they are due."""
    better, worse = int((top > 1e-12).sum()), int((top < -1e-12).sum())
    has_value = ~np.isnan(line)
    pairs, groups = int(has_value.sum()), len(np.unique(clusters[has_value]))
    centre = float(means(line[:, None])[0])
    if pairs == 0:
        estimate = Estimate(None, method="no pair")
    elif groups < 2:
        estimate = Estimate(centre, None, None, "one sample", pairs, groups)
    elif error > 1e-12:
        estimate = bootstrap_estimate(centre, draws, pairs, groups)
    elif scale.share and planned.is_simple and abs(centre) in (0.0, 1.0):
        ends = paired_share_interval(groups if better else 0, groups if worse else 0, groups)
        estimate = Estimate(centre, *ends, "Bonett-Price, as all pairs agree", pairs, groups)
    else:
        estimate = Estimate(centre, None, None, "all differences equal", pairs, groups)
    is_trend, groups = planned.dose is not None, estimate.clusters
    due = groups > 1 and better + worse > 0
    by_counts = due and scale.share and scale.single and planned.is_simple
    varies = groups > 1 and error > 1e-12
    needed = samples_needed(error, pairs, scale.target_effect) if varies else None
    reach = planned.reach if scale.bounded else None
    return Contrast(
        planned=planned,
        difference=estimate,
        pairs=pairs,
        unpaired=len(line) - pairs,
        better=better,
        worse=worse,
        p_value=p_value if due else None,
        p_mcnemar=mcnemar_exact(better, worse) if by_counts else None,
        p_mcnemar_mid=mcnemar_mid(better, worse) if by_counts else None,
        detectable=minimum_detectable_effect(error) if varies else None,
        needed=None if is_trend else needed,
        p_equivalence=None
        if scale.margin is None or is_trend
        else tost_p(line, clusters, scale.margin, reach),
    )


def _simultaneous(
    contrasts: Sequence[Contrast], errors: Floats, draws: Floats, scale: Scale
) -> list[Interval | None]:
    """Intervals that hold for all contrasts together in 95 % of cases: the estimate ± its standard
    error times the 95 % quantile of the largest standardised deviation of a bootstrap draw (max-t),
    widened for few clusters as `expanded_tail` does. Where all pairs agree: Bonferroni."""
    known = [k for k, c in enumerate(contrasts) if c.difference.low is not None]
    drawn = [k for k in known if errors[k] > 1e-12]
    if len(known) < 2:
        return [None] * len(contrasts)
    tail = 0.025 / len(known)
    if drawn:
        resamples = draws[:, drawn]
        centre = np.array([contrasts[k].difference.value for k in drawn])
        largest = np.nanmax(np.abs(resamples - centre) / np.nanstd(resamples, axis=0), axis=1)
        tail = NormalDist().cdf(-float(np.quantile(largest, 0.95)))
    intervals: list[Interval | None] = [None] * len(contrasts)
    for k in known:
        c = contrasts[k]
        value, groups = c.difference.value or 0.0, c.difference.clusters
        if k in drawn:
            half = student_quantile(tail, groups - 1) * float(errors[k])
            limit = inf if c.planned.dose is not None or not scale.bounded else c.planned.reach
            intervals[k] = max(value - half, -limit), min(value + half, limit)
        else:
            split = (groups if c.better else 0, groups if c.worse else 0)
            intervals[k] = paired_share_interval(*split, groups, 1 - 2 * tail)
    return intervals
