"""`agent-env questions score-answers`: scores response files in both modes; where these differ."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from agent_env.families.temp_answers.scoring.answer_spec import WITH_VALUE
from agent_env.features.papers.responses import text_of
from agent_env.features.papers.temp_answers.modes import (
    Item,
    ModeScores,
    ScaleGroup,
    Summary,
    paper_group,
    score_paper,
    score_v2,
    summarize,
)
from agent_env.features.papers.temp_answers.paper_answers import CLOCK
from agent_env.features.papers.temp_answers.paper_measures import Answers, Guess, baselines
from agent_env.features.papers.temp_answers.reasoning import Steps, arithmetic_steps
from agent_env.features.papers.temp_answers.responses import (
    Response,
    ResponseFile,
    question_keys,
    read_mapping,
    read_responses,
    response_row,
)
from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError, DatasetError
from agent_env.sdk.records import csv_text
from agent_env.sdk.trace import write_whole


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One response that the two modes score differently."""

    file: str
    paper: Item
    v2: Item
    cause: str


def disagreements(
    files: Sequence[ResponseFile],
    paper: Sequence[Sequence[Item]],
    v2: Sequence[Sequence[Item]],
) -> Iterator[Disagreement]:
    """In the order of the rows: responses that only one mode parses or counts as right, and those
    with different errors."""
    for file, v2_items, paper_items in zip(files, v2, paper, strict=True):
        for a, b in zip(paper_items, v2_items, strict=True):
            if (why := cause(file.dataset, a, b)) is not None:
                yield Disagreement(file.path.name, a, b, why)


def cause(dataset: str, paper: Item, v2: Item) -> str | None:
    """Why the modes differ on an item; None where they agree."""
    if (v2.problem is None) != (paper.problem is None):
        return f"gold: {v2.problem or paper.problem}"
    if v2.problem is not None:
        return None
    paper_parsed, v2_parsed = paper.amount is not None, v2.outcome in WITH_VALUE
    if paper_parsed != v2_parsed:
        if v2_parsed and v2.amount is None:
            return "v2 alone reads it: a coarser date than asked"
        mode, other = ("v2", paper) if v2_parsed else ("paper", v2)
        return f"{mode} alone reads it: {other.rule}"
    if not paper_parsed or (paper.exact == v2.exact and _agree(paper, v2)):
        return None
    if paper.unit == "date":
        if v2.error is None:
            return "date completed from the clock"
        if paper.error is None or abs(paper.error - v2.error) <= 1:
            return "time of day or zone"
        return "another date of the line taken"
    if dataset == "tot":
        return "keys by position" if paper.rule == "keys by position" else "another value"
    a, b = paper.amount, v2.amount
    if a is None or b is None:
        return "another value"
    digits = str(abs(int(b)))
    if b < 0:
        return "the sign is lost"
    if abs(b) >= 1000 and digits.startswith(str(int(a))) and int(a) < 1000:
        return "cut at the thousands separator"
    if isinstance(b, float) and int(b) == a:
        return "cut at the decimal point"
    if 1000 <= a <= 2999 and paper.unit != "date_years":
        return "a calendar year taken for the answer"
    if paper.unit == "date_years":
        return "another year of the line taken"
    return "another number of the line taken"


def _agree(paper: Item, v2: Item) -> bool:
    if paper.unit == "date":  # the amounts have different units
        return v2.error is not None and paper.error == v2.error
    return paper.error is not None and v2.error is not None and (
        abs(paper.error - v2.error) <= 1e-9 * max(1.0, abs(v2.error))
    )  # fmt: skip


MODES = ("paper", "v2")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--clock '{text}' is not a date; write YYYY-MM-DD") from None


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The user's options."""

    files: Annotated[
        tuple[Path, ...],
        Opt("Response files (CSV, JSON lines), or folders of runs of temp-answers.", argument=True),
    ]
    mode: Annotated[str | None, Opt("paper (the published rules) or v2 (ours); default: both.")] = (
        None
    )
    mapping: Annotated[Path | None, Opt("JSON that says which column of your file is what.")] = None
    centroids: Annotated[Path | None, Opt("Centroids for paper's MASE, instead of clustering.")] = (
        None
    )
    questions: Annotated[
        tuple[Path, ...], Opt("Question files; rows of no question are reported.")
    ] = ()
    clock: Annotated[
        date | None,
        Opt(
            "YYYY-MM-DD: today, for paper's date finder. Default: 2025-05-20.",
            typed=str | None,
            read=_day,
        ),
    ] = None
    intervals: Annotated[
        bool,
        Opt("With or without confidence intervals."),
    ] = True

    @property
    def modes(self) -> tuple[str, ...]:
        return MODES if self.mode is None else (self.mode,)


