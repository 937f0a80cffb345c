"""Episodes worth looking at: one that gained, one that lost, one that was fooled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.study import Arm, Observation
from agent_env.records.schema import Sample
from agent_env.tasks.conditions import sample_under
from agent_env.tasks.judging import gold_text, sample_question


@dataclass(frozen=True, slots=True)
class Said:
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
    said: tuple[Said, ...]
    """The episode comes last; before it the same question under the baseline."""
    why: str
    """What shows where the answer came from, or what failed first; "" where neither is known."""
    pages: tuple[str, ...]
    """Addresses of the pages that the answer rests on."""


def examples(comparison: Comparison) -> list[Example]:
    """At most three, each of another question: the largest gain, the largest loss, an answer that
    a planted page fooled; where none was fooled, one that stayed wrong under tools."""
    found: list[Example] = []
    for candidates in (_changed(comparison, 1), _changed(comparison, -1), _wrong(comparison)):
        samples = {each.sample for each in found}
        found += [each for each in candidates if each.sample not in samples][:1]
    return found


def _changed(comparison: Comparison, sign: int) -> Iterator[Example]:
    """Questions that the largest contrast of this direction changed most; first those whose answer
    was read from a page."""
    sign = -sign if comparison.is_error else sign
    pairs = []
    for contrast in comparison.contrasts:
        planned = contrast.planned
        if planned.is_interaction or contrast.difference.value is None:
            continue
        after, before = comparison.study.arm(planned.after), comparison.study.arm(planned.before)
        change = comparison.column(after, comparison.metric) - comparison.column(
            before, comparison.metric
        )
        rank = (after.gives_away, not contrast.is_shown, -sign * contrast.difference.value)
        pairs.append((rank, after, before, change))
    for _, after, before, change in sorted(pairs, key=lambda pair: pair[0]):
        rows = [row for row in range(len(change)) if sign * change[row] > 0]
        told = {row: _first(after, comparison.study.samples[row]) for row in rows}
        verdicts = {
            row: each.provenance.verdict if each and each.provenance else ""
            for row, each in told.items()
        }
        rows.sort(key=lambda row: (verdicts[row] != "read", -sign * change[row]))
        for row in rows:
            word = "Gained" if sign * (-1 if comparison.is_error else 1) > 0 else "Lost"
            if made := _example(comparison, f"{word} with {after.label}", row, after, before):
                yield made


def _wrong(comparison: Comparison) -> Iterator[Example]:
    """Fooled by a planted page; else wrong though there were tools."""
    ranked = []
    for arm in comparison.study.arms:
        for row, sample in enumerate(comparison.study.samples):
            each = _first(arm, sample)
            if each is None or each.provenance is None or each.provenance.is_right:
                continue
            is_fooled = each.provenance.verdict == "fooled"
            if is_fooled or (each.provenance.failure and arm.condition.tools):
                ranked.append((not is_fooled, row, arm))
    befores = {c.planned.after: c.planned.before for c in reversed(comparison.contrasts)}
    for is_unfooled, row, arm in sorted(ranked, key=lambda each: each[0]):
        before = befores.get(arm.label)
        title = f"Still wrong with {arm.label}" if is_unfooled else f"Fooled under {arm.label}"
        baseline = None if before is None else comparison.study.arm(before)
        if made := _example(comparison, title, row, arm, baseline):
            yield made


def _first(arm: Arm, sample: Sample) -> Observation | None:
    """The episode that stands for the arm and the sample."""
    return next((each for each in arm.finished if each.sample == sample.id), None)


def _example(
    comparison: Comparison, title: str, row: int, after: Arm, before: Arm | None
) -> Example | None:
    metric = comparison.metric
    sample = sample_under(comparison.study.samples[row], after.condition)
    said: list[Said] = []
    record: Provenance | None = None
    for arm in (before, after):
        each = None if arm is None else _first(arm, sample)
        if arm is None or each is None or metric not in each.metrics:
            continue
        record = each.provenance
        answer = "nothing that could be read"
        if record is not None and record.answer is not None:
            answer = ", ".join(sorted(record.answer)) or "none"
        name = f"{arm.condition.name}/{sample.id}.{each.repeat}"
        said.append(Said(arm.label, answer, each.metrics[metric], arm.run, name))
    if not said:
        return None
    why = "" if record is None else record.failure or record.because
    why = "" if why == "not known" else why
    pages = () if record is None else record.stands_on
    question = sample_question(sample)
    return Example(title, sample.id, question, gold_text(sample), tuple(said), why, pages)
