"""Contrasts between arms: those that a comparison makes by itself, and what is told of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.analysis.intervals import Estimate, Interval
from agent_env.analysis.study import Arm
from agent_env.analysis.treatment import MARK
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
    """One contrast, paired by sample, with its tests and its power."""

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
        """The planned contrast's."""
        return self.planned.name

    @property
    def is_significant(self) -> bool:
        """Whether it stands after correction at 5 %."""
        return self.p_holm is not None and self.p_holm < 0.05

    @property
    def is_equivalent(self) -> bool:
        """Whether it is shown to be no larger than the margin, after correction at 5 %."""
        return self.p_equivalence_holm is not None and self.p_equivalence_holm < 0.05


def plan(arms: Sequence[Arm], baseline: str | None) -> tuple[PlannedContrast, ...]:
    """With the label of one arm as baseline, every other arm against it; with the name of a
    condition, in each run every other condition against its own. Without, in each run every
    condition against the run's first (in a forced form against the same in free form), and every
    condition of a later run against the same of the first run. Then the Web × CI interactions."""
    runs: dict[str, list[Arm]] = {}
    for arm in arms:
        runs.setdefault(arm.run, []).append(arm)
    pairs = _pairs(runs) if baseline is None else _against(baseline, arms)
    plans = [difference(after, before) for after, before in pairs]
    return (*plans, *(each for own in runs.values() for each in _interactions(own)))


def _pairs(runs: Mapping[str, Sequence[Arm]]) -> list[tuple[Arm, Arm]]:
    first, *others = runs.values()
    pairs = [(arm, _plain(arm, own) or own[0]) for own in runs.values() for arm in own[1:]]
    by_name = {arm.condition.name: arm for arm in first}
    return pairs + [
        (arm, by_name[arm.condition.name])
        for own in others
        for arm in own
        if arm.condition.name in by_name
    ]


def _plain(arm: Arm, own: Sequence[Arm]) -> Arm | None:
    """The arm of the same condition whose answer is not forced; else whose answers are free; else
    whose world is not disturbed; None for an arm that is one."""
    condition = arm.condition
    if condition.answer_at is not None:
        name = condition.name.removesuffix(f"~at{condition.answer_at}")
        return next((each for each in own if each.condition.name == name), None)
    for field, plain in (("answer_format", "free"), ("disturbance", None)):
        for each in own if getattr(condition, field) != plain else ():
            is_plain = getattr(each.condition, field) == plain
            if is_plain and is_twin(condition, each.condition, field):
                return each
    return None


def _against(baseline: str, arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    label = next((arm for arm in arms if arm.label in (baseline, baseline + MARK)), None)
    if label is not None:
        return [(arm, label) for arm in arms if arm is not label]
    own = {arm.run: arm for arm in arms if arm.condition.name == baseline}
    if not own:
        names = dict.fromkeys([arm.condition.name for arm in arms] + [arm.label for arm in arms])
        raise ConfigError(f"no condition '{baseline}'; known: {', '.join(names)}")
    return [(arm, own[arm.run]) for arm in arms if arm.run in own and arm is not own[arm.run]]


def difference(after: Arm, before: Arm) -> PlannedContrast:
    """One arm minus another."""
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
    """(both − web) − (ci − neither) for every set of other parts that has all four."""
    free = [arm for arm in arms if "~" not in arm.condition.name]
    by_parts = {frozenset(arm.condition.name.split("+")) - {"base"}: arm.label for arm in free}
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
