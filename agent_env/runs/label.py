"""The command `label`: a blind sheet for annotators, and their agreement with the scorer.

The sheet has neither model nor condition nor score; an item's name is computed from the run, so no
key file is needed. A cell that a spreadsheet would run as a formula begins with an apostrophe.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from agent_env.analysis.judge_correction import CorrectedShare, JudgedAnswer, corrected_shares
from agent_env.analysis.judges import (
    ClassAgreement,
    Labels,
    answer_digest,
    by_class,
    cell_of,
    cohen_kappa,
    krippendorff_alpha,
    last_verdict,
    majority,
    mean_kappa,
    only,
)
from agent_env.analysis.study import Arm, Observation, Study
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.escaping import csv_text, unguarded
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Episode, Sample, Score
from agent_env.runs.run import Run
from agent_env.runs.score import score_folder
from agent_env.tasks.judging import gold_text
from agent_env.tasks.sample_files import write_whole

CLASSES = ("correct", "outdated", "incorrect", "unsure")
JUDGED = {"right": "correct", "wrong": "other"}
"""Classes of a judge's verdicts."""
WIDTH = 0.1
"""Of an interval, that further labels are told for."""
COLUMNS = ("item", "question", "gold", "answer", "label")


@dataclass(frozen=True, slots=True)
class LabelItem:
    """An answer for the annotators."""

    item: str
    condition: str
    query: str
    """What its sample shares with others that are drawn together."""
    question: str
    gold: str
    answer: str
    verdict: str
    """The scorer's class; not in the sheet."""
    judged: Mapping[str, str]
    """Verdicts by judge; not in the sheet."""


@dataclass(frozen=True, slots=True)
class JudgeVsPeople:
    """A judge against the annotators' majority, in the classes correct and other."""

    items: int
    agreement: float
    kappa: float | None
    """Cohen's; None if the expected agreement is 1."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of annotators and scorer."""

    metric: str
    items: int
    """Items with a majority label."""
    tied: int
    annotators: tuple[str, ...]
    classes: tuple[ClassAgreement, ...]
    """The scorer, measured against the annotators."""
    scorer_kappa: float | None
    """Cohen's, of the scorer and the annotators' majority."""
    kappa: float | None
    """Mean Cohen's over the pairs of annotators; None with one."""
    alpha: float | None
    """Krippendorff's, over the annotators."""
    class_alpha: Mapping[str, float | None]
    """By class: this one against all others."""
    class_kappa: Mapping[str, float | None]
    judges: Mapping[str, JudgeVsPeople]
    """By judge, against the annotators."""
    corrected: tuple[CorrectedShare, ...]
    """The judges' shares of right answers, corrected by the labels."""


def write_sheet(
    runs: Sequence[Path],
    count: int,
    seed: int,
    metric: str | None,
    out: Path,
    note: Callable[[str], None],
) -> int:
    """Writes the sheet over all runs; returns the number of its items."""
    items, _ = _items(runs, metric, note)
    judged = [item for item in items if item.judged]
    rest = [item for item in items if not item.judged]
    chosen = Random(seed).sample(judged, min(count, len(judged)))
    chosen += Random(seed).sample(rest, min(count - len(chosen), len(rest)))
    if judged and rest:
        note(
            f"the {len(judged)} answers that a judge judged come first: labels of these correct it"
        )
    if len(chosen) < count:
        note(f"there are {len(items)} answers only, all are in the sheet")
    rows = ((f.item, cell_of(f.question), cell_of(f.gold), cell_of(f.answer), "") for f in chosen)
    write_whole(out, csv_text((COLUMNS, *rows)).encode())
    return len(chosen)


