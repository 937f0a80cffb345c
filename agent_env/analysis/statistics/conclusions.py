"""What the episodes' provenances and the contrasts show, in sentences made by rules.

Where answers came from is counted: k of n episodes, and the rate over samples. A difference is
claimed where its p-value stays below 5 % after Holm's correction and its interval excludes 0, else
it "cannot be told apart"; "smaller than the margin" where the simultaneous interval shows it. Every
figure has its 95 % interval and its n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, PlannedContrast, disturbed_arms, measure
from agent_env.analysis.provenance import Provenance, World, world_of
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.statistics.ladder import ladder_sentences
from agent_env.analysis.statistics.shortcuts import shortcut_sentence
from agent_env.analysis.study import Arm
from agent_env.analysis.tools_check import bare_of, unused_tools


def conclusions(comparison: Comparison) -> tuple[str, ...]:
    """First whether the questions can show a gain at all, where they cannot, and at which step of a
    ladder of conditions points are lost. Then one sentence for each difference, exploratory ones
    last; then where answers came from, which goes before where there are disturbed conditions; then
    interactions and the best shortcut. Conditions take turns."""
    ordered = sorted(comparison.contrasts, key=lambda contrast: contrast.planned.is_exploratory)
    differences, interactions = (
        [_sentence(comparison, each) for each in ordered if each.planned.is_interaction is which]
        for which in (False, True)
    )
    arms = comparison.study.arms
    by_condition = zip_longest(*(_of_condition(comparison, arm) for arm in arms))
    told = [text for texts in by_condition for text in texts if text is not None]
    if any(arm.condition.disturbance is not None for arm in arms):
        differences, told = told, differences
    limits = (*_floor_or_ceiling(comparison), *ladder_sentences(comparison))
    return (*limits, *differences, *told, *interactions, *shortcut_sentence(comparison))


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
    "faults": ("recovered", lambda r: r.recovered, " episodes with a tool fault"),
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
            f"{plain.label}: the answer is right and read from a page that was shown in {read}; it "
            f"is right without such a page in {other}."
        )
    for world, arm in sorted(worlds, key=lambda each: WORLDS.index(each[0])):
        if world == "shifted":
            follows = _count(comparison, arm, lambda r: r.is_right and r.verdict == "read")
            stays = _count(comparison, arm, lambda r: r.is_original)
            yield (
                f"{arm.label}: the answer follows the changed pages in {follows}, "
                f"and is the unchanged world's in {stays}."
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


def _sentence(comparison: Comparison, contrast: Contrast) -> str:
    """What a contrast shows, or that it shows nothing, and why."""
    planned, difference = contrast.planned, contrast.difference
    arms = [comparison.study.arm(label) for label, _ in planned.weights]
    mark = "Exploratory: " if planned.is_exploratory else ""
    metric = comparison.metric.replace("_", " ")
    if failed := next((arm for arm in arms if arm.problem is not None), None):
        text = f"no conclusion, as {failed.label} failed: {failed.problem}"
        return f"{mark}{planned.name}: {text}."
    if difference.value is None:
        is_lacking = all(arm.finished for arm in arms)
        what = f"a value of {metric}" if is_lacking else "a finished episode"
        return f"{mark}{planned.name}: no sample has {what} in all its conditions."
    groups = "" if difference.clusters == contrast.pairs else f" in {difference.clusters} clusters"
    figure = f"{Column('', 2, signed=True).text(difference.cell)}, n = {contrast.pairs}{groups}"
    is_better = (difference.value > 0) != comparison.is_error
    subject, other, scores = planned.name, "0", ""
    verdict = f"is {'above' if difference.value > 0 else 'below'}"
    if not planned.is_interaction:
        subject, other = (arm.label for arm in arms)
        verdict = f"is {'better' if is_better else 'worse'} than"
        scores = f"{_side_by_side(comparison, *arms)}, "
    if not contrast.is_shown:
        verdict = "cannot be told apart from"
    text = f"{subject} {verdict} {other}: {metric} {scores}{figure}"
    if difference.low is None:
        text += f"; no interval: {difference.method}"
    elif contrast.is_equivalent:
        text += f"; smaller than the margin {comparison.options.margin:g}"
    elif difference.excludes_zero and not contrast.is_shown and contrast.p_value is not None:
        text += f"; p = {contrast.p_value:.3f}, after Holm's correction {contrast.p_holm:.3f}"
    elif not contrast.is_shown and contrast.detectable is not None:
        text += f"; a difference below {contrast.detectable:.2f} can be missed"
    return f"{mark}{text}{''.join(f'; {unused}' for unused in unused_tools(arms))}."


@np.errstate(over="ignore", invalid="ignore")  # sums may be no numbers
def _side_by_side(comparison: Comparison, after: Arm, before: Arm) -> str:
    """The means of the samples that both have; of single right and wrong answers how many."""
    columns = comparison.columns(comparison.metric, (after, before))
    pairs = columns[~np.isnan(columns).any(axis=1)]
    if comparison.is_single and comparison.is_rate(comparison.metric, (after, before)):
        return " against ".join(f"{total:.0f} of {len(pairs)}" for total in pairs.sum(axis=0))
    return " against ".join(Column("", 2).text(float(mean)) for mean in pairs.mean(axis=0))


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
