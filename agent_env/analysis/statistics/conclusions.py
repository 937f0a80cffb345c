"""What the episodes' provenances and the contrasts show, in sentences made by rules.

Where answers came from is counted: k of n episodes, and the rate over samples. A difference is
claimed where its p-value stays below 5 % after Holm's correction and its interval excludes 0, else
it "cannot be told apart"; "smaller than the margin" where the simultaneous interval shows it. Every
figure has its 95 % interval and its n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, PlannedContrast, disturbed_arms, measure
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.provenance import Provenance, World, world_of
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.statistics.ladder import ladder_sentences
from agent_env.analysis.statistics.shortcuts import shortcut_sentence
from agent_env.analysis.study import Arm
from agent_env.analysis.tools_check import bare_of, unused_tools


def conclusions(comparison: Comparison) -> tuple[str, ...]:
    """First whether the questions can show a gain at all, where they cannot, and at which step of a
    ladder of conditions points are lost. Then where answers came from, where there are disturbed
    conditions; then one sentence for each contrast: exploratory ones come last, and say so; then
    the best shortcut. Without disturbed conditions the first contrast goes before. Conditions take
    turns."""
    ordered = sorted(comparison.contrasts, key=lambda contrast: contrast.planned.is_exploratory)
    differences = tuple(_Rule(comparison, each).sentence() for each in ordered)
    arms = comparison.study.arms
    by_condition = zip_longest(*(_of_condition(comparison, arm) for arm in arms))
    told = [text for texts in by_condition for text in texts if text is not None]
    limits = (*_floor_or_ceiling(comparison), *ladder_sentences(comparison))
    first = 0 if any(arm.condition.disturbance is not None for arm in arms) else 1
    rest = (*differences[first:], *shortcut_sentence(comparison))
    return (*limits, *differences[:first], *told, *rest)


def _floor_or_ceiling(comparison: Comparison) -> Iterator[str]:
    """That the questions can show no gain, where all conditions are wrong, or right, throughout."""
    values = comparison.values_of(comparison.metric)
    pairs = zip(comparison.study.arms, values, strict=True)
    plain = [(arm, value) for arm, value in pairs if arm.condition.disturbance is None]
    known = {value for _, value in plain}
    if comparison.is_error or len(plain) < 2 or known not in ({0.0}, {1.0}):
        return
    answers = sum(len(arm.finished) for arm, _ in plain)
    right, level = (answers, "harder") if known == {1.0} else (0, "easier")
    yield (
        f"{right} of {answers} answers under {', '.join(arm.label for arm, _ in plain)} are right: "
        f"these questions cannot show a gain; ask {level} ones (agent-env docs real-results)."
    )


OF_WORLD: Mapping[World, tuple[str, Callable[[Provenance], bool | None], str]] = {
    "attacked": ("fooled by the planted page", lambda r: r.is_fooled, " that saw it"),
    "faults": ("recovered", lambda r: r.recovered, " episodes in which a fault landed"),
    "blocked": ("right without the pages that prove it", lambda r: r.is_right, ""),
}  # fmt: skip
"""What is counted; None where an episode does not count; and the words for those that do."""
WORLDS: tuple[World, ...] = ("shifted", *OF_WORLD)


def _of_condition(comparison: Comparison, plain: Arm) -> Iterator[str]:
    """What was read under a plain condition that looks things up, and what came of its disturbed
    ones: whether it follows changed pages and is fooled by a planted one comes before the rest."""
    arms = comparison.study.arms
    worlds = [(world_of(each.condition), each) for each in disturbed_arms(arms, plain)]
    records = [each.provenance for each in plain.finished if each.provenance is not None]
    is_known = any(record.searches and record.verdict != "unknown" for record in records)
    is_known &= not any(record.is_right and record.verdict == "unknown" for record in records)
    if plain.condition.disturbance is None and is_known:
        read = _count(comparison, plain, lambda r: r.is_right and r.verdict == "read")
        other = _count(comparison, plain, lambda r: r.is_right and r.verdict != "read")
        yield (
            f"{plain.label}: right, and read from a page that was shown, in {read}; right, and not "
            f"read, in {other}."
        )
    for world, arm in sorted(worlds, key=lambda each: WORLDS.index(each[0])):
        if world == "shifted":
            follows = _count(comparison, arm, lambda r: r.is_right and r.verdict == "read")
            stays = _count(comparison, arm, lambda r: r.is_original)
            yield (
                f"{arm.label}: right by the changed pages in {follows}, the unchanged world's "
                f"answer in {stays}."
            )
        else:
            about, holds, among = OF_WORLD[world]
            if number := _count(comparison, arm, holds, among):
                doubt = _by_chance(comparison, arm, plain) if world == "attacked" else ""
                yield f"{arm.label}: {about} in {number}{doubt}."
    if any(world == "shifted" for world, _ in worlds):
        yield from _of_gain(comparison, plain)


def _by_chance(comparison: Comparison, arm: Arm, plain: Arm) -> str:
    """That the planted answer may be given as often without the attack; "" where it is not."""
    name = arm.condition.disturbance.attack if arm.condition.disturbance else None

    def succeeds(record: Provenance) -> float | None:
        return next((float(each.succeeds) for each in record.attacks if each.name == name), None)

    columns = [comparison.column_of(each, succeeds) for each in (arm, plain)]
    plan = PlannedContrast(arm.label, arm.label, plain.label, ())
    (contrast,) = measure(
        [plan], (columns[0] - columns[1])[:, None], comparison.clusters, is_rate=True
    )
    if contrast.is_shown or contrast.difference.value is None:
        return ""
    return (
        "; cannot be told apart from what is given without the attack: "
        f"{Column('', 2, signed=True).text(contrast.difference.cell)}, n = {contrast.pairs}"
    )


def _of_gain(comparison: Comparison, arm: Arm) -> Iterator[str]:
    """How much of what is right with its tools, and not without any, was read."""
    if (bare := bare_of(arm, comparison.study.arms)) is None:
        return
    records = [each.provenance for each in bare.finished if each.provenance]
    right = {(record.sample, record.repeat) for record in records if record.is_right}

    def gained(record: Provenance) -> bool | None:
        is_gain = record.is_right and (record.sample, record.repeat) not in right
        return record.verdict == "read" if is_gain else None

    if number := _count(comparison, arm, gained, " answers"):
        yield f"{arm.label}: the gain over {bare.label} was read in {number}."


def _count(
    comparison: Comparison, arm: Arm, holds: Callable[[Provenance], bool | None], among: str = ""
) -> str:
    """k of n episodes, and the share over samples with its interval; "" where none counts."""
    records = [each.provenance for each in arm.finished if each.provenance is not None]
    values = [value for record in records if (value := holds(record)) is not None]
    if not values:
        return ""
    share = comparison.share_of(arm, holds)
    ends = "" if share.low is None else f" [{share.low:.2f}, {share.high:.2f}]"
    return f"{sum(values)} of {len(values)}{among} ({share.value:.2f}{ends})"


class _Rule:
    def __init__(self, comparison: Comparison, contrast: Contrast) -> None:
        self._comparison, self._contrast = comparison, contrast
        self._planned = contrast.planned
        self._arms = [comparison.study.arm(label) for label, _ in self._planned.weights]
        self._after = comparison.study.arm(self._planned.after)
        self._before = comparison.study.arm(self._planned.before)
        self._metric = comparison.metric.replace("_", " ")
        if comparison.is_error:
            self._metric += " (an error)"

    def sentence(self) -> str:
        mark = "Exploratory: " if self._planned.is_exploratory else ""
        unused = "".join(f"; {text}" for text in unused_tools(self._arms))
        return f"{mark}{self._statement()}{unused}."

    def _statement(self) -> str:
        contrast, margin = self._contrast, self._comparison.options.margin
        difference = contrast.difference
        for arm in self._arms:
            if arm.problem is not None:
                return f"{self._subject()}: no conclusion, as {arm.label} failed: {arm.problem}"
        if difference.value is None:
            is_lacking = all(arm.finished for arm in self._arms)
            what = f"a value of {self._metric}" if is_lacking else "a finished episode"
            return f"{self._subject()}: no sample has {what} in all its conditions"
        if difference.low is None:
            return (
                f"{self._subject()}: {self._metric} {self._signed()}; no interval and no claim: "
                f"{difference.method}"
            )
        within = f"; smaller than the margin {margin:g}" if contrast.is_equivalent else ""
        if contrast.is_shown:
            return f"{self._claim(difference)}{within}"
        text = f"{self._subject()}: {self._metric} cannot be told apart: {self._signed()}"
        if difference.excludes_zero and contrast.p_value is not None:
            text += f"; p = {contrast.p_value:.3f}, after Holm's correction {contrast.p_holm:.3f}"
        elif contrast.detectable is not None and not within:
            text += f"; a difference below {contrast.detectable:.2f} can be missed"
        return text + within

    def _claim(self, difference: Estimate) -> str:
        if self._planned.is_interaction:
            return f"{self._planned.name} in {self._metric}: {self._signed()}"
        is_rise = (difference.value or 0.0) > 0
        if self._after.run == self._before.run:
            verb = "raised" if is_rise else "lowered"
            return (
                f"{self._after.condition.name} {verb} {self._metric} by {self._size()} over "
                f"{self._before.condition.name}{self._model()}, {self._n()}"
            )
        return (
            f"{self._metric} was {'higher' if is_rise else 'lower'} by {self._size()} with "
            f"{self._after.label} than with {self._before.label}, {self._n()}"
        )

    def _subject(self) -> str:
        if not self._planned.is_interaction and self._after.run == self._before.run:
            pair = f"{self._after.condition.name} against {self._before.condition.name}"
            return f"{pair}{self._model()}"
        return self._planned.name

    def _model(self) -> str:
        """For whom, where there are several runs: the label without the condition."""
        arm = self._after
        label = arm.label.removesuffix(" (!)").removesuffix(arm.condition.name).strip()
        return f" for {label}" if label else ""

    def _signed(self) -> str:
        estimate = self._contrast.difference
        text = f"{estimate.value:+.3f}"
        if estimate.low is not None:
            text += f" [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        return f"{text}, {self._n()}"

    def _size(self) -> str:
        """The size without its sign, which the verb has."""
        estimate = self._contrast.difference
        sign = 1 if (estimate.value or 0.0) >= 0 else -1
        low, high = sorted((sign * (estimate.low or 0.0), sign * (estimate.high or 0.0)))
        return f"{abs(estimate.value or 0.0):.3f} [{low:.3f}, {high:.3f}]"

    def _n(self) -> str:
        pairs, groups = self._contrast.pairs, self._contrast.difference.clusters
        samples_text = f"n = {pairs} sample{'s' if pairs != 1 else ''}"
        return (
            samples_text
            if groups == pairs
            else f"{samples_text} in {groups} cluster{'s' if groups != 1 else ''}"
        )


@Statistic("conclusions", order=1, section="Conclusions").of
def in_words(comparison: Comparison) -> ResultTable:
    """The conclusions, one a row."""
    return ResultTable(
        "conclusions",
        "Conclusions",
        (Column("conclusion"),),
        tuple((text,) for text in conclusions(comparison)),
        ("Square brackets: 95 % CI.",),
    )