def read_sheets(
    runs: Sequence[Path],
    sheets: Sequence[Path],
    metric: str | None,
    note: Callable[[str], None],
    width: float = WIDTH,
) -> Agreement:
    """The agreement of the scorer with the annotators, and among annotators; judges' shares
    corrected by the labels, and how many more give intervals of this width."""
    items, chosen = _items(runs, metric, note)
    verdicts = {each.item: each.verdict for each in items}
    digests = {each.item: answer_digest(each.answer) for each in items}
    read = [_read_labels(sheet, digests) for sheet in sheets]
    annotators = [sheet.labels for sheet in read]
    truth, tied = majority(annotators)
    if not truth:
        raise ConfigError("no item of these sheets has a label that most annotators give")
    classes = by_class(verdicts, truth)
    names = [each.name for each in classes]
    return Agreement(
        metric=chosen,
        items=len(truth),
        tied=tied,
        annotators=tuple(sheet.name for sheet in sheets),
        classes=classes,
        scorer_kappa=cohen_kappa(verdicts, truth),
        kappa=mean_kappa(annotators),
        alpha=krippendorff_alpha(annotators),
        class_alpha={n: krippendorff_alpha([only(a, n) for a in annotators]) for n in names},
        class_kappa={n: mean_kappa([only(a, n) for a in annotators]) for n in names},
        judges=_judges(items, only(truth, "correct")),
        corrected=_corrected(items, truth, width, all(sheet.is_whole for sheet in read)),
    )


def _corrected(
    items: Sequence[LabelItem], truth: Labels, width: float, are_random: bool
) -> tuple[CorrectedShare, ...]:
    """By judge and condition; the answers of a sheet are drawn randomly, and stay so where each
    has a label."""
    answers: dict[str, list[JudgedAnswer]] = {}
    for item in items:
        label = truth[item.item] == "correct" if item.item in truth else None
        for judge, says in item.judged.items():
            answer = JudgedAnswer(item.condition, item.query, says == "right", label)
            answers.setdefault(judge, []).append(answer)
    return tuple(
        share
        for judge in sorted(answers)
        if any(answer.label is not None for answer in answers[judge])
        for share in corrected_shares(judge, answers[judge], width, are_random)
    )


def _judges(items: Sequence[LabelItem], truth: Labels) -> dict[str, JudgeVsPeople]:
    judges: dict[str, JudgeVsPeople] = {}
    for judge in sorted({name for item in items for name in item.judged}):
        classes = {
            item.item: JUDGED[item.judged[judge]]
            for item in items
            if judge in item.judged and item.item in truth
        }
        if classes:
            same = sum(classes[item] == truth[item] for item in classes)
            judges[judge] = JudgeVsPeople(
                len(classes), same / len(classes), cohen_kappa(classes, truth)
            )
    return judges


def verdict(score: Score, metric: str) -> str:
    """The scorer's class: correct only with the whole metric."""
    values = score.metrics
    late = "outdated_time" if "outdated_time" in values and metric != "answer" else "outdated"
    if values.get("unsure") == 1:
        return "unsure"
    if values.get(late) == 1:
        return "outdated"
    return "correct" if values.get(metric) == 1 else "incorrect"


def _items(
    runs: Sequence[Path], metric: str | None, note: Callable[[str], None]
) -> tuple[list[LabelItem], str]:
    """All answers with the metric, in a fixed order; and the metric, or those of several tasks."""
    items, metrics = list[LabelItem](), dict[str, None]()
    for folder in map(Run, runs):
        task, scored = folder.task, score_folder(folder, note)
        chosen = metric or task.metrics[0]
        if chosen not in task.metrics:
            raise ConfigError(f"unknown metric '{chosen}'; known: {', '.join(task.metrics)}")
        metrics[chosen] = None
        manifest = folder.manifest
        run = manifest.id or "" if len(runs) > 1 else ""
        items += [
            _item(
                item_name(manifest, f"{episode.condition}/{episode.sample}.{episode.repeat}", run),
                folder.asked_sample(episode),
                episode,
                score,
                chosen,
            )
            for episode, score in scored
            if score.outcome in ("read", "unreadable") and chosen in score.metrics
        ]
    names = ", ".join(metrics)
    if not items:
        where = ", ".join(map(str, runs))
        raise ConfigError(f"{where} has no answer for which '{names}' is defined")
    return sorted(items, key=lambda item: item.item), names