@dataclass(frozen=True, slots=True)
class ScoredAnswers:
    files: tuple[ResponseFile, ...]
    modes: Mapping[str, Answers]
    disagreements: tuple[Disagreement, ...] = ()
    """Only with both modes."""
    unmatched: Mapping[Path, tuple[Response, ...]] = field(default_factory=dict)
    """Rows whose question is in no question file; they are in no mean."""
    unanswered: Mapping[Path, int] = field(default_factory=dict)
    """Questions of the file's splits without a row."""

    @property
    def unjudged(self) -> list[ResponseFile]:
        """Files with rows of which no mode can judge one."""
        return [
            file
            for k, file in enumerate(self.files)
            if file.rows
            and all(
                sum(own.summaries[k].problems.values()) == len(file.rows)
                for own in self.modes.values()
            )
        ]


def score_answers(options: ScoreOptions) -> ScoredAnswers:
    """Reads and scores the files. Raises ConfigError and DatasetError for unusable files."""
    for mode in options.modes:
        if mode not in MODES:
            raise ConfigError(f"unknown mode '{mode}'; known: {', '.join(MODES)}")
    mapping = read_mapping(options.mapping) if options.mapping else None
    files_in: list[ResponseFile] = []
    for path in options.files:
        files_in += _run_files(path) if path.is_dir() else [read_responses(path, mapping)]
    files, unmatched, unanswered = _matched(files_in, options.questions)
    centroids = read_centroids(options.centroids) if options.centroids else None
    scores: dict[str, ModeScores] = {}
    if "paper" in options.modes:
        scores["paper"] = score_paper(files, centroids, options.clock or CLOCK)
    if "v2" in options.modes:
        scores["v2"] = score_v2(files)
    modes = {
        mode: Answers(tuple(files), mode, own, summarize(own.items, mode, options.intervals))
        for mode, own in scores.items()
    }
    differences: tuple[Disagreement, ...] = ()
    if set(scores) == set(MODES):
        differences = tuple(disagreements(files, scores["paper"].items, scores["v2"].items))
    return ScoredAnswers(tuple(files), modes, differences, unmatched, unanswered)


def _run_files(path: Path) -> list[ResponseFile]:
    """The finished episodes of a run of temp-answers: one file for each condition and answer form
    (final lines are `ttqa`, objects `tot`)."""
    from agent_env.families.temp_answers.generator import AnswerOptions
    from agent_env.families.temp_answers.sample import NAME, TimeQuestion
    from agent_env.families.temp_answers.wording import is_prefilled
    from agent_env.sdk.run import Run, score_folder

    run = Run(path)
    manifest = run.manifest
    if manifest.task != NAME:
        raise ConfigError(f"{path} is a run of {manifest.task}; score-answers reads {NAME}")
    finished = [e for e, _ in score_folder(run, lambda text: None) if e.status == "finished"]
    questions = {q.id: q for q in run.samples if isinstance(q, TimeQuestion)}
    options = AnswerOptions.model_validate(manifest.options)
    files = []
    for condition in manifest.conditions:
        pairs = [
            (questions[e.sample], e)
            for e in finished
            if e.condition == condition.name and e.sample in questions
        ]
        for dataset in ("ttqa", "tot"):
            own = [(q, e) for q, e in pairs if bool(q.keys) == (dataset == "tot")]
            if not own:
                continue
            files.append(
                ResponseFile(
                    path / f"{condition.name} {dataset}",
                    dataset,
                    f"{manifest.model} {condition.name}",
                    f"{options.shots} shots, {options.turns}",
                    any(is_prefilled(q, condition, options) for q, _ in own),
                    tuple(response_row(n, q, e) for n, (q, e) in enumerate(own, start=1)),
                    generation="prefill" if options.prefill else options.turns,
                )
            )
    return files


def right_steps(file: ResponseFile) -> Steps:
    """Correct and wrong calculations in the responses of a file."""
    counts = [arithmetic_steps(row.response or "") for row in file.rows]
    return Steps(sum(s.right for s in counts), sum(s.wrong for s in counts))


def _matched(
    files: Sequence[ResponseFile], questions: Sequence[Path]
) -> tuple[list[ResponseFile], dict[Path, tuple[Response, ...]], dict[Path, int]]:
    """The files without rows of unknown questions; these rows; the counts of missing rows."""
    if not questions:
        return list(files), {}, {}
    question_ids = [key for path in questions for key in question_keys(path)]
    matched_files, unmatched, unanswered = [], {}, {}
    for file in files:
        rows = [row for row in file.rows if row.key in question_ids]
        unmatched[file.path] = tuple(row for row in file.rows if row.key not in question_ids)
        of_splits = {
            key
            for key in question_ids
            if any(key.split("\x1f")[:2] == [file.dataset, s] for s in file.splits)
        }
        unanswered[file.path] = len(of_splits - {row.key for row in rows})
        matched_files.append(replace(file, rows=tuple(rows)))
    return matched_files, unmatched, unanswered


