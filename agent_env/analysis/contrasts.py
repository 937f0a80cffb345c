"""Differences between arms, and differences of differences, paired by sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent_env.analysis.intervals import Estimate, bootstrap_estimate, paired_share_interval
from agent_env.analysis.power import minimum_detectable_effect, samples_needed
from agent_env.analysis.resampling import (
    Floats,
    Ints,
    bootstrap_means,
    means,
    ratio,
    sign_flip_p,
    standard_errors,
)
from agent_env.analysis.significance import holm, mcnemar_exact, mcnemar_mid
from agent_env.analysis.study import Arm
from agent_env.analysis.treatment import MARK
from agent_env.analysis.trends import slope_parts
from agent_env.errors import ConfigError


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
    def key(self) -> tuple[str | None, frozenset[tuple[str, float]]]:
        """Equal for contrasts that estimate the same."""
        return self.dose, frozenset(self.weights)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One difference, paired by sample, with its tests and its power."""

    name: str
    after: str
    before: str
    is_interaction: bool
    is_exploratory: bool
    difference: Estimate
    pairs: int
    """Samples that have a finished episode in every arm concerned."""
    unpaired: int
    """Samples that only some of the arms have; left out."""
    better: int
    worse: int
    p_value: float | None
    """Sign-flip permutation test of whole clusters, two-sided, mid-p; None where none is due."""
    p_holm: float | None
    """Holm's correction over all p-values of the table."""
    p_mcnemar: float | None
    """Exact McNemar; only for 0/1 scores with one episode per sample."""
    p_mcnemar_mid: float | None
    detectable: float | None
    """Minimum detectable effect: 80 % power at 5 %."""
    needed: int | None
    """Samples required for the target effect, at the same power."""
    words: str
    """What the figures say, in one sentence."""

    @property
    def is_significant(self) -> bool:
        """Whether it stands after correction at 5 %."""
        return self.p_holm is not None and self.p_holm < 0.05


def plan(arms: Sequence[Arm], baseline: str | None) -> tuple[PlannedContrast, ...]:
    """With the label of one arm as baseline, every other arm against it; with the name of a
    condition, in each run every other condition against its own. Without, in each run every
    condition against the run's first, and every condition of a later run against the same of the
    first run. Then the Web × CI interactions."""
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    pairs = _pairs(runs) if baseline is None else _against(baseline, arms)
    plans = [_difference(after, before) for after, before in pairs]
    return (*plans, *(each for own in runs.values() for each in _interactions(own)))


def _pairs(runs: Mapping[str, Sequence[Arm]]) -> list[tuple[Arm, Arm]]:
    first, *others = runs.values()
    pairs = [(arm, own[0]) for own in runs.values() for arm in own[1:]]
    by_name = {arm.condition.name: arm for arm in first}
    return pairs + [
        (arm, by_name[arm.condition.name])
        for own in others
        for arm in own
        if arm.condition.name in by_name
    ]


