"""The table of readings: the golds of a set under each reading, and the scores of runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.answers.date_sets import exact_match, f1, jaccard
from agent_env.features.audit.audit import AuditReport, corrected_puzzle, with_golds
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Wording
from agent_env.sdk.run import Run

Gold = tuple[str, ...]

PUBLISHED, CORRECTED, FILE_RULE, ANY = "published", "corrected", "file_rule", "any"


def readings_in(report: AuditReport) -> tuple[str, ...]:
    """The readings of a set, as the table has them: `published`, the golds of the file;
    `corrected`, with its errors mended; `file_rule`, the file's own rules wherever it states
    them; every convention under which some answer differs (`strict`: those of our own
    wordings); `any` of all these."""
    names = {
        name: None for f in report.findings for golds in f.other_golds.values() for name in golds
    }
    return (PUBLISHED, CORRECTED, FILE_RULE, *sorted(names), ANY)


@dataclass(frozen=True, slots=True)
class ReadingScore:
    """Scores of a set of answers under one reading."""

    reading: str
    puzzles: int
    """Puzzles with at least one answer."""
    changed: int | None
    """Of these, puzzles whose gold is another one than the published; None for `any`."""
    exact_match: float
    low: float | None
    high: float | None
    """95 % confidence interval (Wilson) of the exact match."""
    f1: float
    jaccard: float

    def as_json(self) -> dict[str, object]:
        """The row of a table."""
        return {name: getattr(self, name) for name in self.__slots__}


def scores_by_reading(
    puzzles: Sequence[TimePuzzle],
    report: AuditReport,
    answers: Mapping[str, Sequence[Sequence[str] | None]],
    wording: Wording,
) -> tuple[ReadingScore, ...]:
    """Exact match, F1 and Jaccard (Appendix B.1) of answers under each reading of `readings_in`.

    `report` is the audit of `puzzles`. `answers` has, by the id of a puzzle, the dates of each
    answer (one per repeat; None for an unreadable one, which scores 0); puzzles without answers are
    left out. Repeats are averaged first, so that n is the number of puzzles. A puzzle that is not
    judged keeps its published gold under every reading. Under `any` each answer has its best score
    over all readings. Returns () where no puzzle has an answer.
    """
    table = gold_table(puzzles, report, wording)
    asked = [puzzle.id for puzzle in puzzles if answers.get(puzzle.id)]
    if not asked:
        return ()
    rows = []
    for reading in readings_in(report):
        golds = {name: _golds(table[name], reading) for name in asked}
        changed = sum(golds[name] != [table[name][PUBLISHED]] for name in asked)
        rows.append(_score(reading, asked, answers, golds, None if reading == ANY else changed))
    return tuple(rows)


def gold_table(
    puzzles: Sequence[TimePuzzle], report: AuditReport, wording: Wording
) -> dict[str, dict[str, Gold]]:
    """By puzzle and reading: the gold; a reading that a puzzle lacks has that of `file_rule`."""
    table = {}
    for puzzle, finding in zip(puzzles, report.findings, strict=True):
        stored = puzzle.worded(wording).gold
        base = finding.right_gold(wording)
        table[puzzle.id] = {
            PUBLISHED: stored,
            CORRECTED: corrected_puzzle(puzzle, finding).worded(wording).gold,
            FILE_RULE: stored if base is None else base,
            **finding.other_golds.get("implicit" if wording == "implicit" else "explicit", {}),
        }
    return table


def puzzles_by_reading(
    puzzles: Sequence[TimePuzzle], report: AuditReport
) -> dict[str, tuple[TimePuzzle, ...]]:
    """By reading other than `published`: the puzzles that have another gold under it, with that
    gold; under `any` each of them once for every gold that it has. Readings without one are left
    out."""
    implicit = gold_table(puzzles, report, "implicit")
    explicit = gold_table(puzzles, report, "explicit")
    by_reading = {}
    for reading in readings_in(report)[1:]:
        changed: list[TimePuzzle] = []
        for puzzle in puzzles:
            golds = implicit[puzzle.id], explicit[puzzle.id]
            own = list(dict.fromkeys(_gold_pairs(*golds, reading)))
            if own != _gold_pairs(*golds, PUBLISHED):
                changed += [with_golds(puzzle, *pair) for pair in own]
        if changed:
            by_reading[reading] = tuple(changed)
    return by_reading


def _gold_pairs(
    implicit: Mapping[str, Gold], explicit: Mapping[str, Gold], reading: str
) -> list[tuple[Gold, Gold]]:
    """The golds of both wordings under one reading, or under each for `any`."""
    names = dict.fromkeys((*implicit, *explicit)) if reading == ANY else (reading,)
    return [(_golds(implicit, name)[0], _golds(explicit, name)[0]) for name in names]


def _golds(golds: Mapping[str, Gold], reading: str) -> list[Gold]:
    if reading == ANY:
        return list(dict.fromkeys(golds.values()))
    return [golds.get(reading, golds[FILE_RULE])]


def _score(
    reading: str,
    asked: Sequence[str],
    answers: Mapping[str, Sequence[Sequence[str] | None]],
    golds: Mapping[str, Sequence[Gold]],
    changed: int | None,
) -> ReadingScore:
    from agent_env.sdk.results import Estimate

    values = []
    for metric in (exact_match, f1, jaccard):
        values.append([
            fmean(
                0.0 if answer is None
                else max(metric(frozenset(gold), frozenset(answer)) for gold in golds[name])
                for answer in answers[name]
            )
            for name in asked
        ])  # fmt: skip
    own = Estimate.of_mean(list(zip(asked, values[0], strict=True)), share=True)
    match, *means = map(fmean, values)
    return ReadingScore(reading, len(asked), changed, match, own.low, own.high, *means)


@dataclass(frozen=True, slots=True)
class RunReadingScore:
    run: str
    condition: str
    score: ReadingScore

    def as_json(self) -> dict[str, object]:
        """The row of a table."""
        return {"run": self.run, "condition": self.condition, **self.score.as_json()}


def scores_of_runs(
    folders: Sequence[Path],
    puzzles: Sequence[TimePuzzle],
    report: AuditReport,
    note: Callable[[str], None],
) -> list[RunReadingScore]:
    """Every condition of the runs under every reading; failed episodes are left out. Raises
    ConfigError for a run without any of the puzzles."""
    return [row for folder in folders for row in _scores_of(folder, puzzles, report, note)]


def _scores_of(
    folder: Path, puzzles: Sequence[TimePuzzle], report: AuditReport, note: Callable[[str], None]
) -> list[RunReadingScore]:
    run, known = Run.open(folder), {puzzle.id for puzzle in puzzles}
    answers: dict[str, dict[str, list[tuple[str, ...] | None]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for episode, score in run.scored(lambda reason: note(f"left out: {reason}")):
        if episode.sample in known and score.outcome in ("read", "unreadable"):
            answers[episode.condition][episode.sample].append(score.answer)
    if not answers:
        raise ConfigError(f"{folder} has no answer to a puzzle of this file; ids are compared")
    wordings = {condition.name: condition.wording for condition in run.manifest.conditions}
    return [
        RunReadingScore(folder.name, condition, score)
        for condition, own in answers.items()
        for score in scores_by_reading(puzzles, report, own, wordings[condition])
    ]