def read_centroids(path: Path) -> dict[ScaleGroup, tuple[float, ...]]:
    """From a report of this command, or JSON `{"tot": {"arithmetic": {"days": [12.5]}}, "ttqa":
    {"years": [31.0]}}`, or CSV with the columns dataset, split, unit, centroid."""
    text = text_of(path)
    if path.suffix.lower() == ".csv":
        return _csv_centroids(path, text)
    try:
        content = json.loads(text)
    except ValueError as exc:
        raise DatasetError(path, None, f"is not JSON: {exc}") from exc
    if isinstance(content, dict) and isinstance(content.get("centroids"), dict):
        content = content["centroids"]
    groups: dict[ScaleGroup, tuple[float, ...]] = {}
    for group, value in _leaves(content):
        if group and group[0] not in DEPTHS:
            raise DatasetError(path, None, f"unknown dataset '{group[0]}'; known: tot, ttqa")
        if not group or len(group) != DEPTHS[group[0]]:
            raise DatasetError(path, None, "is not {dataset: {split: {unit: [centroids]}}}")
        numbers = value if isinstance(value, list) else [value]
        if not numbers or not all(type(number) in (int, float) for number in numbers):
            raise DatasetError(path, None, f"'{value}' is not a list of centroids")
        groups[group] = tuple(map(float, numbers))
    return groups


DEPTHS = {"tot": 3, "ttqa": 2}
"""Names of a group of labels by dataset."""


def _leaves(value: Any, group: ScaleGroup = ()) -> Iterator[tuple[ScaleGroup, Any]]:
    if not isinstance(value, dict):
        yield group, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, (*group, name))


def _csv_centroids(path: Path, text: str) -> dict[ScaleGroup, tuple[float, ...]]:
    groups: dict[ScaleGroup, tuple[float, ...]] = {}
    for line, row in enumerate(csv.DictReader(text.splitlines()), start=2):
        try:
            group = paper_group(row["dataset"], row.get("split") or "", row["unit"])
            groups[group] = (*groups.get(group, ()), float(row["centroid"]))
        except (KeyError, TypeError, ValueError) as exc:
            raise DatasetError(path, line, f"needs dataset, split, unit, centroid: {exc}") from exc
    return groups


# As JSON ------------------------------------------------------------------------------------------


def as_json(scored: ScoredAnswers) -> dict[str, Any]:
    """One object: each file's figures by mode, and what they exclude."""
    own = scored.modes
    return {
        "modes": list(own),
        "files": [_file_json(scored, k) for k in range(len(scored.files))],
        "disagreements": dict(Counter(d.cause for d in scored.disagreements).most_common()),
        "baselines": {
            mode: [summary_json(guess) for guess in baselines(each)] for mode, each in own.items()
        },
        "centroids": _nested(own["paper"].scores.centroids) if "paper" in own else {},
        "scales": {
            "/".join(group): asdict(scale)
            for each in own.values()
            for group, scale in each.scores.scales.items()
        },
    }


def _file_json(scored: ScoredAnswers, k: int) -> dict[str, Any]:
    file = scored.files[k]
    entry: dict[str, Any] = {
        "file": str(file.path),
        "dataset": file.dataset,
        "splits": list(file.splits),
        "model": file.model,
        "prompting": file.prompting,
        "calculations": asdict(right_steps(file)),
        "duplicates": list(file.duplicates),
        "unmatched": [row.line for row in scored.unmatched.get(file.path, ())],
        "unanswered": scored.unanswered.get(file.path, 0),
    }
    figures = {mode: summary_json(each.summaries[k]) for mode, each in scored.modes.items()}
    return entry | (next(iter(figures.values())) if len(figures) == 1 else figures)


def summary_json(figures: Summary | Guess) -> dict[str, Any]:
    """The figures; for an infinite mean `mase` is null and `mase_infinite` true."""
    infinite = figures.mase == float("inf")
    return asdict(figures) | ({"mase": None} if infinite else {}) | {"mase_infinite": infinite}


def _nested(centroids: Mapping[ScaleGroup, Sequence[float]]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for group, values in centroids.items():
        inner = nested
        for name in group[:-1]:
            inner = inner.setdefault(name, {})
        inner[group[-1]] = list(values)
    return nested


def write_disagreements(path: Path, items: Sequence[Disagreement]) -> None:
    """A CSV with one line for each."""
    columns = ("file", "row", "cause", "question", "label", "unit", "paper", "v2",
               "paper_exact", "v2_exact", "response")  # fmt: skip
    rows = (
        (d.file, row.line, d.cause, row.question, row.label, row.unit, d.paper.amount,
         d.v2.amount, d.paper.exact, d.v2.exact, row.response)
        for d in items
        for row in [d.paper.row]
    )  # fmt: skip
    write_whole(path, csv_text((columns, *rows)).encode())
