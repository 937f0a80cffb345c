"""Episodes worth looking at: one that gained, one that lost, one that was fooled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.statistics.provenance import reason_of
from agent_env.analysis.study import Arm, Observation
from agent_env.records.schema import Sample
from agent_env.tasks.sample_texts import gold_text, sample_question


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """What was answered under one condition."""

    condition: str
    answer: str
    score: float
    run: str
    episode: str
    """Its name in the run: CONDITION/SAMPLE.REPEAT."""

    @property
    def is_right(self) -> bool:
        return self.score == 1


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    sample: str
    question: str
    gold: str
    answers: tuple[ExampleAnswer, ...]
    """The episode comes last; before it the same question under the baseline, where the baseline's
    world has the same right answer."""
    why: str
    """What failed first, or what shows where the answer came from; "" where neither is known."""
    pages: tuple[str, ...]
    """Addresses of the pages that the answer rests on."""


def examples(comparison: Comparison) -> list[Example]:
    """At most three, each of another question: the largest gain, the largest loss, an answer that
    a planted page fooled; where none was fooled, one that stayed wrong under tools."""
    found: list[Example] = []
    for candidates in (_changed(comparison, True), _changed(comparison, False), _wrong(comparison)):
        samples = {each.sample for each in found}
        others = (each for each in candidates if each.sample not in samples)
        found += islice(others, 1)
    return found


def _changed(comparison: Comparison, is_gain: bool) -> Iterator[Example]:
    """Questions that the largest contrast of this direction changed most; first those whose answer
    was read from a page."""
    sign = 1 if is_gain is not comparison.is_error else -1
    ranked = []
    for contrast in comparison.contrasts:
        planned, value = contrast.planned, contrast.difference.value
        if not planned.is_interaction and value is not None:
            after = comparison.study.arm(planned.after)
            is_shown = contrast.is_shown and sign * value > 0
            ranked.append((after.gives_away, not is_shown, -sign * value, after, planned.before))
    for *_, after, label in sorted(ranked, key=lambda each: each[:3]):
        before = comparison.study.arm(label)
        columns = (comparison.column(arm, comparison.metric) for arm in (after, before))
        changes = sign * np.subtract(*columns)
        firsts = _by_sample(after)
        changed = [
            (verdict != "read", -change, sample)
            for sample, change in zip(comparison.study.samples, changes, strict=True)
            if change > 0
            for verdict in [_verdict(firsts.get(sample.id))]
        ]
        title = f"{'Gained' if is_gain else 'Lost'} with {after.label}"
        for *_, sample in sorted(changed, key=lambda each: each[:2]):
            made = _example(comparison, title, sample, after, before)
            if made is not None and len(made.answers) == 2:
                yield made


def _wrong(comparison: Comparison) -> Iterator[Example]:
    """Fooled by a planted page; else wrong though there were tools."""
    befores = {c.planned.after: c.planned.before for c in reversed(comparison.contrasts)}
    wrong = [
        (record.verdict != "fooled", sample, arm)
        for arm in comparison.study.arms
        for firsts in [_by_sample(arm)]
        for sample in comparison.study.samples
        if (each := firsts.get(sample.id)) is not None
        and (record := each.provenance) is not None
        and not record.is_right
        and (record.verdict == "fooled" or (record.failure and arm.condition.tools))
    ]
    for is_unfooled, sample, arm in sorted(wrong, key=lambda each: each[0]):
        before = befores.get(arm.label)
        title = f"{'Still wrong with' if is_unfooled else 'Fooled under'} {arm.label}"
        baseline = None if before is None else comparison.study.arm(before)
        if made := _example(comparison, title, sample, arm, baseline):
            yield made


def _by_sample(arm: Arm) -> dict[str, Observation]:
    """The first finished episode of each sample."""
    return {each.sample: each for each in reversed(arm.finished)}


def _verdict(observation: Observation | None) -> str:
    record = None if observation is None else observation.provenance
    return "" if record is None else record.verdict


def _example(
    comparison: Comparison, title: str, sample: Sample, after: Arm, before: Arm | None
) -> Example | None:
    answers: list[ExampleAnswer] = []
    record: Provenance | None = None
    asked = sample.in_world(after.condition.world)
    gold = gold_text(asked)
    for arm in filter(None, (before, after)):
        each = _by_sample(arm).get(sample.id)
        if each is None or comparison.metric not in each.metrics:
            continue
        if gold_text(sample.in_world(arm.condition.world)) != gold:
            continue
        record = each.provenance
        answer = "nothing that could be read"
        if record is not None and record.answer is not None:
            answer = ", ".join(sorted(record.answer)) or "none"
        name = f"{arm.condition.name}/{sample.id}.{each.repeat}"
        score = each.metrics[comparison.metric]
        answers.append(ExampleAnswer(arm.label, answer, score, arm.run, name))
    if not answers:
        return None
    return Example(
        title, sample.id, sample_question(asked), gold, tuple(answers),
        "" if record is None else reason_of(record.failure) or record.because,
        () if record is None else record.stands_on,
    )  # fmt: skip