def _item(name: str, sample: Sample, episode: Episode, score: Score, metric: str) -> LabelItem:
    questions = [message.content for message in episode.messages if message.role == "user"]
    judges = dict.fromkeys(one.judge for one in episode.judged)
    return LabelItem(
        name,
        episode.condition,
        str(getattr(sample, "query", sample.id)),
        questions[0] if questions else "",
        gold_text(sample),
        episode.answer or "",
        verdict(score, metric),
        {
            judge: says
            for judge in judges
            if (says := last_verdict(episode, judge, metric)) in JUDGED
        },
    )


def item_name(manifest: Manifest, episode: str, run: str = "") -> str:
    """What a sheet calls an answer; `run`: what tells runs over the same samples apart."""
    key = f"{run}{manifest.samples_digest}/{episode}"
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def with_labels(study: Study, manifests: Mapping[str, Manifest], sheets: Sequence[Path]) -> Study:
    """The study, each answer with what most annotators say of it, by sheets over one of its runs or
    over several; `manifests` by run."""

    def names(arm: Arm, one: Observation) -> list[str]:
        manifest, episode = manifests[arm.run], f"{arm.condition.name}/{one.sample}.{one.repeat}"
        return [item_name(manifest, episode, run) for run in dict.fromkeys(("", manifest.id or ""))]

    known = {
        name: one.answer_digest
        for arm in study.arms for one in arm.observations for name in names(arm, one)
    }  # fmt: skip
    labels, _ = majority([_read_labels(sheet, known).labels for sheet in sheets])

    def labelled(arm: Arm, one: Observation) -> Observation:
        label = next((labels[name] for name in names(arm, one) if name in labels), None)
        return replace(one, label=label)

    arms = (
        replace(arm, observations=tuple(labelled(arm, one) for one in arm.observations))
        for arm in study.arms
    )
    return replace(study, arms=tuple(arms))


@dataclass(slots=True)
class _Sheet:
    """The labels of one annotator."""

    labels: dict[str, str] = field(default_factory=dict)
    is_whole: bool = True
    """Whether each of its answers has a label."""


def _read_labels(sheet: Path, digests: Mapping[str, str]) -> _Sheet:
    """The labels of a sheet over these items, with the digests of their answers; DatasetError names
    the first wrong line."""
    read = _Sheet()
    try:
        with sheet.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            if not {"item", "label"} <= set(reader.fieldnames or ()):
                raise DatasetError(sheet, 1, "needs the columns item and label")
            for row in reader:
                _take(sheet, reader.line_num, row, digests, read)
    except (OSError, UnicodeDecodeError, csv.Error) as exc:
        raise ConfigError(f"cannot read {sheet}: {exc}") from exc
    if not read.labels:
        raise DatasetError(sheet, None, f"no item has a label; write one of {', '.join(CLASSES)}")
    return read


def _take(
    sheet: Path, line: int, row: Mapping[str, str], digests: Mapping[str, str], read: _Sheet
) -> None:
    item, label = unguarded(row["item"] or "").strip(), (row["label"] or "").strip().lower()
    if not label:
        read.is_whole = False
        return
    if item not in digests:
        raise DatasetError(sheet, line, f"item '{item}' is not of this run")
    if label not in CLASSES:
        raise DatasetError(sheet, line, f"label '{label}' is none of {', '.join(CLASSES)}")
    if item in read.labels:
        raise DatasetError(sheet, line, f"item '{item}' is there twice")
    answer = row.get("answer")
    if answer is not None and answer_digest(answer) != digests[item]:
        raise DatasetError(sheet, line, f"item '{item}' has another answer in the run; label anew")
    read.labels[item] = label