def _against(baseline: str, arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    label = next((arm for arm in arms if arm.label in (baseline, baseline + MARK)), None)
    if label is not None:
        return [(arm, label) for arm in arms if arm is not label]
    own = {arm.run: arm for arm in arms if arm.condition.name == baseline}
    if not own:
        names = dict.fromkeys([arm.condition.name for arm in arms] + [arm.label for arm in arms])
        raise ConfigError(f"no condition '{baseline}'; known: {', '.join(names)}")
    return [(arm, own[arm.run]) for arm in arms if arm.run in own and arm is not own[arm.run]]


def _difference(after: Arm, before: Arm) -> PlannedContrast:
    name = difference_name((after, before), (1.0, -1.0))
    weights = ((after.label, 1.0), (before.label, -1.0))
    return PlannedContrast(name, after.label, before.label, weights)


def difference_name(arms: Sequence[Arm], weights: Sequence[float]) -> str:
    """`a − b`, `(a − b) − (c − d)`, or the signed sum of more."""
    labels = [arm.label for arm in arms]
    if len(labels) == 2:
        return f"{labels[0]} − {labels[1]}"
    if list(weights) == [1.0, -1.0, -1.0, 1.0]:
        return f"({labels[0]} − {labels[1]}) − ({labels[2]} − {labels[3]})"
    signs = ("−" if weight < 0 else "+" for weight in weights)
    return " ".join(f"{s} {label}" for s, label in zip(signs, labels, strict=True))[2:]


def _interactions(arms: Sequence[Arm]) -> list[PlannedContrast]:
    """(both − web) − (ci − neither) for every set of other parts that has all four."""
    by_parts = {frozenset(arm.condition.name.split("+")) - {"base"}: arm.label for arm in arms}
    interactions = []
    for rest in by_parts:
        for web in ("web", "web-once"):
            four = (rest | {web, "ci"}, rest | {web}, rest | {"ci"}, rest)
            if rest & {"web", "web-once", "ci"} or not all(parts in by_parts for parts in four):
                continue
            both, one, other, neither = (by_parts[parts] for parts in four)
            interactions.append(
                PlannedContrast(
                    f"{web} × ci over {neither}",
                    both,
                    neither,
                    ((both, 1.0), (one, -1.0), (other, -1.0), (neither, 1.0)),
                    is_interaction=True,
                )
            )
    return interactions


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
    """Of `columns` with the scores, samples by arms; `doses` gives such columns of a dose, in the
    unit of its slope."""
    place = {arm.label: index for index, arm in enumerate(arms)}
    tops, bottoms = (np.zeros((len(columns), len(plans))) for _ in range(2))
    for k, planned in enumerate(plans):
        if planned.dose is not None:
            own = [place[label] for label, _ in planned.weights]
            tops[:, k], bottoms[:, k] = slope_parts(columns[:, own], doses(planned.dose)[:, own])
            continue
        for label, weight in planned.weights:
            tops[:, k] += weight * columns[:, place[label]]
        bottoms[:, k] = np.where(np.isnan(tops[:, k]), np.nan, 1.0)
    return ContrastValues(tops, bottoms)


def _linear(values: ContrastValues) -> Floats:
    """Columns whose means are the contrasts and whose standard errors are theirs: a ratio's
    linearisation, for a difference the values themselves."""
    slopes = ratio(np.nansum(values.tops, axis=0), np.nansum(values.bottoms, axis=0))
    return slopes + ratio(values.tops - slopes * values.bottoms, means(values.bottoms))


def measure(
    plans: Sequence[PlannedContrast],
    values: ContrastValues,
    clusters: Ints,
    *,
    share: bool,
    single: bool,
    weights: Floats,
    seed: int,
    target_effect: float,
) -> tuple[Contrast, ...]:
    """Estimate, test and weigh each planned difference. `share`: scores are 0 or 1; `single`: one
    episode per sample; `target_effect`: the difference for the required sample size."""
    if not plans:
        return ()
    linear = _linear(values)
    draws = ratio(
        bootstrap_means(values.tops, clusters, weights),
        bootstrap_means(values.bottoms, clusters, weights),
    )
    p_values = sign_flip_p(values.tops, clusters, len(weights), seed)
    centre, errors = means(linear), standard_errors(linear, clusters)
    contrasts = []
    for k, planned in enumerate(plans):
        column = values.tops[:, k]
        better, worse = int((column > 1e-12).sum()), int((column < -1e-12).sum())
        has_value = ~np.isnan(linear[:, k])
        pairs, groups = int(has_value.sum()), len(np.unique(clusters[has_value]))
        simple = share and planned.is_simple
        error = float(errors[k])
        estimate = _estimate(float(centre[k]), error, draws[:, k], pairs, groups, simple,
                             (better, worse))  # fmt: skip
        due = groups > 1 and better + worse > 0
        tested = due and simple and single
        varies = groups > 1 and error > 1e-12
        contrast = Contrast(
            name=planned.name,
            after=planned.after,
            before=planned.before,
            is_interaction=planned.is_interaction,
            is_exploratory=planned.is_exploratory,
            difference=estimate,
            pairs=pairs,
            unpaired=len(column) - pairs,
            better=better,
            worse=worse,
            p_value=p_values[k] if due else None,
            p_holm=None,
            p_mcnemar=mcnemar_exact(better, worse) if tested else None,
            p_mcnemar_mid=mcnemar_mid(better, worse) if tested else None,
            detectable=minimum_detectable_effect(error) if varies else None,
            needed=samples_needed(error, pairs, target_effect) if varies else None,
            words="",
        )
        contrasts.append(contrast)
    adjusted = holm([contrast.p_value for contrast in contrasts])
    corrected = [replace(c, p_holm=p) for c, p in zip(contrasts, adjusted, strict=True)]
    return tuple(
        replace(c, words=in_words(c, float(e))) for c, e in zip(corrected, errors, strict=True)
    )


def _estimate(
    centre: float,
    error: float,
    draws: Floats,
    pairs: int,
    groups: int,
    simple: bool,
    split: tuple[int, int],
) -> Estimate:
    if pairs == 0:
        return Estimate(None, method="no pair")
    if groups < 2:
        return Estimate(centre, None, None, "one sample", pairs, groups)
    if error > 1e-12:
        return bootstrap_estimate(centre, draws, pairs, groups)
    if simple and abs(centre) in (0.0, 1.0):
        counts = (groups if split[0] else 0, groups if split[1] else 0)
        low, high = paired_share_interval(*counts, groups)
        return Estimate(centre, low, high, "Bonett-Price, as all pairs agree", pairs, groups)
    return Estimate(centre, None, None, "all differences equal", pairs, groups)


def in_words(contrast: Contrast, error: float) -> str:
    """One sentence that a reader may quote."""
    estimate, mean = contrast.difference, contrast.difference.value
    if mean is None:
        return "No sample has a finished episode in all the conditions concerned."
    if estimate.clusters < 2:
        return "One sample (or one event) only: nothing can be said of others."
    if contrast.p_value is None:
        return f"The scores are equal on all {contrast.pairs} samples: there is nothing to test."
    size = "interaction" if contrast.is_interaction else "difference"
    if contrast.is_significant:
        return f"A {size} of {mean:+.3f}, significant after correction."
    detectable = contrast.detectable
    if detectable is None:
        return f"A {size} of {mean:+.3f} on {contrast.pairs} samples, not significant."
    if abs(mean) < detectable:
        needed = samples_needed(error, contrast.pairs, mean) if abs(mean) > 1e-12 else None
        more = f"; about {needed} samples would be needed for one of this size" if needed else ""
        return (
            f"Not resolvable with {contrast.pairs} samples: {abs(mean):.3f} is below the smallest "
            f"{size} that they can show ({detectable:.3f}){more}."
        )
    if contrast.p_value < 0.05:
        return f"A {size} of {mean:+.3f} that does not stand the correction for many tests."
    return f"A {size} of {mean:+.3f}, not significant."
