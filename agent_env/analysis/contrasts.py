"""Contrasts between arms: which are planned, and their estimates with tests.

They are paired by sample, and samples of one cluster are never taken apart. Every contrast has its
own 95 % interval, one that holds for all of the table together, one p-value, the same after Holm's
correction, the minimum detectable effect, and the samples that would show its difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent_env.analysis.intervals import (
    LEVEL,
    Estimate,
    Floats,
    Interval,
    Ints,
    Means,
    holm,
    minimum_detectable_effect,
    samples_needed,
)
from agent_env.analysis.study import MARK, Arm
from agent_env.errors import ConfigError, suggestion
from agent_env.tasks.modifiers import FIRST_STEP, FORMAT, bare_name, modifier_of, modifiers


@dataclass(frozen=True, slots=True)
class PlannedContrast:
    """A weighted sum of arms, by label; the weights add up to 0."""

    name: str
    after: str
    before: str
    weights: tuple[tuple[str, float], ...]
    is_interaction: bool = False
    """Whether it is more than the difference of two arms."""
    is_exploratory: bool = False
    """Whether it was chosen after the study began."""

    @property
    def reach(self) -> float:
        """The largest difference that scores in [0, 1] can have."""
        return sum(abs(weight) for _, weight in self.weights) / 2 or 1.0

    @property
    def key(self) -> frozenset[tuple[str, float]]:
        """Equal for contrasts that estimate the same."""
        return frozenset(self.weights)


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
    p_value: float | None = None
    """Exact: McNemar's of rates, else a permutation of signs; None without a pair."""
    detectable: float | None = None
    """Minimum detectable effect: 80 % power at 5 %; None without an interval."""
    needed: int | None = None
    """Samples that show the observed difference, at the same power; None for one of 0."""
    simultaneous: Interval | None = None
    """The 95 % interval that holds for all contrasts of the table together; None without one."""
    p_holm: float | None = None
    """Holm's correction over all p-values of the table."""
    is_equivalent: bool = False
    """Whether the simultaneous interval lies within the margin; never without a margin."""

    @property
    def name(self) -> str:
        return self.planned.name

    @property
    def is_shown(self) -> bool:
        """Whether a difference is claimed: Holm's p is below 5 % and its interval excludes 0."""
        return self.p_holm is not None and self.p_holm < 0.05 and self.difference.excludes_zero


def disturbed_arms(arms: Sequence[Arm], plain: Arm) -> list[Arm]:
    """The conditions of a plain one's run that differ from it in their disturbance alone."""
    its = modifier_of("disturbance")
    return [
        arm
        for arm in arms
        if plain.condition.disturbance is None
        and arm.run == plain.run
        and arm.condition.disturbance is not None
        and its is not None
        and its.is_twin(plain.condition, arm.condition)
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
    of_features = (its for its in modifiers() if its not in (FIRST_STEP, FORMAT))
    for modifier in (FORMAT, *of_features):
        is_first = modifier.compared_with == "first"
        plain = modifier.of(arms[0].condition) if is_first else modifier.plain
        for each in arms if modifier.of(condition) != plain else ():
            is_plain = modifier.of(each.condition) == plain
            if is_plain and modifier.is_twin(condition, each.condition):
                return each
    return None


def _against(baseline: str, arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    label = next((arm for arm in arms if arm.label in (baseline, baseline + MARK)), None)
    if label is not None:
        return [(arm, label) for arm in arms if arm is not label]
    base = {arm.run: arm for arm in arms if arm.condition.name == baseline}
    if not base:
        names = dict.fromkeys([arm.condition.name for arm in arms] + [arm.label for arm in arms])
        raise ConfigError(f"no condition '{baseline}'; {suggestion(baseline, names)}")
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
    free = [arm for arm in arms if bare_name(arm.condition.name) == arm.condition.name]
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


def contrast_values(
    plans: Sequence[PlannedContrast], arms: Sequence[Arm], columns: Floats
) -> Floats:
    """What each sample contributes to each contrast, of scores by samples and arms; NaN where an
    arm lacks it."""
    weights = [[dict(plan.weights).get(arm.label, 0.0) for arm in arms] for plan in plans]
    values = np.zeros((len(columns), len(plans)))
    for k, own in enumerate(weights):
        for place, weight in enumerate(own):
            values[:, k] += weight * columns[:, place] if weight else 0.0
    return values


def measure(
    plans: Sequence[PlannedContrast],
    values: Floats,
    clusters: Ints,
    is_rate: bool,
    margin: float | None = None,
) -> tuple[Contrast, ...]:
    """The contrasts of one table; `values`: by sample and contrast; `is_rate`: of 0/1 scores."""
    if not plans:
        return ()
    means = Means(values, clusters)
    single = [_contrast(planned, values[:, k], means, k, is_rate) for k, planned in
              enumerate(plans)]  # fmt: skip
    adjusted = holm([contrast.p_value for contrast in single])
    number = sum(contrast.difference.low is not None for contrast in single)
    contrasts = []
    for k, contrast in enumerate(single):
        # Bonferroni: the same method at a smaller level, so never narrower
        level = 1 - (1 - LEVEL) / max(number, 1)
        wide = _estimate(contrast.planned, means, k, is_rate, level)
        ends = None if wide.low is None or wide.high is None else (wide.low, wide.high)
        within = margin is not None and ends is not None and max(map(abs, ends)) < margin
        contrasts.append(
            replace(contrast, p_holm=adjusted[k], simultaneous=ends, is_equivalent=within)
        )
    return tuple(contrasts)


def _estimate(
    planned: PlannedContrast, means: Means, k: int, is_rate: bool, level: float = LEVEL
) -> Estimate:
    ends = (-planned.reach, planned.reach) if is_rate else (-np.inf, np.inf)
    return means.estimate(k, "difference" if is_rate else "mean", level, ends)


def _contrast(
    planned: PlannedContrast, values: Floats, means: Means, k: int, is_rate: bool
) -> Contrast:
    estimate, detectable = _estimate(planned, means, k, is_rate), None
    if estimate.low is not None and estimate.high is not None:
        detectable = minimum_detectable_effect(estimate.low, estimate.high)
    needed = samples_needed(estimate.value or 0.0, float(means.errors[k]), estimate.samples)
    return Contrast(
        planned=planned,
        difference=estimate,
        pairs=estimate.samples,
        unpaired=len(values) - estimate.samples,
        better=int((values > 1e-12).sum()),
        worse=int((values < -1e-12).sum()),
        p_value=means.p_value(k),
        detectable=detectable,
        needed=needed,
    )
